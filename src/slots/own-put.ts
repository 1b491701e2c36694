/** What a step itself has put into a slot, its claim and its wheel, and how it removes them. See ARCHITECTURE.md. */
import { randomUUID } from 'node:crypto';
import type { Bucket } from '../bucket/bucket.ts';
import { cleanUpDeadline, withGracePeriod } from '../bucket/deadline.ts';
import { deleteObject, headObject, putEmptyObject } from '../bucket/objects.ts';
import type { Warn } from '../errors.ts';
import { markerKey, wheelKey } from './layout.ts';
import { listSlotContent, type SlotWheel } from './slot-content.ts';

/** A wheel that a step is placing. */
export interface Placing extends SlotWheel {
  readonly signal: AbortSignal;
  readonly warn: Warn;
  /** Called after the wheel was removed because the step failed. Must return when its signal aborts. */
  readonly onRemoved?: (signal: AbortSignal) => Promise<void>;
}

/** What a step may have to remove. */
export interface OwnPut {
  /** Unique. In the key of the claim, and in the metadata of the wheel. */
  readonly putId: string;
  readonly claim: Claim;
  /** Aborts when clean-up must have ended. */
  readonly cleanUpSignal: AbortSignal;
}

/** The empty object that tells other steps which bytes this step puts or relies on. */
export interface Claim {
  isThere(): boolean;
  /** @throws WheelStoreError if the store rejects the request */
  put(): Promise<void>;
  /** Removes it, if it was put. Warns if that fails. */
  withdraw(): Promise<void>;
}

/** Metadata with the id of the put that created an object, so that a step removes only its own. */
export const PUT_ID = 'put-id';

/** Creates the id for a step's put. Sends nothing. */
export function beginPut(bucket: Bucket, placing: Placing): OwnPut {
  const putId = randomUUID();
  const cleanUpSignal = cleanUpDeadline(placing.signal);
  return { putId, claim: claimOf(bucket, placing, putId, cleanUpSignal), cleanUpSignal };
}

function claimOf(bucket: Bucket, placing: Placing, putId: string, cleanUpSignal: AbortSignal): Claim {
  const { slot, wheel, signal } = placing;
  const key = markerKey(slot, wheel.sha256, putId, 'claim');
  let isThere = false;
  return {
    isThere: () => isThere,
    async put() {
      // If the request fails, the object may exist anyway.
      isThere = true;
      await putEmptyObject(bucket, key, wheelKey(slot, wheel.filename), withGracePeriod(signal));
    },
    async withdraw() {
      if (isThere) await removeMarker(bucket, key, placing, cleanUpSignal);
    },
  };
}

/**
 * Removes the wheel that this step put, unless another step has a claim for the same bytes: that step may have reported
 * them as stored. It puts its claim before it looks for removal markers, and we put our removal marker before we look
 * for claims. So at least one of the two sees the other. Warns if the store rejects a request.
 */
export async function removeOwn(
  bucket: Bucket,
  placing: Placing,
  { putId, cleanUpSignal: signal }: OwnPut,
): Promise<void> {
  const { slot, wheel, warn, onRemoved } = placing;
  const key = wheelKey(slot, wheel.filename);
  try {
    const head = await headObject(bucket, key, signal);
    if (head?.metadata[PUT_ID] !== putId) return;
    const removing = markerKey(slot, wheel.sha256, putId, 'removing');
    await putEmptyObject(bucket, removing, key, signal);
    const { sameClaims } = await listSlotContent(bucket, placing, signal);
    const isNeeded = sameClaims.some((claim) => claim.putId !== putId);
    if (!isNeeded) await deleteObject(bucket, key, signal);
    await removeMarker(bucket, removing, placing, signal);
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
  { warn }: Placing,
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
