/** Places a wheel in its slot. The slot never holds two, even if several steps store into it. See ARCHITECTURE.md. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { exponential, type Growth } from '../backoff.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { cleanUpDeadline, withGracePeriod } from '../bucket/deadline.ts';
import { storeAsSubject } from '../bucket/names.ts';
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

/** Which wheel to place, and in which slot. */
export interface Placement {
  readonly slot: Slot;
  readonly wheel: OpenWheel;
  /** Object metadata in addition to the SHA-256. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly warn: Warn;
  /** Called after the wheel was removed because the step failed. Must end when its signal aborts. */
  readonly onRemoved?: (signal: AbortSignal) => Promise<void>;
  /** Called with the number of bytes sent so far: first 0, and 0 again if the upload restarts. */
  readonly onProgress?: (bytes: number) => void;
}

/** A wheel in its slot, and whether this call put it there or found the same bytes already there. */
export interface Placed {
  readonly wheel: StoredWheel;
  readonly how: 'put' | 'was-there';
}

/** One year. A stored wheel never changes. */
const CACHE_CONTROL = 'public, max-age=31536000, immutable';
/** Metadata with the id of the put that created an object, so that a step removes only its own. */
const PUT_ID = 'put-id';
/** Keys of claims and removal markers: empty objects with the SHA-256 of a wheel and the id of a put. */
const MARKER = /\/\.([0-9a-f]{64})\.([0-9a-f-]{36})\.(claim|removing)$/;
/** Another round is necessary only if another step put or removed a wheel in the meantime. */
const MAX_ROUNDS = 4;
/** Thirteen seconds in total: a cancelled step has ten to clean up (GitHub docs, "Canceling a workflow run"). */
const MAX_POLLS = 9;
const POLL_GROWTH: Growth = { firstMs: 200, maxMs: 2_000 };
/** Three seconds: the step that put the wheel should end soon, unless its connection hangs. */
const MAX_OWNER_POLLS = 4;
/**
 * One and a half seconds: a step that gives way removes its wheel within a few requests. Not longer, because look-ups
 * ignore a slot with two wheels.
 */
const MAX_RIVAL_POLLS = 3;
/** How many wheels to list in an error. */
const MAX_NAMED = 5;

/**
 * Lists the slot, puts the wheel, and lists again.
 *
 * @throws WheelStoreError if the slot holds another wheel or other bytes, before or after the put. Then the wheel that
 *   this call put is removed.
 */
export async function placeInSlot(bucket: Bucket, placement: Placement): Promise<Placed> {
  const putId = randomUUID();
  const cleanUpSignal = cleanUpDeadline(placement.signal);
  const claim = claimOf(bucket, placement, putId, cleanUpSignal);
  const own: OwnPut = { putId, claim, cleanUpSignal };
  let placed: Found | undefined;
  try {
    // Other engines than AWS may ignore If-None-Match, which can't be detected in time. So with a custom endpoint, each
    // step puts a claim first. Of two steps with different bytes, at least one sees the claim of the other.
    if (!bucket.honoursConditions) await own.claim.put();
    placed = await listPutList(bucket, placement, own);
    return { wheel: placed.wheel, how: placed.how };
  } finally {
    if (placed?.isRemovable !== true) await own.claim.withdraw();
  }
}

/** What this call may have to remove. */
interface OwnPut {
  readonly putId: string;
  readonly claim: Claim;
  /** Aborts when clean-up must have ended. */
  readonly cleanUpSignal: AbortSignal;
}

/** Our bytes, found in the slot. */
interface Found extends Placed {
  /** Whether another step may still remove them, so that our claim must stay. See {@link removeOwn}. */
  readonly isRemovable: boolean;
}

/** The empty object that tells other steps which bytes this step puts or relies on. */
interface Claim {
  readonly key: string;
  isThere(): boolean;
  put(): Promise<void>;
  withdraw(): Promise<void>;
}

