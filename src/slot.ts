/** Puts a wheel into its slot so that the slot never holds two, whoever else is at it. */
import { randomUUID } from 'node:crypto';
import type { Bucket } from './bucket/client.ts';
import { codeOf, statusOf } from './bucket/failures.ts';
import {
  deleteObject,
  hashObject,
  headObject,
  type ListedObject,
  listObjects,
  type ObjectHead,
  putEmptyObject,
} from './bucket/objects.ts';
import { type Outcome, putFile, type Upload } from './bucket/upload.ts';
import { WheelStoreError } from './errors.ts';
import { readWheelKey, type Slot, slotFolder, wheelKey } from './layout.ts';
import { type StoredWheel, withHead } from './lookup.ts';
import type { OpenWheel } from './wheel/local.ts';

/** What is to be put where. */
export interface Placement {
  readonly slot: Slot;
  readonly wheel: OpenWheel;
  /** Object metadata besides the SHA-256. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly warn: (text: string, title: string) => void;
  /** Told the bytes sent so far, first none. */
  readonly onProgress?: (bytes: number) => void;
}

/** A wheel that is in its slot, and whether this call put it there or found it there with the same bytes. */
export interface Placed {
  readonly wheel: StoredWheel;
  readonly how: 'put' | 'was-there';
}

/** One year; what is stored at a key never changes. */
const CACHE_CONTROL = 'public, max-age=31536000, immutable';
/** Metadata that names the put which made an object, so that a step takes away its own and nobody else's. */
const PUT_ID = 'put-id';
const CLAIM = /\/\.([0-9a-f]{64})\.[0-9a-f-]{36}\.claim$/;

/**
 * Looks, puts, looks again.
 *
 * @throws WheelStoreError when the slot holds another wheel or other bytes, before or after the put; what this
 *   call put is then taken away again
 */
export async function placeInSlot(bucket: Bucket, placement: Placement): Promise<Placed> {
  // AWS honours conditional writes. Whether another engine does shows only when it is too late, so there each
  // store first says what it is about to put: of two that differ, at least one sees the other.
  if (bucket.customEndpoint === undefined) return lookPutLook(bucket, placement);
  const claim = `${slotFolder(placement.slot)}.${placement.wheel.sha256}.${randomUUID()}.claim`;
  await putEmptyObject(bucket, claim, wheelKey(placement.slot, placement.wheel.filename));
  try {
    return await lookPutLook(bucket, placement);
  } finally {
    await withdraw(bucket, claim, placement);
  }
}

async function lookPutLook(bucket: Bucket, placement: Placement): Promise<Placed> {
  const { ours, rivals } = await look(bucket, placement);
  if (ours !== undefined) return alreadyThere(bucket, placement, ours);
  if (rivals[0] !== undefined) throw slotClaimed(bucket, placement, rivals[0]);
  placement.signal.throwIfAborted();
  const putId = randomUUID();
  try {
    const outcome = await putOnce(bucket, placement, putId);
    // From here on the wheel is stored, and a cancelled job may as well say so; before, it must not stay.
    placement.signal.throwIfAborted();
    return await confirm(bucket, placement, putId, outcome);
  } catch (error) {
    if (placement.signal.aborted || mayHaveStored(error)) await takeAway(bucket, placement, putId);
    throw error;
  }
}

/**
 * Lists the slot.
 *
 * @returns our key, where it is taken, and the claims of jobs that are about to put other bytes
 * @throws WheelStoreError when another wheel is there
 */
async function look(
  bucket: Bucket,
  placement: Placement,
): Promise<{ ours?: ListedObject; rivals: ListedObject[] }> {
  const { slot, wheel } = placement;
  const objects = await listObjects(bucket, slotFolder(slot), { directly: true });
  const key = wheelKey(slot, wheel.filename);
  const others = objects.filter(
    (object) => object.key !== key && object.size > 0 && readWheelKey(slot, object.key) !== undefined,
  );
  if (others.length > 0) throw slotTaken(bucket, placement, others);
  const ours = objects.find((object) => object.key === key);
  const rivals = objects.filter((object) => (CLAIM.exec(object.key)?.[1] ?? wheel.sha256) !== wheel.sha256);
  return ours === undefined ? { rivals } : { ours, rivals };
}

async function putOnce(bucket: Bucket, placement: Placement, putId: string): Promise<Outcome> {
  const { slot, wheel, metadata, signal, warn, onProgress } = placement;
  const upload: Upload = {
    key: wheelKey(slot, wheel.filename),
    file: wheel.file,
    size: wheel.size,
    contentType: 'application/zip',
    cacheControl: CACHE_CONTROL,
    metadata: { ...metadata, sha256: wheel.sha256, [PUT_ID]: putId },
    onlyIfAbsent: true,
    confirmUnchanged: () => wheel.confirmUnchanged(),
    signal,
    warn,
    ...(onProgress === undefined ? {} : { onProgress }),
  };
  try {
    return await putFile(bucket, upload);
  } catch (error) {
    if (statusOf(error) !== 501 && codeOf(error) !== 'NotImplemented') throw error;
    warn(
      `${bucket.customEndpoint ?? 'The store'} has no conditional writes (If-None-Match), so the slot is looked at before and after the upload instead.`,
      'No conditional writes',
    );
    if ((await look(bucket, placement)).ours !== undefined) return { created: false };
    return putFile(bucket, { ...upload, onlyIfAbsent: false });
  }
}

