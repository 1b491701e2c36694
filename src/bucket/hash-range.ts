/** Hashes a range of an open file. */
import type { Hash } from 'node:crypto';
import { readSync } from 'node:fs';

let buffer: Buffer | undefined;

/**
 * Adds `size` bytes from `offset` to the hash. Reads synchronously, so call it only for small files or in a separate
 * thread.
 *
 * @param descriptor - of the open file
 * @throws Error if the file ends before the range does
 */
export function hashRange(
  hash: Hash,
  descriptor: number,
  { offset, size }: { readonly offset: number; readonly size: number },
): void {
  buffer ??= Buffer.allocUnsafe(1024 * 1024);
  const end = offset + size;
  for (let position = offset; position < end; ) {
    const read = readSync(descriptor, buffer, 0, Math.min(buffer.length, end - position), position);
    if (read === 0) throw new Error('The downloaded file is shorter than the data written to it.');
    hash.update(buffer.subarray(0, read));
    position += read;
  }
}
