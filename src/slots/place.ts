/** Puts a wheel into its slot so that the slot never holds two, whoever else is at it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../bucket/bucket.ts';
import { afterGrace, untilCleanedUp } from '../bucket/deadline.ts';
import { placeOf } from '../bucket/names.ts';
import {
  deleteObject,
  hashObject,
  headObject,
  type ListedObject,
  listObjects,
  type ObjectHead,
  putEmptyObject,
} from '../bucket/objects.ts';
import { type PutOutcome, putFile, type Upload } from '../bucket/upload.ts';
import type { OpenWheel } from '../disk/open-wheel.ts';
import { type Warn, WheelStoreError } from '../errors.ts';
import { firstOf } from '../untrusted/quote.ts';
import { readWheelKey, type Slot, slotFolder, wheelKey } from './layout.ts';
import { type StoredWheel, withHead } from './stored.ts';

/** What is to be put where. */
export interface Placement {
  readonly slot: Slot;
  readonly wheel: OpenWheel;
  /** Object metadata besides the SHA-256. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly warn: Warn;
  /** Told the bytes sent so far: first 0, and 0 again if the upload starts afresh. */
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
/** Empty objects beside a wheel: a step that puts or relies on these bytes, and a step that is removing them. */
const MARK = /\/\.([0-9a-f]{64})\.[0-9a-f-]{36}\.(claim|removing)$/;
/** Each round ends because another step's wheel came or went in between. */
const MAX_ROUNDS = 4;
const POLL_MS = 200;
/** A step that is being cancelled has ten seconds to clean up ("Canceling a workflow run"). */
const MAX_REMOVAL_POLLS = 60;
/** The step that put the wheel is about to end, unless its line hangs. */
const MAX_OWNER_POLLS = 10;
/** Wheels that one error names. */
const MAX_NAMED = 5;

/**
 * Looks, puts, looks again.
 *
 * @throws WheelStoreError when the slot holds another wheel or other bytes, before or after the put; what this
 *   call put is then taken away again
 */
export async function placeInSlot(bucket: Bucket, placement: Placement): Promise<Placed> {
  const putId = randomUUID();
  const cleanUpSignal = untilCleanedUp(placement.signal);
  const announcement = announcementOf(bucket, placement, putId, cleanUpSignal);
  const own: OwnPut = { putId, announcement, cleanUpSignal };
  let placed: Found | undefined;
  try {
    // AWS honours conditional writes. Whether another engine does shows only when it is too late, so there each
    // store first says what it is about to put: of two that differ, at least one sees the other.
    if (!bucket.honoursConditions) await own.announcement.put();
    placed = await lookPutLook(bucket, placement, own);
    return { wheel: placed.wheel, how: placed.how };
  } finally {
    if (placed?.isRemovable !== true) await own.announcement.withdraw();
  }
}

/** What this call may put, and take away again. */
interface OwnPut {
  readonly putId: string;
  readonly announcement: Announcement;
  /** Ends a clean-up in time. */
  readonly cleanUpSignal: AbortSignal;
}

/** Our bytes in the slot. */
interface Found extends Placed {
  /** Whether another step may still remove them, so that our announcement must stay: see {@link removeOwn}. */
  readonly isRemovable: boolean;
}

/** The empty object by which a step tells others what it is about to put, or relies on. */
interface Announcement {
  readonly key: string;
  isThere(): boolean;
  put(): Promise<void>;
  withdraw(): Promise<void>;
}

function announcementOf(
  bucket: Bucket,
  placement: Placement,
  putId: string,
  cleanUpSignal: AbortSignal,
): Announcement {
  const { slot, wheel, signal } = placement;
  const key = markOf(placement, putId, 'claim');
  let isThere = false;
  return {
    key,
    isThere: () => isThere,
    async put() {
      try {
        await putEmptyObject(bucket, key, wheelKey(slot, wheel.filename), afterGrace(signal));
        isThere = true;
      } catch (error) {
        // Cut off, its outcome is unknown.
        isThere = signal.aborted;
        throw error;
      }
    },
    async withdraw() {
      if (isThere) await removeMark(bucket, key, placement, cleanUpSignal);
    },
  };
}

/** The key of an empty object by which the step with this put's id tells others what it does. */
function markOf({ slot, wheel }: Placement, putId: string, kind: 'claim' | 'removing'): string {
  return `${slotFolder(slot)}.${wheel.sha256}.${putId}.${kind}`;
}

async function lookPutLook(bucket: Bucket, placement: Placement, own: OwnPut): Promise<Found> {
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const there = await findOurBytes(bucket, placement, own);
    if (there !== undefined) return there;
    placement.signal.throwIfAborted();
    let put: PutOutcome | undefined;
    try {
      put = await putOnce(bucket, placement, own.putId);
      if ('error' in put) throw put.error;
      // From here on the wheel is stored, and a cancelled job may as well say so; before, it must not stay.
      placement.signal.throwIfAborted();
      const placed = await confirm(bucket, placement, own.putId, put);
      if (placed !== undefined) return { ...placed, isRemovable: false };
    } catch (error) {
      // Without an outcome nothing was stored, unless a request was cut off.
      if (put !== undefined || placement.signal.aborted) await removeOwn(bucket, placement, own);
      throw error;
    }
  }
  throw vanished(bucket, placement);
}

