/** Uploads one file as one object, completely or not at all. */
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
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

/** A file to upload, and its headers and options. */
export interface Upload {
  readonly key: string;
  readonly file: FileHandle;
  /** Bytes. */
  readonly size: number;
  readonly contentType: string;
  readonly cacheControl: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether to put only if the key is free (`If-None-Match: *`; S3 user guide, "Conditional writes"). */
  readonly onlyIfAbsent: boolean;
  /** Called after all bytes were read and before the object is created. Throws if the file has changed. */
  readonly confirmUnchanged: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly warn: Warn;
  /** Called with the number of bytes sent so far: first 0, and 0 again if the upload restarts. */
  readonly onProgress?: (bytes: number) => void;
}

/**
 * The outcome of a put:
 *
 * - `created`: the object was created, with this ETag.
 * - `taken`: there already is an object with the key. It may be ours, if the response to an earlier try was lost.
 * - `unsupported`: the store doesn't support `If-None-Match` and rejected the put because of it.
 * - `unknown`: the put failed or was cancelled, but may have created the object.
 *
 * `error` is the error to throw if the caller gives up.
 */
export type PutOutcome =
  | { readonly outcome: 'created'; readonly etag: string }
  | { readonly outcome: 'taken' }
  | { readonly outcome: 'unsupported'; readonly error: unknown }
  | { readonly outcome: 'unknown'; readonly error: unknown };

const CONFLICT_TRIES = 6;

/**
 * Puts the file. The SDK retries each request from the same buffer. After a conflict with another writer
 * (409 ConditionalRequestConflict), the upload restarts, as the S3 user guide requires.
 *
 * @throws WheelStoreError if nothing was stored, for example because the store rejected the put. Whatever the outcome,
 *   no parts of a multipart upload are left behind.
 */
export async function putFile(bucket: Bucket, upload: Upload): Promise<PutOutcome> {
  const put = upload.size <= SINGLE_PUT_BYTES ? putAtOnce : putInParts;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return { outcome: 'created', etag: await put(bucket, upload) };
    } catch (error) {
      const failed = failedOutcome(error, bucket, upload);
      if (failed !== undefined) return failed;
      if (statusOf(error) !== 409 || attempt === CONFLICT_TRIES) throw error;
      await delay(backoff(attempt, { firstMs: 200 }), undefined, { signal: upload.signal });
    }
  }
}

/** @returns undefined if certainly nothing was stored */
function failedOutcome(error: unknown, bucket: Bucket, { onlyIfAbsent }: Upload): PutOutcome | undefined {
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
    await readFully(upload, body, 0);
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
  const cleanUpSignal = cleanUpDeadline(upload.signal);
  const { UploadId } = await send(bucket, putPurpose(upload), (client, options) =>
    client.send(new CreateMultipartUploadCommand(objectHeaders(bucket, upload)), options),
  );
  const target = { Bucket: bucket.settings.name, Key: upload.key, UploadId };
  try {
    const parts = await sendParts(bucket, upload, target);
    await upload.confirmUnchanged();
    upload.signal.throwIfAborted();
    const { ETag } = await send(bucket, putPurpose(upload), (client, options) =>
      client.send(
        new CompleteMultipartUploadCommand({
          ...target,
          ...condition(upload),
          MultipartUpload: { Parts: parts },
        }),
        options,
      ),
    );
    return ETag ?? '';
  } catch (error) {
    await abortUpload(bucket, upload, target, cleanUpSignal);
    throw error;
  }
}

interface MultipartTarget {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string | undefined;
}

async function sendParts(bucket: Bucket, upload: Upload, target: MultipartTarget): Promise<CompletedPart[]> {
  const parts = partsOf(upload.size);
  let sent = 0;
  upload.onProgress?.(sent);
  const sendPart = (part: Part, signal: AbortSignal) =>
    sendBuffers.use(part.size, signal, async (body) => {
      await readFully(upload, body, part.offset);
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
  upload: Upload,
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

async function readFully({ file, key }: Upload, buffer: Buffer, offset: number): Promise<void> {
  for (let done = 0; done < buffer.length; ) {
    const { bytesRead } = await file.read(buffer, done, buffer.length - done, offset + done);
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

/** The fields of the object besides its bytes, for both kinds of upload. */
function objectHeaders(bucket: Bucket, upload: Upload): CreateMultipartUploadCommandInput {
  return {
    Bucket: bucket.settings.name,
    Key: upload.key,
    ContentType: upload.contentType,
    CacheControl: upload.cacheControl,
    Metadata: { ...upload.metadata },
    ...writingFields(bucket.settings.writing, 'wheel'),
  };
}

function condition({ onlyIfAbsent }: Upload): { IfNoneMatch?: string } {
  return onlyIfAbsent ? { IfNoneMatch: '*' } : {};
}

/** For requests that create the object or its multipart upload. They may finish after the job is cancelled. */
function putPurpose({ key, signal }: Upload, bytes = 0): RequestPurpose {
  return { permission: 's3:PutObject', key, bytes, signal: withGracePeriod(signal) };
}
