/** Copies an object into another bucket or to another key of the same store, completely or not at all. */
import { WheelStoreError } from '../errors.ts';
import type { Bucket } from './bucket.ts';
import { copyInStore } from './copy-in-store.ts';
import type { Copy } from './copy-order.ts';
import { copyThroughMemory } from './copy-through-memory.ts';
import { cleanUpDeadline } from './deadline.ts';
import { bareTag } from './download.ts';
import { isAbsent, refusesCopy } from './failures.ts';
import { deleteObject, headObject, type ObjectHead } from './objects.ts';
import { type Decided, type NewObject, untilDecided } from './upload.ts';

/**
 * How it was proven that the copy has the source's bytes:
 *
 * - `sha256`: the store, or this process, has computed the SHA-256.
 * - `etag`: the copy has the source's ETag, which for most objects is an MD5 (S3 API, "Object").
 * - `size`: the copy has the source's size, and the store has reported a successful copy of the source's ETag.
 */
export type CopyProof = 'sha256' | 'etag' | 'size';

export type { Copy };

/** The outcome of a copy: it was created, or there already is another object with its key. */
export type CopyOutcome =
  | {
      readonly outcome: 'created';
      readonly proof: CopyProof;
      readonly route: 'in the store' | 'through memory';
    }
  | { readonly outcome: 'taken' };

/** The outcome of a request for a copy, with the SHA-256 that the store has computed of it, if any. */
type StoreCopy = Decided<{ readonly sha256: string | undefined }>;

/** The metadata that tells whose put an object is from. */
const PUT_ID = 'put-id';

/**
 * Copies an object only if the key of the copy is free. The store does it (S3 API, CopyObject and UploadPartCopy); if it
 * cannot, the bytes go through the memory of this process, in parts.
 *
 * @param to - the bucket of the copy, at the same endpoint and with the same credentials as the source's
 * @throws WheelStoreError if the source has changed, if the copy has other bytes, or if S3 rejects a request. What this
 *   call has put is removed then, if the store lets us; otherwise it warns. Nothing else is ever deleted.
 */
export async function copyObject(to: Bucket, copy: Copy): Promise<CopyOutcome> {
  const cleanUpSignal = cleanUpDeadline(copy.signal);
  let put: Decided<object> | undefined;
  try {
    const inStore = await putInStore(to, copy);
    if (inStore !== 'refused') put = inStore;
    const proof = inStore === 'refused' ? inStore : await proveCopy(to, copy, inStore);
    if (proof === 'taken') return { outcome: 'taken' };
    if (proof !== 'refused') return { outcome: 'created', proof, route: 'in the store' };
    // If the store has copied the object, but with the source's metadata, then it is overwritten.
    const isFree = put?.outcome !== 'created';
    put = undefined;
    put = await ifAbsent(to, copy, isFree, (upload) => copyThroughMemory(to, copy, upload));
    const isOurs = await isOwn(to, copy, put);
    return isOurs ? { outcome: 'created', proof: 'sha256', route: 'through memory' } : { outcome: 'taken' };
  } catch (error) {
    // Without an outcome, nothing was stored, unless a request was cancelled.
    if (put !== undefined || copy.signal.aborted) await removeOwn(to, copy, cleanUpSignal);
    throw error;
  }
}

/**
 * Puts the object only if there is none. If the store doesn't support the condition, looks for one first.
 *
 * @param onlyIfAbsent - false: replaces any object
 */
async function ifAbsent<Created extends object>(
  to: Bucket,
  copy: Copy,
  onlyIfAbsent: boolean,
  attempt: (upload: NewObject) => Promise<Decided<Created>>,
): Promise<Decided<Created>> {
  const put = await attempt({ ...copy, onlyIfAbsent });
  if (put.outcome !== 'unsupported') return put;
  if ((await headObject(to, copy.key, copy.signal)) !== undefined) return { outcome: 'taken' };
  return attempt({ ...copy, onlyIfAbsent: false });
}

/** @returns `refused` if the store does not copy objects */
async function putInStore(to: Bucket, copy: Copy): Promise<StoreCopy | 'refused'> {
  // A store that ignores the condition would overwrite it.
  const mayOverwrite = !to.honoursConditions;
  if (mayOverwrite && (await headObject(to, copy.key, copy.signal)) !== undefined)
    return { outcome: 'taken' };
  try {
    const put = await ifAbsent(to, copy, true, (upload) =>
      untilDecided(to, upload, () => copyInStore(to, copy, upload)),
    );
    return 'error' in put && refusesCopy(put.error, to) ? 'refused' : put;
  } catch (error) {
    if (refusesCopy(error, to)) return 'refused';
    throw isAbsent(error) ? sourceChanged(copy) : error;
  }
}