/**
 * Looks for an object with our bytes. Another step's may be removed by that step when it is cancelled, so before
 * we rely on it, that step must be able to see our announcement, and must not be removing the object already.
 *
 * @returns undefined if the slot is free
 * @throws WheelStoreError when it holds something else, or another step announces other bytes
 */
async function findOurBytes(
  bucket: Bucket,
  placement: Placement,
  { putId, announcement }: OwnPut,
): Promise<Found | undefined> {
  const { signal } = placement;
  for (let polls = 0; polls <= MAX_REMOVAL_POLLS; polls += 1) {
    // Whether the announcement was there before this look is what counts.
    const isAnnounced = announcement.isThere();
    const { ours, rivals, allies, removals } = await look(bucket, placement, signal);
    if (ours === undefined) {
      if (rivals[0] !== undefined) throw slotClaimed(bucket, placement, rivals[0]);
      return undefined;
    }
    const head = await headObject(bucket, ours.key, signal);
    if (head === undefined) continue;
    const wheel = await sameBytes(bucket, placement, head);
    const owner = head.metadata[PUT_ID];
    if (owner === putId) return { wheel, how: 'put', isRemovable: false };
    if (!isAnnounced) {
      await announcement.put();
      continue;
    }
    // With a custom endpoint a step's announcement goes when the step ends; on AWS there is none to tell.
    const isOwnerAtWork = allies.some(({ key }) => key === markOf(placement, owner ?? '', 'claim'));
    if (removals.length === 0 && !(isOwnerAtWork && polls < MAX_OWNER_POLLS)) {
      const isEnded = owner === undefined || (!bucket.honoursConditions && !isOwnerAtWork);
      return { wheel, how: 'was-there', isRemovable: !isEnded };
    }
    await delay(POLL_MS, undefined, { signal });
  }
  throw vanished(bucket, placement);
}

/** What a slot holds, as a step that stores into it sees it. */
interface SlotView {
  /** Our key, if it is taken. */
  readonly ours?: ListedObject;
  /** Announcements of other bytes, of our bytes, and of the removal of our bytes. */
  readonly rivals: readonly ListedObject[];
  readonly allies: readonly ListedObject[];
  readonly removals: readonly ListedObject[];
}

/**
 * Lists the slot.
 *
 * @throws WheelStoreError when another wheel is there
 */
async function look(bucket: Bucket, placement: Placement, signal: AbortSignal): Promise<SlotView> {
  const { slot, wheel } = placement;
  const objects = await listSlot(bucket, slot, signal);
  const key = wheelKey(slot, wheel.filename);
  const others = objects.filter(
    (object) => object.key !== key && object.size > 0 && readWheelKey(slot, object.key) !== undefined,
  );
  if (others.length > 0) throw slotTaken(bucket, placement, others);
  const ours = objects.find((object) => object.key === key);
  const isOurs = (sha256: string) => sha256 === wheel.sha256;
  return {
    ...(ours === undefined ? {} : { ours }),
    rivals: objects.filter((object) => isMark(object, 'claim', (sha256) => !isOurs(sha256))),
    allies: objects.filter((object) => isMark(object, 'claim', isOurs)),
    removals: objects.filter((object) => isMark(object, 'removing', isOurs)),
  };
}

/** The wheels and marks of a slot. */
function listSlot(bucket: Bucket, slot: Slot, signal: AbortSignal): Promise<ListedObject[]> {
  const keep = (key: string) => MARK.test(key) || readWheelKey(slot, key) !== undefined;
  return listObjects(bucket, slotFolder(slot), { directly: true, keep, signal });
}

function isMark({ key }: ListedObject, kind: string, isMeant: (sha256: string) => boolean): boolean {
  const [, sha256, marked] = MARK.exec(key) ?? [];
  return sha256 !== undefined && marked === kind && isMeant(sha256);
}

async function putOnce(bucket: Bucket, placement: Placement, putId: string): Promise<PutOutcome> {
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
  const put = await putFile(bucket, upload);
  if (put.outcome !== 'unsupported') return put;
  if ((await look(bucket, placement, signal)).ours !== undefined) return { outcome: 'taken' };
  const unconditional = await putFile(bucket, { ...upload, onlyIfAbsent: false });
  // Only now it shows that nothing but the condition was refused.
  if (unconditional.outcome === 'created') {
    warn(
      `${placeOf(bucket).replace(/^the/, 'The')} does not support conditional writes (If-None-Match), so this step checks the slot before and after the upload instead.`,
      'No conditional writes',
    );
  }
  return unconditional;
}

/**
 * The second look: what is in the slot now must be our bytes, and nothing else.
 *
 * @returns undefined if it was another step that put them, or if they are gone
 */