/** The second look: what is in the slot now must be our bytes, and nothing else. */
async function confirm(
  bucket: Bucket,
  placement: Placement,
  putId: string,
  outcome: Outcome,
): Promise<Placed> {
  const { ours: found } = await look(bucket, placement);
  if (found === undefined) throw vanished(bucket, placement);
  if (outcome.created && outcome.etag !== '' && outcome.etag === found.etag) {
    return { wheel: describe(placement, found), how: 'put' };
  }
  const head = await headObject(bucket, found.key);
  if (head === undefined) throw vanished(bucket, placement);
  const wheel = await sameBytes(bucket, placement, head);
  return { wheel, how: head.metadata[PUT_ID] === putId ? 'put' : 'was-there' };
}

async function alreadyThere(bucket: Bucket, placement: Placement, object: ListedObject): Promise<Placed> {
  const head = await headObject(bucket, object.key);
  if (head === undefined) throw vanished(bucket, placement);
  return { wheel: await sameBytes(bucket, placement, head), how: 'was-there' };
}

/** @throws WheelStoreError when the object's bytes are not the wheel's */
async function sameBytes(bucket: Bucket, placement: Placement, head: ObjectHead): Promise<StoredWheel> {
  const { wheel } = placement;
  const stored = withHead(readWheelKey(placement.slot, head.key)!, head);
  const sha256 =
    stored.sha256 === '' && head.size === wheel.size ? await hashObject(bucket, head) : stored.sha256;
  if (head.size !== wheel.size || sha256 !== wheel.sha256) throw otherBytes(bucket, placement, head, sha256);
  return { ...stored, sha256 };
}

function describe({ slot, wheel, metadata }: Placement, { key, etag }: ListedObject): StoredWheel {
  return {
    ...readWheelKey(slot, key)!,
    size: wheel.size,
    etag,
    sha256: wheel.sha256,
    requiresPython: metadata['requires-python'],
  };
}

/** Whether the store may hold our object although we were told of a failure. */
function mayHaveStored(error: unknown): boolean {
  const status = statusOf(error);
  if (error instanceof WheelStoreError && error.cause === undefined) return error.title === SLOT_TAKEN;
  return status === undefined || status >= 500;
}

async function takeAway(bucket: Bucket, { slot, wheel, warn }: Placement, putId: string): Promise<void> {
  const key = wheelKey(slot, wheel.filename);
  try {
    const head = await headObject(bucket, key);
    if (head?.metadata[PUT_ID] === putId) await deleteObject(bucket, key);
  } catch (error) {
    warn(
      `What this step put at ${key} could not be taken away again. ${(error as Error).message}`,
      'Wheel left in the store',
    );
  }
}

async function withdraw(bucket: Bucket, claim: string, { warn }: Placement): Promise<void> {
  try {
    await deleteObject(bucket, claim);
  } catch (error) {
    warn(
      `The empty object ${claim}, which announced this upload, could not be removed. ${(error as Error).message}`,
      'Empty object left in the store',
    );
  }
}

const SLOT_TAKEN = 'Slot taken';
const SET_TARGET =
  "Give each job of the matrix its own 'target', such as target: linux-x86_64-cp312; a slot never holds two wheels.";

function slotTaken(
  bucket: Bucket,
  { slot, wheel }: Placement,
  others: readonly ListedObject[],
): WheelStoreError {
  return new WheelStoreError({
    title: SLOT_TAKEN,
    reason: `${wheel.filename} cannot be stored: its slot already holds ${others.map(({ key }) => key.slice(slotFolder(slot).length)).join(' and ')} (s3://${bucket.settings.name}/${slotFolder(slot)}).`,
    remedy: SET_TARGET,
  });
}

function slotClaimed(bucket: Bucket, { slot, wheel }: Placement, rival: ListedObject): WheelStoreError {
  return new WheelStoreError({
    title: SLOT_TAKEN,
    reason: `${wheel.filename} was not stored: another job is storing other bytes into the same slot (s3://${bucket.settings.name}/${slotFolder(slot)}), as the empty object ${rival.key} says.`,
    remedy: `${SET_TARGET} If no such job runs, delete that empty object.`,
  });
}

function otherBytes(
  bucket: Bucket,
  { wheel }: Placement,
  { key, size }: ObjectHead,
  sha256: string,
): WheelStoreError {
  const stored =
    size === 0
      ? 'an empty object'
      : `other bytes (${size} bytes${sha256 === '' ? '' : `, SHA-256 ${sha256}`})`;
  return new WheelStoreError({
    title: 'Other bytes under the same name',
    reason: `s3://${bucket.settings.name}/${key} already holds ${stored}; the wheel here has ${wheel.size} bytes and SHA-256 ${wheel.sha256}.`,
    remedy: `The stored object was left as it is. ${SET_TARGET}`,
  });
}

function vanished(bucket: Bucket, { slot, wheel }: Placement): WheelStoreError {
  return new WheelStoreError({
    title: 'Wheel vanished from its slot',
    reason: `s3://${bucket.settings.name}/${wheelKey(slot, wheel.filename)} was there a moment ago and is not any more.`,
    remedy:
      'Find out what deletes objects below this prefix (a life-cycle rule, another job), then run the job again.',
  });
}
