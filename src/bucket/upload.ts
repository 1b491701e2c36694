/** Puts one file as one object, whole or not at all. */
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
import { afterGrace, untilCleanedUp } from './deadline.ts';
import { codeOf, refusesCondition, statusOf } from './failures.ts';
import { writingFields } from './object-settings.ts';
import { inParallel, type Part, partsOf, SINGLE_PUT_BYTES } from './parts.ts';

/** A file to put, and how. */
export interface Upload {
  readonly key: string;
  readonly file: FileHandle;
  /** Bytes. */
  readonly size: number;
  readonly contentType: string;
  readonly cacheControl: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Put only where the key is free (`If-None-Match: *`; S3 user guide, "Conditional writes"). */
  readonly onlyIfAbsent: boolean;
  /** Called when all bytes were read and before the object comes to be; throws when the file has changed. */
  readonly confirmUnchanged: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly warn: Warn;
  /** Told the bytes sent so far: first 0, and 0 again if the upload starts afresh. */
  readonly onProgress?: (bytes: number) => void;
}

/**
 * What became of a put:
 *
 * - `created`: the object is there, with this ETag.
 * - `taken`: another object has the key; or this one, put by an earlier try whose answer was lost.
 * - `unsupported`: the store has no `If-None-Match`, and refused the put because of it.
 * - `unknown`: the put failed or was given up, and the object may be there all the same.
 *
 * `error` explains what went wrong, for whoever gives up because of it.
 */
export type PutOutcome =
  | { readonly outcome: 'created'; readonly etag: string }
  | { readonly outcome: 'taken' }
  | { readonly outcome: 'unsupported'; readonly error: unknown }
  | { readonly outcome: 'unknown'; readonly error: unknown };

const CONFLICT_TRIES = 6;

/**
 * Puts the file. Each request is retried by the SDK from the same buffer; a conflict with another writer
 * (409 ConditionalRequestConflict) starts the upload afresh, as the S3 user guide asks.
 *
 * @throws WheelStoreError when nothing was stored, such as after a refusal. Whatever the outcome, no part of a
 *   multipart upload is left behind.
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

/** @returns undefined when nothing was stored, for a reason that the error alone gives */
function failedOutcome(error: unknown, bucket: Bucket, { onlyIfAbsent }: Upload): PutOutcome | undefined {
  const [status, code] = [statusOf(error), codeOf(error)];
  if (status === 412 || code === 'PreconditionFailed') return { outcome: 'taken' };
  // A completion whose answer was lost is repeated, and finds its upload gone because it is done.
  if (code === 'NoSuchUpload') return { outcome: 'taken' };
  if (onlyIfAbsent && refusesCondition(error, bucket)) return { outcome: 'unsupported', error };
  const isOfFile = error instanceof WheelStoreError && error.cause === undefined;
  const isRefused = status !== undefined && status >= 300 && status < 500;
  return isOfFile || isRefused ? undefined : { outcome: 'unknown', error };
}

async function putAtOnce(bucket: Bucket, upload: Upload): Promise<string> {
  upload.onProgress?.(0);
  const body = Buffer.allocUnsafe(upload.size);
  await readFully(upload, body, 0);
  await upload.confirmUnchanged();
  upload.signal.throwIfAborted();
  const { ETag } = await send(bucket, decisive(upload, upload.size), (client, options) =>
    client.send(
      new PutObjectCommand({ ...objectHeaders(bucket, upload), ...condition(upload), Body: body }),
      options,
    ),
  );
  upload.onProgress?.(upload.size);
  return ETag ?? '';
}

async function putInParts(bucket: Bucket, upload: Upload): Promise<string> {
  const cleanUpSignal = untilCleanedUp(upload.signal);
  const { UploadId } = await send(bucket, decisive(upload), (client, options) =>
    client.send(new CreateMultipartUploadCommand(objectHeaders(bucket, upload)), options),
  );
  const target = { Bucket: bucket.settings.name, Key: upload.key, UploadId };
  try {
    const parts = await sendParts(bucket, upload, target);
    await upload.confirmUnchanged();
    upload.signal.throwIfAborted();
    const { ETag } = await send(bucket, decisive(upload), (client, options) =>
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
    await abandon(bucket, upload, target, cleanUpSignal);
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
  const makeWorker = () => {
    const buffer = Buffer.allocUnsafe(parts[0]!.size);
    return async (part: Part, signal: AbortSignal) => {
      const body = buffer.subarray(0, part.size);
      await readFully(upload, body, part.offset);
      const purpose = { permission: 's3:PutObject', key: upload.key, bytes: part.size, signal };
      const answer = await send(bucket, purpose, (client, options) =>
        client.send(new UploadPartCommand({ ...target, PartNumber: part.number, Body: body }), options),
      );
      sent += part.size;
      upload.onProgress?.(sent);
      const { ETag, ChecksumCRC32, ChecksumCRC64NVME } = answer;
      return { PartNumber: part.number, ETag, ChecksumCRC32, ChecksumCRC64NVME };
    };
  };
  return inParallel(parts, makeWorker, upload.signal);
}

/** Parts of an upload that is neither completed nor aborted stay in the bucket, unseen, and are paid for. */
async function abandon(
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

/** What makes an object besides its bytes, in both kinds of upload. */
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

/** A request that decides whether the object, or its upload, comes to be: it may end when the job is cancelled. */
function decisive({ key, signal }: Upload, bytes = 0): RequestPurpose {
  return { permission: 's3:PutObject', key, bytes, signal: afterGrace(signal) };
}