async function confirm(
  bucket: Bucket,
  placement: Placement,
  putId: string,
  put: PutOutcome,
): Promise<Placed | undefined> {
  const signal = afterGrace(placement.signal);
  const { ours: found } = await look(bucket, placement, signal);
  if (found === undefined) {
    if (put.outcome === 'created') throw vanished(bucket, placement);
    return undefined;
  }
  if (put.outcome === 'created' && put.etag !== '' && put.etag === found.etag) {
    return { wheel: asStored(placement, found), how: 'put' };
  }
  const head = await headObject(bucket, found.key, signal);
  if (head === undefined) return undefined;
  const wheel = await sameBytes(bucket, placement, head);
  return head.metadata[PUT_ID] === putId ? { wheel, how: 'put' } : undefined;
}

/** @throws WheelStoreError when the object's bytes are not the wheel's */
async function sameBytes(bucket: Bucket, placement: Placement, head: ObjectHead): Promise<StoredWheel> {
  const { wheel } = placement;
  const stored = withHead(readWheelKey(placement.slot, head.key)!, head);
  const sha256 =
    stored.sha256 === undefined && head.size === wheel.size
      ? await hashObject(bucket, head, placement.signal)
      : stored.sha256;
  if (head.size !== wheel.size || sha256 !== wheel.sha256) throw otherBytes(bucket, placement, head, sha256);
  return { ...stored, sha256 };
}

/** What a look-up would say of the wheel that this call put. */
function asStored({ slot, wheel, metadata }: Placement, { key, etag }: ListedObject): StoredWheel {
  return {
    ...readWheelKey(slot, key)!,
    size: wheel.size,
    etag,
    sha256: wheel.sha256,
    requiresPython: metadata['requires-python'],
  };
}

/**
 * Removes what this step put, unless another step announces the same bytes: it may have reported them as stored.
 * That step announces before it looks for removals, and we say that we remove before we look for announcements,
 * so at least one of the two sees the other.
 */
async function removeOwn(
  bucket: Bucket,
  placement: Placement,
  { putId, announcement, cleanUpSignal: signal }: OwnPut,
): Promise<void> {
  const { slot, wheel, warn } = placement;
  const key = wheelKey(slot, wheel.filename);
  try {
    const head = await headObject(bucket, key, signal);
    if (head?.metadata[PUT_ID] !== putId) return;
    const removing = markOf(placement, putId, 'removing');
    await putEmptyObject(bucket, removing, key, signal);
    const objects = await listSlot(bucket, slot, signal);
    const isOurs = (sha256: string) => sha256 === wheel.sha256;
    const isNeeded = objects.some(
      (object) => object.key !== announcement.key && isMark(object, 'claim', isOurs),
    );
    if (!isNeeded) await deleteObject(bucket, key, signal);
    await removeMark(bucket, removing, placement, signal);
  } catch (error) {
    warn(
      `What this step stored at ${key} could not be removed. ${(error as Error).message}`,
      'Wheel left in the store',
    );
  }
}

async function removeMark(
  bucket: Bucket,
  key: string,
  { warn }: Placement,
  signal: AbortSignal,
): Promise<void> {
  try {
    await deleteObject(bucket, key, signal);
  } catch (error) {
    warn(
      `The empty object ${key}, a mark for other steps, could not be removed. ${(error as Error).message}`,
      'Empty object left in the store',
    );
  }
}

const SET_TARGET =
  "Give each job of the matrix its own 'target', such as target: linux-x86_64-cp312; a slot never holds two wheels.";

function slotTaken(
  bucket: Bucket,
  { slot, wheel }: Placement,
  others: readonly ListedObject[],
): WheelStoreError {
  const names = others.map(({ key }) => key.slice(slotFolder(slot).length));
  return new WheelStoreError({
    title: 'Slot taken',
    reason: `${wheel.filename} cannot be stored: its slot already holds ${firstOf(names, MAX_NAMED, ' and ')} (${bucket.uri(slotFolder(slot))}).`,
    remedy: SET_TARGET,
  });
}

function slotClaimed(bucket: Bucket, { slot, wheel }: Placement, rival: ListedObject): WheelStoreError {
  return new WheelStoreError({
    title: 'Slot taken',
    reason: `${wheel.filename} was not stored: another job is storing different content in the same slot (${bucket.uri(slotFolder(slot))}), as the empty object ${rival.key} says.`,
    remedy: `${SET_TARGET} If no such job runs, delete that empty object.`,
  });
}

function otherBytes(
  bucket: Bucket,
  { wheel }: Placement,
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

function vanished(bucket: Bucket, { slot, wheel }: Placement): WheelStoreError {
  return new WheelStoreError({
    title: 'Wheel disappeared from its slot',
    reason: `${bucket.uri(wheelKey(slot, wheel.filename))} was there a moment ago and is now gone.`,
    remedy:
      'Find out what deletes objects below this prefix (a life-cycle rule, another job), then run the job again.',
  });
}
