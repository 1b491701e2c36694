/** Downloads one object into an open file, in parallel ranges, and hashes it at the same time. */
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { backoff } from '../backoff.ts';
import { WheelStoreError } from '../errors.ts';
import { messageOf } from '../untrusted/foreign-text.ts';
import type { Bucket } from './bucket.ts';
import { send } from './client.ts';
import { deadlinesOf } from './deadline.ts';
import { isAbort, isAbsent, statusOf } from './failures.ts';
import { followFile } from './file-hash.ts';
import type { ListedObject } from './objects.ts';
import { inParallel, type Part, partsOf } from './parts.ts';

/** What to download, and where to. */
export interface Download {
  readonly object: ListedObject;
  /** An empty file, open for reading and writing. */
  readonly file: FileHandle;
  readonly signal: AbortSignal;
  /** Called with the number of bytes received since the last call. */
  readonly onBytes?: (more: number) => void;
}

/** Tries per range if its body breaks off. The SDK's own tries to get a response come on top. */
const RANGE_TRIES = 5;
const WRITE_BYTES = 1024 * 1024;

/**
 * Downloads the object. Every range is requested with the object's ETag (`If-Match`). A range that breaks off is
 * resumed where it stopped.
 *
 * @returns the SHA-256 of the file's content, lower-case hex
 * @throws WheelStoreError if the object was deleted or replaced, or the connection broke too often
 */
export async function downloadObject(bucket: Bucket, download: Download): Promise<string> {
  const parts = partsOf(download.object.size);
  const hash = followFile(download.file, download.object.size);
  try {
    const worker = async (part: Part, signal: AbortSignal) => {
      await downloadPart(bucket, download, part, signal);
      hash.arrived(part);
    };
    await inParallel(parts, worker, download.signal);
    return await hash.digest();
  } finally {
    await hash.close();
  }
}

async function downloadPart(
  bucket: Bucket,
  download: Download,
  part: Part,
  signal: AbortSignal,
): Promise<void> {
  const { object } = download;
  let done = 0;
  const end = process.uptime() + deadlinesOf(bucket.settings.requestTimeout, part.size).total / 1000;
  for (let attempt = 1; done < part.size; attempt += 1) {
    try {
      const rest = { first: part.offset + done, last: part.offset + part.size - 1 };
      for await (const { chunks, size } of inBatches(await openRange(bucket, object, rest, signal))) {
        // A server that ignores the range would send the whole object.
        if (done + size > part.size) throw tooManyBytes(bucket, object);
        await writeFully(download.file, chunks, size, part.offset + done);
        done += size;
        download.onBytes?.(size);
      }
      if (done < part.size) throw new Error(`the response ended after ${done} of ${part.size} bytes`);
    } catch (error) {
      if (isAbort(error) || signal.aborted || error instanceof WheelStoreError || isLocal(error)) throw error;
      if (attempt === RANGE_TRIES || process.uptime() > end)
        throw interrupted(bucket, object, attempt, error);
      await delay(backoff(attempt, { firstMs: 200 }), undefined, { signal });
    }
  }
}

/**
 * Requests a range of an object, bound to its ETag (S3 API, GetObject).
 *
 * @returns the body, which the caller must read or destroy
 * @throws WheelStoreError if the object was deleted or replaced, or the response has another range
 */
export async function openRange(
  bucket: Bucket,
  { key, etag, size }: ListedObject,
  { first, last }: { first: number; last: number },
  signal: AbortSignal,
): Promise<Readable> {
  try {
    const response = await send(
      bucket,
      { permission: 's3:GetObject', key, bytes: last - first + 1, signal },
      (client, options) =>
        client.send(
          new GetObjectCommand({
            Bucket: bucket.settings.name,
            Key: key,
            ...(etag === '' ? {} : { IfMatch: etag }),
            ...(first === 0 && last === size - 1 ? {} : { Range: `bytes=${first}-${last}` }),
          }),
          options,
        ),
    );
    const body = response.Body as Readable;
    const isWhole = first === 0 && last === size - 1;
    const mismatch = mismatchIn({ etag, size }, isWhole ? undefined : { first, last }, response);
    if (mismatch === undefined) return body;
    body.destroy();
    if (mismatch === 'another object') throw changedDuringDownload(bucket, key, 412);
    throw wrongRange(bucket, key, `bytes ${first}-${last}/${size}`, response.ContentRange);
  } catch (error) {
    const status = statusOf(error);
    if (status === 412 || isAbsent(error)) throw changedDuringDownload(bucket, key, status);
    throw error;
  }
}

