/** Uploads bytes as one object, completely or not at all. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  type CompleteMultipartUploadCommandOutput,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { backoff } from '../backoff.ts';
import { type Warn, WheelStoreError } from '../errors.ts';
import type { Bucket, RequestPurpose } from './bucket.ts';
import { send } from './client.ts';
import { cleanUpDeadline, withGracePeriod } from './deadline.ts';
import { codeOf, refusesCondition, statusOf } from './failures.ts';
import { writingFields } from './object-settings.ts';
import { inParallel, type Part, partsOf, SINGLE_PUT_BYTES } from './parts.ts';
import { sendBuffers } from './send-buffers.ts';

/** An object to put: everything but its bytes. */
export interface NewObject {
  readonly key: string;
  readonly contentType: string;
  readonly cacheControl: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether to put only if the key is free (`If-None-Match: *`; S3 user guide, "Conditional writes"). */
  readonly onlyIfAbsent: boolean;
  readonly signal: AbortSignal;
  readonly warn: Warn;
}

/** Where the bytes come from, such as a `FileHandle`. The parts are read in order, but several at a time. */
export interface ByteSource {
  /** Reads up to `length` bytes at `position`. Returns 0 at the end. */
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    signal: AbortSignal,
  ): Promise<{ readonly bytesRead: number }>;
}

/** A file to upload, and its headers and options. */
export interface Upload extends NewObject {
  readonly file: ByteSource;
  /** Bytes. */
  readonly size: number;
  /** Called after all bytes were read and before the object is created. Throws if the file has changed. */
  readonly confirmUnchanged: () => Promise<void>;
  /** Called with the number of bytes sent so far: first 0, and 0 again if the upload restarts. */
  readonly onProgress?: (bytes: number) => void;
}

/**
 * The outcome of a put:
 *
 * - `created`: the object was created.
 * - `taken`: there already is an object with the key. It may be ours, if the response to an earlier try was lost.
 * - `unsupported`: the store doesn't support `If-None-Match` and rejected the put because of it.
 * - `unknown`: the put failed or was cancelled, but may have created the object.
 *
 * `error` is the error to throw if the caller gives up.
 */
export type Decided<Created> =
  | ({ readonly outcome: 'created' } & Created)
  | { readonly outcome: 'taken' }
  | { readonly outcome: 'unsupported'; readonly error: unknown }
  | { readonly outcome: 'unknown'; readonly error: unknown };

/** The outcome of a put of bytes, with the ETag of the object that it created. */
export type PutOutcome = Decided<{ readonly etag: string }>;

const CONFLICT_TRIES = 6;

/**
 * Puts the file. The SDK retries each request from the same buffer.
 *
 * @throws WheelStoreError if nothing was stored, for example because the store rejected the put. Whatever the outcome,
 *   no parts of a multipart upload are left behind.
 */
export async function putFile(bucket: Bucket, upload: Upload): Promise<PutOutcome> {
  const put = upload.size <= SINGLE_PUT_BYTES ? putAtOnce : putInParts;
  return untilDecided(bucket, upload, async () => ({ etag: await put(bucket, upload) }));
}

/**
 * Puts an object, and again after a conflict with another writer (409 ConditionalRequestConflict), as the S3 user guide
 * requires ("Conditional writes").
 *
 * @param put - puts it from the beginning, with the condition that `upload` says
 * @throws WheelStoreError if nothing was stored
 */
export async function untilDecided<Created extends object>(
  bucket: Bucket,
  upload: Pick<NewObject, 'onlyIfAbsent' | 'signal'>,
  put: () => Promise<Created>,
): Promise<Decided<Created>> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return { outcome: 'created', ...(await put()) };
    } catch (error) {
      const failed = failedOutcome(error, bucket, upload);
      if (failed !== undefined) return failed;
      if (statusOf(error) !== 409 || attempt === CONFLICT_TRIES) throw error;
      await delay(backoff(attempt, { firstMs: 200 }), undefined, { signal: upload.signal });
    }
  }
}

/** @returns undefined if certainly nothing was stored */
function failedOutcome(
  error: unknown,
  bucket: Bucket,
  { onlyIfAbsent }: Pick<NewObject, 'onlyIfAbsent'>,
): Decided<never> | undefined {
  const [status, code] = [statusOf(error), codeOf(error)];
  if (status === 412 || code === 'PreconditionFailed') return { outcome: 'taken' };
  // If the response to a completion was lost, the retry no longer finds the upload, because it is complete.
  if (code === 'NoSuchUpload') return { outcome: 'taken' };
  if (onlyIfAbsent && refusesCondition(error, bucket)) return { outcome: 'unsupported', error };
  const isAboutFile = error instanceof WheelStoreError && error.cause === undefined;
  const isRefused = status !== undefined && status >= 300 && status < 500;
  return isAboutFile || isRefused ? undefined : { outcome: 'unknown', error };
}

async function putAtOnce(bucket: Bucket, upload: Upload): Promise<string> {
  upload.onProgress?.(0);
  return sendBuffers.use(upload.size, upload.signal, async (body) => {
    await readFully(upload, body, 0, upload.signal);
    await upload.confirmUnchanged();
    upload.signal.throwIfAborted();
    const { ETag } = await send(bucket, putPurpose(upload, upload.size), (client, options) =>
      client.send(
        new PutObjectCommand({ ...objectHeaders(bucket, upload), ...condition(upload), Body: body }),
        options,
      ),
    );
    upload.onProgress?.(upload.size);
    return ETag ?? '';
  });
}