function claimOf(bucket: Bucket, placement: Placement, putId: string, cleanUpSignal: AbortSignal): Claim {
  const { slot, wheel, signal } = placement;
  const key = markerKey(placement, putId, 'claim');
  let isThere = false;
  return {
    key,
    isThere: () => isThere,
    async put() {
      // If the request fails, the object may exist all the same.
      isThere = true;
      await putEmptyObject(bucket, key, wheelKey(slot, wheel.filename), withGracePeriod(signal));
    },
    async withdraw() {
      if (isThere) await removeMarker(bucket, key, placement, cleanUpSignal);
    },
  };
}

/** The key of the claim or removal marker of the step with this put id. */
function markerKey({ slot, wheel }: Placement, putId: string, kind: 'claim' | 'removing'): string {
  return `${slotFolder(slot)}.${wheel.sha256}.${putId}.${kind}`;
}

async function listPutList(bucket: Bucket, placement: Placement, own: OwnPut): Promise<Found> {
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const existing = await findOurBytes(bucket, placement, own);
    if (existing !== undefined) return existing;
    placement.signal.throwIfAborted();
    let put: PutOutcome | undefined;
    try {
      put = await putOnce(bucket, placement, own.putId);
      if ('error' in put) throw put.error;
      // A cancelled step removes its wheel up to this point. After `confirm`, it ends with success.
      placement.signal.throwIfAborted();
      const placed = await confirm(bucket, placement, own, put);
      if (placed !== undefined) return placed;
    } catch (error) {
      // Without an outcome, nothing was stored, unless a request was cancelled.
      if (put !== undefined || placement.signal.aborted) await removeOwn(bucket, placement, own);
      throw error;
    }
  }
  throw vanished(bucket, placement);
}

/**
 * Looks for an object with our bytes. If another step put it, that step may remove it when it is cancelled. So before
 * we rely on the object, that step must be able to see our claim, and must not have put a removal marker.
 *
 * @returns undefined if the slot is free
 * @throws WheelStoreError if it holds another wheel or other bytes, or another step's claim for other bytes
 */
async function findOurBytes(
  bucket: Bucket,
  placement: Placement,
  { putId, claim }: OwnPut,
): Promise<Found | undefined> {
  const { signal } = placement;
  for (let polls = 0; polls <= MAX_POLLS; polls += 1) {
    // The claim must have been there before the listing.
    const isClaimed = claim.isThere();
    const content = await listSlotContent(bucket, placement, signal);
    const { ours, others, otherClaims, sameClaims, removals } = content;
    if (others.length > 0) throw slotTaken(bucket, placement, others);
    if (ours === undefined) {
      const [rival] = otherClaims;
      if (rival === undefined) return undefined;
      // Of several steps with claims, all but one give way. It waits for their claims to be withdrawn.
      const isFirst = otherClaims.every(({ key }) => putIdOf(key) > putId);
      if (!isFirst || polls === MAX_POLLS) throw slotClaimed(bucket, placement, rival);
      await poll(polls, signal);
      continue;
    }
    const head = await headObject(bucket, ours.key, signal);
    if (head === undefined) continue;
    const wheel = await requireSameBytes(bucket, placement, head);
    const owner = head.metadata[PUT_ID];
    if (owner === putId) return { wheel, how: 'put', isRemovable: false };
    if (!isClaimed) {
      await claim.put();
      continue;
    }
    // With a custom endpoint, a step removes its claim when it ends. On AWS, the step that puts has no claim.
    const isOwnerRunning = sameClaims.some(({ key }) => key === markerKey(placement, owner ?? '', 'claim'));
    if (removals.length === 0 && !(isOwnerRunning && polls < MAX_OWNER_POLLS)) {
      const isEnded = owner === undefined || (!bucket.honoursConditions && !isOwnerRunning);
      return { wheel, how: 'was-there', isRemovable: !isEnded };
    }
    await poll(polls, signal);
  }
  throw vanished(bucket, placement);
}

