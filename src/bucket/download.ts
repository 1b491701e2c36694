/** Reads one object into one open file, in parallel ranges, hashing as it comes. */
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

/** What to read, and where to. */
export interface Download {
  readonly object: ListedObject;
  /** An empty file, open for reading and writing. */
  readonly file: FileHandle;
  readonly signal: AbortSignal;
  /** Told how many more bytes have arrived. */
  readonly onBytes?: (more: number) => void;
}

/** Tries per range, on top of the SDK's own tries to get an answer at all. */
const RANGE_TRIES = 5;
const WRITE_BYTES = 1024 * 1024;

/**
 * Downloads the object. Every range is bound to the object's ETag (`If-Match`), is written in place, and is
 * asked for again from where it broke off.
 *
 * @returns the SHA-256 of what is now in the file, lower-case hex
 * @throws WheelStoreError when the object is gone, was changed meanwhile, or the line broke too often
 */
export async function downloadObject(bucket: Bucket, download: Download): Promise<string> {
  const parts = partsOf(download.object.size);
  const hash = followFile(download.file, download.object.size);
  try {
    const worker = async (part: Part, signal: AbortSignal) => {
      await downloadPart(bucket, download, part, signal);
      hash.arrived(part);
    };
    await inParallel(parts, () => worker, download.signal);
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
  const end = process.uptime() + deadlinesOf(bucket.settings.requestTimeout, part.size).all / 1000;
  for (let attempt = 1; done < part.size; attempt += 1) {
    try {
      const rest = { first: part.offset + done, last: part.offset + part.size - 1 };
      for await (const { chunks, size } of inBatches(await openRange(bucket, object, rest, signal))) {
        // A server that ignores the range would send the whole object into the place of a part.
        if (done + size > part.size) throw unwantedBytes(bucket, object);
        await writeFully(download.file, chunks, size, part.offset + done);
        done += size;
        download.onBytes?.(size);
      }
      if (done < part.size) throw new Error(`the answer ended after ${done} of ${part.size} bytes`);
    } catch (error) {
      if (isAbort(error) || signal.aborted || error instanceof WheelStoreError || isLocal(error)) throw error;
      if (attempt === RANGE_TRIES || process.uptime() > end) throw brokenOff(bucket, object, attempt, error);
      await delay(backoff(attempt, { firstMs: 200 }), undefined, { signal });
    }
  }
}

async function openRange(
  bucket: Bucket,
  { key, etag, size }: ListedObject,
  { first, last }: { first: number; last: number },
  signal: AbortSignal,
): Promise<Readable> {
  try {
    const answer = await send(
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
    const body = answer.Body as Readable;
    const isWhole = first === 0 && last === size - 1;
    const doubt = doubtOf({ etag, size }, isWhole ? undefined : { first, last }, answer);
    if (doubt === undefined) return body;
    body.destroy();
    if (doubt === 'another object') throw changedMeanwhile(bucket, key, 412);
    throw otherRange(bucket, key, `bytes ${first}-${last}/${size}`, answer.ContentRange);
  } catch (error) {
    const status = statusOf(error);
    if (status === 412 || isAbsent(error)) throw changedMeanwhile(bucket, key, status);
    throw error;
  }
}

/**
 * Whether an answer is of the object that was listed, and of the range that was asked for: an engine may not know
 * `If-Match` or `Range`, and answers as if it had been asked without (RFC 9110, sections 13.1.1 and 14.2).
 *
 * @param range - first and last byte; undefined: the whole object was asked for
 */
export function doubtOf(
  listed: Pick<ListedObject, 'etag' | 'size'>,
  range: { readonly first: number; readonly last: number } | undefined,
  answer: { readonly ETag?: string | undefined; readonly ContentRange?: string | undefined },
): 'another object' | 'another range' | undefined {
  const [expected, actual] = [bareTag(listed.etag), bareTag(answer.ETag ?? '')];
  if (expected !== '' && actual !== '' && expected !== actual) return 'another object';
  const { first, last } = range ?? { first: 0, last: listed.size - 1 };
  if (answer.ContentRange === undefined) return range === undefined ? undefined : 'another range';
  const [, from, to, total] = /^bytes ([0-9]+)-([0-9]+)\/([0-9]+|\*)$/.exec(answer.ContentRange) ?? [];
  const isAsked = Number(from) === first && Number(to) === last;
  return isAsked && (total === '*' || Number(total) === listed.size) ? undefined : 'another range';
}

/** Proxies mark a tag as weak, and some engines leave its quotes out. */
function bareTag(etag: string): string {
  return etag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1');
}

/** A write costs more than it moves when it moves 64 KiB, which is what a socket gives at a time. */
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
  // What came before a line broke need not come again.
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

/** A full disk or a lost folder does not heal by asking S3 again. */
function isLocal(error: unknown): boolean {
  const syscall = (error as NodeJS.ErrnoException | undefined)?.syscall;
  return syscall === 'write' || syscall === 'open' || syscall === 'ftruncate';
}

function changedMeanwhile(bucket: Bucket, key: string, status: number | undefined): WheelStoreError {
  const what = status === 404 ? 'was deleted' : 'was replaced';
  return new WheelStoreError({
    title: 'Wheel changed in the store',
    reason: `${bucket.uri(key)} ${what} while it was being downloaded.`,
    remedy: 'Run the job again; if it happens again, find out what else writes to this prefix.',
  });
}

function unwantedBytes(bucket: Bucket, { key, size }: ListedObject): WheelStoreError {
  return new WheelStoreError({
    title: 'Wrong range in response',
    reason: `The store sent more bytes of ${bucket.uri(key)} (${size} bytes) than requested.`,
    remedy: 'This is a bug in the store, or in a proxy in front of it: report it there.',
  });
}

function otherRange(bucket: Bucket, key: string, asked: string, got: string | undefined): WheelStoreError {
  const what = got === undefined ? 'no Content-Range' : `Content-Range ${JSON.stringify(got.slice(0, 100))}`;
  return new WheelStoreError({
    title: 'Wrong range in response',
    reason: `The store sent another range of ${bucket.uri(key)} than requested (${what} for ${asked}).`,
    remedy: 'This is a bug in the store, or in a proxy in front of it: report it there.',
  });
}

function brokenOff(
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