async function putInParts(bucket: Bucket, upload: Upload): Promise<string> {
  const { ETag } = await createInParts(bucket, upload, async (target) => {
    const parts = await sendParts(bucket, upload, target);
    await upload.confirmUnchanged();
    return parts;
  });
  return ETag ?? '';
}

/** A multipart upload that has begun: the fields of the requests about it. */
export interface MultipartTarget {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string | undefined;
}

/**
 * Creates an object by a multipart upload (S3 user guide, "Uploading and copying objects using multipart upload").
 *
 * @param sendParts - sends all parts, and throws if the object must not be created. None is still being sent when it
 *   returns or throws.
 * @returns the response to the completion
 * @throws any error of the requests and of `sendParts`, after the multipart upload was aborted; warns if that fails
 */
export async function createInParts(
  bucket: Bucket,
  upload: NewObject,
  sendParts: (target: MultipartTarget) => Promise<CompletedPart[]>,
): Promise<CompleteMultipartUploadCommandOutput> {
  const cleanUpSignal = cleanUpDeadline(upload.signal);
  const { UploadId } = await send(bucket, putPurpose(upload), (client, options) =>
    client.send(new CreateMultipartUploadCommand(objectHeaders(bucket, upload)), options),
  );
  const target = { Bucket: bucket.settings.name, Key: upload.key, UploadId };
  try {
    const parts = await sendParts(target);
    upload.signal.throwIfAborted();
    return await send(bucket, putPurpose(upload), (client, options) =>
      client.send(
        new CompleteMultipartUploadCommand({
          ...target,
          ...condition(upload),
          MultipartUpload: { Parts: parts },
        }),
        options,
      ),
    );
  } catch (error) {
    await abortUpload(bucket, upload, target, cleanUpSignal);
    throw error;
  }
}

async function sendParts(bucket: Bucket, upload: Upload, target: MultipartTarget): Promise<CompletedPart[]> {
  const parts = partsOf(upload.size);
  let sent = 0;
  upload.onProgress?.(sent);
  const sendPart = (part: Part, signal: AbortSignal) =>
    sendBuffers.use(part.size, signal, async (body) => {
      await readFully(upload, body, part.offset, signal);
      const purpose = { permission: 's3:PutObject', key: upload.key, bytes: part.size, signal };
      const response = await send(bucket, purpose, (client, options) =>
        client.send(new UploadPartCommand({ ...target, PartNumber: part.number, Body: body }), options),
      );
      sent += part.size;
      upload.onProgress?.(sent);
      const { ETag, ChecksumCRC32, ChecksumCRC64NVME } = response;
      return { PartNumber: part.number, ETag, ChecksumCRC32, ChecksumCRC64NVME };
    });
  return inParallel(parts, sendPart, upload.signal);
}

/** Without this, the parts would stay in the bucket, invisible but charged for. */
async function abortUpload(
  bucket: Bucket,
  upload: NewObject,
  target: MultipartTarget,
  signal: AbortSignal,
): Promise<void> {
  try {
    const purpose = { permission: 's3:AbortMultipartUpload', key: upload.key, signal };
    await send(bucket, purpose, (client, options) =>
      client.send(new AbortMultipartUploadCommand(target), options),
    );
  } catch (error) {
    if (statusOf(error) === 404) return;
    upload.warn(
      `The parts that were uploaded for ${upload.key} could not be removed; a life-cycle rule with AbortIncompleteMultipartUpload removes them. ${(error as Error).message}`,
      'Parts left in the store',
    );
  }
}

async function readFully(
  { file, key }: Upload,
  buffer: Buffer,
  offset: number,
  signal: AbortSignal,
): Promise<void> {
  for (let done = 0; done < buffer.length; ) {
    const { bytesRead } = await file.read(buffer, done, buffer.length - done, offset + done, signal);
    if (bytesRead === 0) {
      throw new WheelStoreError({
        title: 'Wheel changed',
        reason: `The wheel became shorter while it was being uploaded to ${key}.`,
        remedy: 'Let the build finish before this step.',
      });
    }
    done += bytesRead;
  }
}

/** The fields of the object besides its bytes, for puts, multipart uploads and copies. */
export function objectHeaders(bucket: Bucket, upload: NewObject): CreateMultipartUploadCommandInput {
  return {
    Bucket: bucket.settings.name,
    Key: upload.key,
    ContentType: upload.contentType,
    CacheControl: upload.cacheControl,
    Metadata: { ...upload.metadata },
    ...writingFields(bucket.settings.writing, 'wheel'),
  };
}

/** The field of the request that creates the object (S3 user guide, "Conditional writes"). */
export function condition({ onlyIfAbsent }: Pick<NewObject, 'onlyIfAbsent'>): { IfNoneMatch?: string } {
  return onlyIfAbsent ? { IfNoneMatch: '*' } : {};
}

/** For requests that create the object or its multipart upload. They may finish after the job is cancelled. */
export function putPurpose({ key, signal }: Pick<NewObject, 'key' | 'signal'>, bytes = 0): RequestPurpose {
  return { permission: 's3:PutObject', key, bytes, signal: withGracePeriod(signal) };
}