/**
 * Checks that the copy is ours and has the source's bytes.
 *
 * @returns `taken` if it isn't ours, `refused` if the store didn't make the copy that was asked for
 */
async function proveCopy(to: Bucket, copy: Copy, put: StoreCopy): Promise<CopyProof | 'taken' | 'refused'> {
  if ('error' in put) throw put.error;
  copy.signal.throwIfAborted();
  const sha256 = put.outcome === 'created' ? put.sha256 : undefined;
  if (sha256 !== undefined && sha256 !== copy.sha256) throw otherBytes(to, copy, `the SHA-256 ${sha256}`);
  if (sha256 !== undefined && to.honoursConditions) return 'sha256';
  const head = await headObject(to, copy.key, copy.signal);
  if (head === undefined) {
    // An engine may compare ETags as text, and list them in another form than it compares.
    if (put.outcome === 'taken' && !to.honoursConditions && (await isSourceThere(copy))) return 'refused';
    throw put.outcome === 'taken' ? sourceChanged(copy) : vanished(to, copy);
  }
  if (head.metadata[PUT_ID] !== copy.metadata[PUT_ID]) {
    return put.outcome === 'created' && (await hasSourceMetadata(copy, head)) ? 'refused' : 'taken';
  }
  if (head.size !== copy.source.size) throw otherBytes(to, copy, `${head.size} bytes`);
  if (sha256 !== undefined) return 'sha256';
  const etag = bareTag(head.etag);
  return etag !== '' && etag === bareTag(copy.source.etag) ? 'etag' : 'size';
}

/** Whether the source is still the object that was listed. */
async function isSourceThere({ from, source, signal }: Copy): Promise<boolean> {
  const head = await headObject(from, source.key, signal);
  return head?.size === source.size && bareTag(head.etag) === bareTag(source.etag);
}

/** Whether the store has ignored the new metadata (S3 API, CopyObject: `x-amz-metadata-directive`). */
async function hasSourceMetadata({ from, source, signal }: Copy, copied: ObjectHead): Promise<boolean> {
  const head = await headObject(from, source.key, signal);
  if (head === undefined || copied.size !== source.size) return false;
  return [PUT_ID, 'sha256'].every((name) => copied.metadata[name] === head.metadata[name]);
}

/** Whether a put through memory created the object. If it found one, that may be from a try whose response was lost. */
async function isOwn(to: Bucket, copy: Copy, put: Decided<object>): Promise<boolean> {
  if ('error' in put) throw put.error;
  copy.signal.throwIfAborted();
  if (put.outcome === 'created') return true;
  const head = await headObject(to, copy.key, copy.signal);
  if (head === undefined) throw vanished(to, copy);
  return head.metadata[PUT_ID] === copy.metadata[PUT_ID];
}

/** Removes the copy if this call has put it. Warns if the store rejects a request. */
async function removeOwn(to: Bucket, { key, metadata, warn }: Copy, signal: AbortSignal): Promise<void> {
  try {
    const head = await headObject(to, key, signal);
    if (head !== undefined && head.metadata[PUT_ID] === metadata[PUT_ID]) await deleteObject(to, key, signal);
  } catch (error) {
    warn(
      `The copy that this step put at ${key} could not be removed. ${(error as Error).message}`,
      'Wheel left in the store',
    );
  }
}

function sourceChanged({ from, source }: Copy): WheelStoreError {
  return new WheelStoreError({
    title: 'Wheel changed in the store',
    reason: `${from.uri(source.key)} was replaced or deleted while it was being copied.`,
    remedy: 'Run the job again; if it happens again, find out what else writes to this prefix.',
  });
}

function vanished(to: Bucket, { key }: Copy): WheelStoreError {
  return new WheelStoreError({
    title: 'Wheel changed in the store',
    reason: `${to.uri(key)} was deleted right after it was put.`,
    remedy: 'Run the job again; if it happens again, find out what else writes to this prefix.',
  });
}

function otherBytes(to: Bucket, { from, source, key, sha256 }: Copy, what: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Checksum mismatch',
    reason: `The copy of ${from.uri(source.key)} (${source.size} bytes, SHA-256 ${sha256}) at ${to.uri(key)} has ${what}.`,
    remedy:
      'Run the job again; if it happens again, the stored wheel or the store is damaged: build it again.',
  });
}
