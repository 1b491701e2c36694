/** Finds the largest files in a wheel. */
import type { ZipEntry } from './zip.ts';

/** A file in a wheel. Sizes are in bytes. */
export interface PackedFile {
  readonly name: string;
  readonly compressedSize: number;
  readonly size: number;
}

/** A summary of a wheel's files. Sizes are in bytes. */
export interface Inventory {
  /** The number of files, without folders. */
  readonly files: number;
  /** Of all files together. */
  readonly unpackedSize: number;
  /** The files with the largest compressed size, largest first. */
  readonly largest: readonly PackedFile[];
}

/**
 * Summarises a wheel's entries, in one pass and without sorting them, since there may be tens of thousands.
 *
 * @param maxLargest - how many of the largest files to list
 */
export function takeInventory(entries: readonly ZipEntry[], maxLargest: number): Inventory {
  const largest: PackedFile[] = [];
  let files = 0;
  let unpackedSize = 0;
  for (const { name, compressedSize, size } of entries) {
    if (name.endsWith('/')) continue;
    files += 1;
    unpackedSize += size;
    if (largest.length === maxLargest && compressedSize <= largest[maxLargest - 1]!.compressedSize) continue;
    const position = largest.findIndex((file) => file.compressedSize < compressedSize);
    largest.splice(position === -1 ? largest.length : position, 0, { name, compressedSize, size });
    if (largest.length > maxLargest) largest.pop();
  }
  return { files, unpackedSize, largest };
}