/** Waits before the next listing. */
async function poll(polls: number, signal: AbortSignal): Promise<void> {
  await delay(exponential(polls + 1, POLL_GROWTH), undefined, { signal });
}

/** The content of a slot, from the viewpoint of one step. */
interface SlotContent {
  /** The object with our key, if any. */
  readonly ours?: ListedObject;
  /** Wheels with other filenames. */
  readonly others: readonly ListedObject[];
  /** Claims for other bytes. */
  readonly otherClaims: readonly ListedObject[];
  /** Claims for our bytes. */
  readonly sameClaims: readonly ListedObject[];
  /** Removal markers for our bytes. */
  readonly removals: readonly ListedObject[];
}

async function listSlotContent(
  bucket: Bucket,
  placement: Placement,
  signal: AbortSignal,
): Promise<SlotContent> {
  const { slot, wheel } = placement;
  const objects = await listSlot(bucket, slot, signal);
  const key = wheelKey(slot, wheel.filename);
  const others = objects.filter(
    (object) => object.key !== key && object.size > 0 && readWheelKey(slot, object.key) !== undefined,
  );
  const ours = objects.find((object) => object.key === key);
  const isOurs = (sha256: string) => sha256 === wheel.sha256;
  return {
    ...(ours === undefined ? {} : { ours }),
    others,
    otherClaims: objects.filter((object) => isMarker(object, 'claim', (sha256) => !isOurs(sha256))),
    sameClaims: objects.filter((object) => isMarker(object, 'claim', isOurs)),
    removals: objects.filter((object) => isMarker(object, 'removing', isOurs)),
  };
}

/** The id of the put in the key of a claim. */
function putIdOf(key: string): string {
  return MARKER.exec(key)?.[2] ?? '';
}

/** The wheels, claims and removal markers in a slot. */
function listSlot(bucket: Bucket, slot: Slot, signal: AbortSignal): Promise<ListedObject[]> {
  const keep = (key: string) => MARKER.test(key) || readWheelKey(slot, key) !== undefined;
  return listObjects(bucket, slotFolder(slot), { shallow: true, keep, signal });
}

function isMarker({ key }: ListedObject, kind: string, matches: (sha256: string) => boolean): boolean {
  const [, sha256, , marked] = MARKER.exec(key) ?? [];
  return sha256 !== undefined && marked === kind && matches(sha256);
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
  const { ours, others } = await listSlotContent(bucket, placement, signal);
  if (others.length > 0) throw slotTaken(bucket, placement, others);
  if (ours !== undefined) return { outcome: 'taken' };
  const unconditional = await putFile(bucket, { ...upload, onlyIfAbsent: false });
  // Only now is it certain that the store rejected the condition and nothing else.
  if (unconditional.outcome === 'created') {
    warn(
      `${storeAsSubject(bucket)} does not support conditional writes (If-None-Match), so this step checks the slot before and after the upload instead.`,
      'No conditional writes',
    );
  }
  return unconditional;
}

/**
 * Lists the slot again. It must hold our bytes and nothing else.
 *
 * @returns undefined if another step put them, or if they are gone
 */
async function confirm(
  bucket: Bucket,
  placement: Placement,
  { putId, claim }: OwnPut,
  put: PutOutcome,
): Promise<Found | undefined> {
  const signal = withGracePeriod(placement.signal);
  const { ours: found, sameClaims } = await outlastOthers(bucket, placement, putId, signal);
  if (found === undefined) {
    if (put.outcome === 'created') throw vanished(bucket, placement);
    return undefined;
  }
  // A store without conditions lets a step that listed before our put overwrite the object, and then remove it.
  const isRemovable = !bucket.honoursConditions && sameClaims.some(({ key }) => key !== claim.key);
  if (put.outcome === 'created' && put.etag !== '' && put.etag === found.etag) {
    return { wheel: asStored(placement, found), how: 'put', isRemovable };
  }
  const head = await headObject(bucket, found.key, signal);
  if (head === undefined) return undefined;
  const wheel = await requireSameBytes(bucket, placement, head);
  return head.metadata[PUT_ID] === putId ? { wheel, how: 'put', isRemovable } : undefined;
}

