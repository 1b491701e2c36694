/** Places a wheel in its slot. The slot never holds two, even if several steps store into it. See ARCHITECTURE.md. */
import { setTimeout as delay } from 'node:timers/promises';
import { exponential, type Growth } from '../backoff.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { withGracePeriod } from '../bucket/deadline.ts';
import { storeAsSubject } from '../bucket/names.ts';
import { hashObject, headObject, type ListedObject, type ObjectHead } from '../bucket/objects.ts';
import { type PutOutcome, putFile, type Upload } from '../bucket/upload.ts';
import type { OpenWheel } from '../disk/open-wheel.ts';
import { readWheelKey, SDIST_TARGET, wheelKey } from './layout.ts';
import { beginPut, type OwnPut, type Placing, PUT_ID, removeOwn } from './own-put.ts';
import { listSlotContent, type SlotContent } from './slot-content.ts';
import { otherBytes, slotClaimed, slotTaken, vanished } from './slot-errors.ts';
import { type StoredWheel, withHead } from './stored.ts';

/** Which wheel to place, and in which slot. */
export interface Placement extends Placing {
  readonly wheel: OpenWheel;
  /** Object metadata in addition to the SHA-256. */
  readonly metadata: Readonly<Record<string, string>>;
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

/**
 * Lists the slot, puts the wheel, and lists again.
 *
 * @throws WheelStoreError if the slot holds another wheel or other bytes, before or after the put. Then the wheel that
 *   this call put is removed.
 */
export async function placeInSlot(bucket: Bucket, placement: Placement): Promise<Placed> {
  const own = beginPut(bucket, placement);
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

/** Our bytes, found in the slot. */
interface Found extends Placed {
  /** Whether another step may still remove them, so that our claim must stay. See {@link removeOwn}. */
  readonly isRemovable: boolean;
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
    refuseOthers(bucket, placement, others);
    if (ours === undefined) {
      const [rival] = otherClaims;
      if (rival === undefined) return undefined;
      // Of several steps with claims, all but one give way. It waits for their claims to be withdrawn.
      const goesFirst = isFirst(
        putId,
        otherClaims.map((claim) => claim.putId),
      );
      if (!goesFirst || polls === MAX_POLLS) throw slotClaimed(bucket, placement, rival);
      await poll(polls, signal);
      continue;
    }
    const head = await headObject(bucket, ours.key, signal);
    // It was removed after the listing, so list again at once.
    if (head === undefined) continue;
    const wheel = await requireSameBytes(bucket, placement, head);
    const owner = head.metadata[PUT_ID];
    if (owner === putId) return { wheel, how: 'put', isRemovable: false };
    if (!isClaimed) {
      await claim.put();
      continue;
    }
    // With a custom endpoint, a step removes its claim when it ends. On AWS, the step that puts has no claim.
    const isOwnerRunning = sameClaims.some((same) => same.putId === owner);
    if (removals.length === 0 && !(isOwnerRunning && polls < MAX_OWNER_POLLS)) {
      const isEnded = owner === undefined || (!bucket.honoursConditions && !isOwnerRunning);
      return { wheel, how: 'was-there', isRemovable: !isEnded };
    }
    await poll(polls, signal);
  }
  throw vanished(bucket, placement);
}

/** @throws WheelStoreError if the slot holds wheels with other filenames */
function refuseOthers(bucket: Bucket, placement: Placement, others: readonly ListedObject[]): void {
  if (others.length > 0) throw slotTaken(bucket, placement, others);
}

/** Whether the step with this put id goes first among those that see each other. */
function isFirst(putId: string, others: readonly string[]): boolean {
  return others.every((other) => other > putId);
}

/** Waits before the next listing. */
async function poll(polls: number, signal: AbortSignal): Promise<void> {
  await delay(exponential(polls + 1, POLL_GROWTH), undefined, { signal });
}

async function putOnce(bucket: Bucket, placement: Placement, putId: string): Promise<PutOutcome> {
  const { slot, wheel, metadata, signal, warn, onProgress } = placement;
  const upload: Upload = {
    key: wheelKey(slot, wheel.filename),
    file: wheel.file,
    size: wheel.size,
    contentType: slot.target === SDIST_TARGET ? 'application/gzip' : 'application/zip',
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
  refuseOthers(bucket, placement, others);
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
  { putId }: OwnPut,
  put: PutOutcome,
): Promise<Found | undefined> {
  const signal = withGracePeriod(placement.signal);
  const { ours: found, sameClaims } = await outlastOthers(bucket, placement, putId, signal);
  if (found === undefined) {
    if (put.outcome === 'created') throw vanished(bucket, placement);
    return undefined;
  }
  // A store without conditions lets a step that listed before our put overwrite the object, and then remove it.
  const isRemovable = !bucket.honoursConditions && sameClaims.some((same) => same.putId !== putId);
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
    const rivals = heads.filter((head) => head !== undefined).map(({ metadata }) => metadata[PUT_ID] ?? '');
    if (!isFirst(putId, rivals) || polls === MAX_RIVAL_POLLS) throw slotTaken(bucket, placement, others);
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
function asStored({ slot, wheel, metadata }: Placement, found: ListedObject): StoredWheel {
  return {
    ...readWheelKey(slot, found.key)!,
    size: wheel.size,
    etag: found.etag,
    lastModified: found.lastModified,
    sha256: wheel.sha256,
    requiresPython: metadata['requires-python'],
    ref: metadata.ref,
  };
}
