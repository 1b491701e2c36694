/** Hashes a stretch of an open file. */
import type { Hash } from 'node:crypto';
import { readSync } from 'node:fs';

let buffer: Buffer | undefined;

/**
 * Adds `size` bytes from `offset` to the hash. It reads without waiting for other work: whoever calls it has nothing
 * else to do, or a thread of its own.
 *
 * @param descriptor - of the open file
 * @throws Error when the file ends before that
 */
export function hashStretch(
  hash: Hash,
  descriptor: number,
  { offset, size }: { readonly offset: number; readonly size: number },
): void {
  buffer ??= Buffer.allocUnsafe(1024 * 1024);
  const end = offset + size;
  for (let position = offset; position < end; ) {
    const read = readSync(descriptor, buffer, 0, Math.min(buffer.length, end - position), position);
    if (read === 0) throw new Error('The downloaded file is shorter than what was written to it.');
    hash.update(buffer.subarray(0, read));
    position += read;
  }
}
