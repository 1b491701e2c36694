/** Why a wheel could not be placed in its slot. */
import type { Bucket } from '../bucket/bucket.ts';
import type { ListedObject, ObjectHead } from '../bucket/objects.ts';
import { WheelStoreError } from '../errors.ts';
import { firstOf } from '../untrusted/quote.ts';
import { type SlotMarker, slotFolder, wheelKey } from './layout.ts';
import type { SlotWheel } from './slot-content.ts';

const SET_TARGET =
  "Give each job of the matrix its own 'target', such as target: linux-x86_64-cp312; a slot never holds two wheels.";
/** How many wheels to list in an error. */
const MAX_NAMED = 5;

/**
 * For a slot that holds a wheel with another filename.
 *
 * @param others - the wheels in the slot
 */
export function slotTaken(
  bucket: Bucket,
  { slot, wheel }: SlotWheel,
  others: readonly ListedObject[],
): WheelStoreError {
  const names = others.map(({ key }) => key.slice(slotFolder(slot).length));
  return new WheelStoreError({
    title: 'Slot taken',
    reason: `${wheel.filename} cannot be stored: its slot already holds ${firstOf(names, MAX_NAMED, ' and ')} (${bucket.uri(slotFolder(slot))}).`,
    remedy: SET_TARGET,
  });
}

/**
 * For a slot in which another step is storing other bytes.
 *
 * @param claim - of that step
 */
export function slotClaimed(bucket: Bucket, { slot, wheel }: SlotWheel, claim: SlotMarker): WheelStoreError {
  return new WheelStoreError({
    title: 'Slot taken',
    reason: `${wheel.filename} was not stored: another job is storing different content in the same slot (${bucket.uri(slotFolder(slot))}). Its claim is the empty object ${claim.key}.`,
    remedy: `${SET_TARGET} If no such job runs, delete the claim.`,
  });
}

/**
 * For a slot that holds an object with the wheel's filename and other bytes.
 *
 * @param sha256 - of the stored object; undefined if its size alone shows that it is another one
 */
export function otherBytes(
  bucket: Bucket,
  { wheel }: SlotWheel,
  { key, size }: ObjectHead,
  sha256: string | undefined,
): WheelStoreError {
  const stored =
    size === 0
      ? 'an empty object'
      : `different content (${size} bytes${sha256 === undefined ? '' : `, SHA-256 ${sha256}`})`;
  return new WheelStoreError({
    title: 'Same filename, different content',
    reason: `${bucket.uri(key)} already holds ${stored}; the wheel here has ${wheel.size} bytes and SHA-256 ${wheel.sha256}.`,
    remedy: `The stored object was not changed. ${SET_TARGET}`,
  });
}

/** For a wheel that is gone after this step put or found it. */
export function vanished(bucket: Bucket, { slot, wheel }: SlotWheel): WheelStoreError {
  return new WheelStoreError({
    title: 'Wheel disappeared from its slot',
    reason: `${bucket.uri(wheelKey(slot, wheel.filename))} was there a moment ago and is now gone.`,
    remedy:
      'Find out what deletes objects below this prefix (a life-cycle rule, another job), then run the job again.',
  });
}