/**
 * Checks that a response has the object that was listed and the range that was requested. An engine may ignore
 * `If-Match` or `Range` (RFC 9110, sections 13.1.1 and 14.2).
 *
 * @param range - first and last byte; undefined: the whole object was requested
 * @returns undefined if both match
 */
export function mismatchIn(
  listed: Pick<ListedObject, 'etag' | 'size'>,
  range: { readonly first: number; readonly last: number } | undefined,
  response: { readonly ETag?: string | undefined; readonly ContentRange?: string | undefined },
): 'another object' | 'another range' | undefined {
  const [expected, actual] = [bareTag(listed.etag), bareTag(response.ETag ?? '')];
  if (expected !== '' && actual !== '' && expected !== actual) return 'another object';
  const { first, last } = range ?? { first: 0, last: listed.size - 1 };
  if (response.ContentRange === undefined) return range === undefined ? undefined : 'another range';
  const [, from, to, total] = /^bytes ([0-9]+)-([0-9]+)\/([0-9]+|\*)$/.exec(response.ContentRange) ?? [];
  const isRequested = Number(from) === first && Number(to) === last;
  return isRequested && (total === '*' || Number(total) === listed.size) ? undefined : 'another range';
}

/** Proxies may mark an ETag as weak, and some engines omit the quotes. */
export function bareTag(etag: string): string {
  return etag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1');
}

/** Collects chunks into larger writes. A socket delivers 64 KiB at a time, too little to write efficiently. */
async function* inBatches(stream: Readable): AsyncGenerator<{ chunks: Buffer[]; size: number }> {
  let chunks: Buffer[] = [];
  let size = 0;
  let failure: unknown;
  try {
    for await (const chunk of stream) {
      chunks.push(chunk);
      size += chunk.length;
      if (size < WRITE_BYTES) continue;
      yield { chunks, size };
      chunks = [];
      size = 0;
    }
  } catch (error) {
    failure = error;
  }
  // Keep what was received before the connection broke.
  if (size > 0) yield { chunks, size };
  if (failure !== undefined) throw failure;
}

async function writeFully(file: FileHandle, chunks: Buffer[], size: number, position: number): Promise<void> {
  const { bytesWritten } = await file.writev(chunks, position);
  if (bytesWritten === size) return;
  const rest = Buffer.concat(chunks).subarray(bytesWritten);
  for (let done = 0; done < rest.length; ) {
    const more = await file.write(rest, done, rest.length - done, position + bytesWritten + done);
    done += more.bytesWritten;
  }
}

/** Whether the error is of the local disk, such as a full one. Then a retry doesn't help. */
function isLocal(error: unknown): boolean {
  const syscall = (error as NodeJS.ErrnoException | undefined)?.syscall;
  return syscall === 'write' || syscall === 'open' || syscall === 'ftruncate';
}

function changedDuringDownload(bucket: Bucket, key: string, status: number | undefined): WheelStoreError {
  const what = status === 404 ? 'was deleted' : 'was replaced';
  return new WheelStoreError({
    title: 'Wheel changed in the store',
    reason: `${bucket.uri(key)} ${what} while it was being downloaded.`,
    remedy: 'Run the job again; if it happens again, find out what else writes to this prefix.',
  });
}

/** The error for a response with more bytes than the range that was requested. */
export function tooManyBytes(bucket: Bucket, { key, size }: ListedObject): WheelStoreError {
  return new WheelStoreError({
    title: 'Wrong range in response',
    reason: `The store sent more bytes of ${bucket.uri(key)} (${size} bytes) than requested.`,
    remedy: 'This is a bug in the store, or in a proxy in front of it: report it there.',
  });
}

function wrongRange(
  bucket: Bucket,
  key: string,
  requested: string,
  got: string | undefined,
): WheelStoreError {
  const what = got === undefined ? 'no Content-Range' : `Content-Range ${JSON.stringify(got.slice(0, 100))}`;
  return new WheelStoreError({
    title: 'Wrong range in response',
    reason: `The store sent another range of ${bucket.uri(key)} than requested (${what} for ${requested}).`,
    remedy: 'This is a bug in the store, or in a proxy in front of it: report it there.',
  });
}

/** The error for a range that broke off too often. */
export function interrupted(
  bucket: Bucket,
  { key, size }: ListedObject,
  tries: number,
  error: unknown,
): WheelStoreError {
  return new WheelStoreError(
    {
      title: 'Download interrupted',
      reason: `The download of ${bucket.uri(key)} (${size} bytes) was interrupted ${tries} times (${messageOf(error)}).`,
      remedy: 'Check the network between the runner and the store, then run the job again.',
    },
    { cause: error },
  );
}
