/** Copies an object through the memory of this process, for stores that don't copy. Nothing touches the disk. */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../backoff.ts';
import { WheelStoreError } from '../errors.ts';
import type { Bucket } from './bucket.ts';
import type { Copy } from './copy-order.ts';
import { interrupted, openRange, tooManyBytes } from './download.ts';
import { isAbort } from './failures.ts';
import { type ByteSource, type NewObject, type PutOutcome, putFile } from './upload.ts';

/** Tries per range if its body breaks off, as in a download. */
const RANGE_TRIES = 5;

/**
 * Downloads the object and uploads it, a part at a time (S3 API: GetObject, PutObject, UploadPart). The object is created
 * only after all bytes have the expected SHA-256.
 *
 * @param upload - the copy; `onlyIfAbsent` says whether its key must be free
 * @throws WheelStoreError if nothing was stored: the source has changed or has other bytes, or S3 rejects a request
 */
export async function copyThroughMemory(to: Bucket, copy: Copy, upload: NewObject): Promise<PutOutcome> {
  const bytes = hashedBytes(copy);
  return putFile(to, {
    ...upload,
    file: bytes,
    size: copy.source.size,
    async confirmUnchanged() {
      const actual = bytes.digest();
      if (actual !== copy.sha256) throw otherBytes(copy, actual);
    },
  });
}

/**
 * The bytes of the source, and their SHA-256. A hash needs the bytes in order, so each part waits until those before it
 * were read; meanwhile, they can be sent.
 */
function hashedBytes(copy: Copy): ByteSource & { digest(): string } {
  let hash = createHash('sha256');
  let before: Promise<unknown> = Promise.resolve();
  return {
    async read(buffer, offset, length, position, signal) {
      // The upload may restart.
      if (position === 0) {
        hash = createHash('sha256');
        before = Promise.resolve();
      }
      const target = buffer.subarray(offset, offset + length);
      const reading = before.then(() => readRange(copy, target, position, signal));
      before = reading.then(() => hash.update(target));
      await before;
      return { bytesRead: length };
    },
    digest: () => hash.digest('hex'),
  };
}

/**
 * Fills the buffer with bytes of the source. A range that breaks off is resumed where it stopped.
 *
 * @param position - bytes from the beginning of the source
 * @throws WheelStoreError if the object was deleted or replaced, or the connection broke too often
 */
export async function readRange(
  { from, source }: Pick<Copy, 'from' | 'source'>,
  buffer: Buffer,
  position: number,
  signal: AbortSignal,
): Promise<void> {
  let done = 0;
  for (let attempt = 1; done < buffer.length; attempt += 1) {
    try {
      signal.throwIfAborted();
      const rest = { first: position + done, last: position + buffer.length - 1 };
      for await (const chunk of await openRange(from, source, rest, signal)) {
        const bytes = chunk as Buffer;
        // A server that ignores the range would send the whole object.
        if (done + bytes.length > buffer.length) throw tooManyBytes(from, source);
        buffer.set(bytes, done);
        done += bytes.length;
      }
      if (done < buffer.length) throw new Error(`the response ended after ${done} of ${buffer.length} bytes`);
    } catch (error) {
      if (isAbort(error) || signal.aborted || error instanceof WheelStoreError) throw error;
      if (attempt === RANGE_TRIES) throw interrupted(from, source, attempt, error);
      await delay(backoff(attempt, { firstMs: 200 }), undefined, { signal });
    }
  }
}

function otherBytes({ from, source, sha256 }: Copy, actual: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Checksum mismatch',
    reason: `${from.uri(source.key)} was expected to have the SHA-256 ${sha256}, but has ${actual}.`,
    remedy: 'The stored wheel is damaged or was replaced: delete it, and build it again.',
  });
}