/**
 * Lists the slot, until it holds no wheel with another filename. If several steps have put theirs at the same time, all
 * but one remove it. That one waits for them.
 *
 * @throws WheelStoreError if another wheel stays
 */
async function outlastOthers(
  bucket: Bucket,
  placement: Placement,
  putId: string,
  signal: AbortSignal,
): Promise<SlotContent> {
  for (let polls = 0; ; polls += 1) {
    const content = await listSlotContent(bucket, placement, signal);
    const { others } = content;
    if (others.length === 0) return content;
    const heads = await Promise.all(others.map(({ key }) => headObject(bucket, key, signal)));
    const isFirst = heads.every((head) => head === undefined || (head.metadata[PUT_ID] ?? '') > putId);
    if (!isFirst || polls === MAX_RIVAL_POLLS) throw slotTaken(bucket, placement, others);
    await poll(polls, placement.signal);
  }
}

/** @throws WheelStoreError if the object's bytes are not those of the wheel */
async function requireSameBytes(
  bucket: Bucket,
  placement: Placement,
  head: ObjectHead,
): Promise<StoredWheel> {
  const { wheel } = placement;
  const stored = withHead(readWheelKey(placement.slot, head.key)!, head);
  const sha256 =
    stored.sha256 === undefined && head.size === wheel.size
      ? await hashObject(bucket, head, placement.signal)
      : stored.sha256;
  if (head.size !== wheel.size || sha256 !== wheel.sha256) throw otherBytes(bucket, placement, head, sha256);
  return { ...stored, sha256 };
}

/** The wheel that this call put, as a look-up would return it. */
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
 * Removes the wheel that this step put, unless another step has a claim for the same bytes, because that step may have
 * reported them as stored. It puts its claim before it looks for removal markers, and we put our removal marker before
 * we look for claims. So at least one of the two sees the other.
 */
async function removeOwn(
  bucket: Bucket,
  placement: Placement,
  { putId, claim, cleanUpSignal: signal }: OwnPut,
): Promise<void> {
  const { slot, wheel, warn, onRemoved } = placement;
  const key = wheelKey(slot, wheel.filename);
  try {
    const head = await headObject(bucket, key, signal);
    if (head?.metadata[PUT_ID] !== putId) return;
    const removing = markerKey(placement, putId, 'removing');
    await putEmptyObject(bucket, removing, key, signal);
    const objects = await listSlot(bucket, slot, signal);
    const isOurs = (sha256: string) => sha256 === wheel.sha256;
    const isNeeded = objects.some((object) => object.key !== claim.key && isMarker(object, 'claim', isOurs));
    if (!isNeeded) await deleteObject(bucket, key, signal);
    await removeMarker(bucket, removing, placement, signal);
    if (!isNeeded) await onRemoved?.(signal);
  } catch (error) {
    warn(
      `What this step stored at ${key} could not be removed. ${(error as Error).message}`,
      'Wheel left in the store',
    );
  }
}

async function removeMarker(
  bucket: Bucket,
  key: string,
  { warn }: Placement,
  signal: AbortSignal,
): Promise<void> {
  try {
    await deleteObject(bucket, key, signal);
  } catch (error) {
    warn(
      `The empty object ${key}, a marker for other steps, could not be removed. ${(error as Error).message}`,
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

function slotClaimed(bucket: Bucket, { slot, wheel }: Placement, claim: ListedObject): WheelStoreError {
  return new WheelStoreError({
    title: 'Slot taken',
    reason: `${wheel.filename} was not stored: another job is storing different content in the same slot (${bucket.uri(slotFolder(slot))}), as the empty object ${claim.key} says.`,
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
