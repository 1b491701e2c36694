/** What takes the room in a wheel. */
import type { ZipEntry } from './zip.ts';

/** A file in a wheel. Sizes are in bytes. */
export interface PackedFile {
  readonly name: string;
  readonly compressedSize: number;
  readonly size: number;
}

/** What a wheel is made of. Sizes are in bytes. */
export interface Inventory {
  /** How many files it holds; folders are none. */
  readonly files: number;
  /** Of all files together, unpacked. */
  readonly unpackedSize: number;
  /** Those that take the most room in the wheel, largest first. */
  readonly largest: readonly PackedFile[];
}

/**
 * Sums a wheel's directory up, in one pass and without sorting it: it may have tens of thousands of entries.
 *
 * @param most - how many of the largest files are named
 */
export function takeInventory(entries: readonly ZipEntry[], most: number): Inventory {
  const largest: PackedFile[] = [];
  let files = 0;
  let unpackedSize = 0;
  for (const { name, compressedSize, size } of entries) {
    if (name.endsWith('/')) continue;
    files += 1;
    unpackedSize += size;
    if (largest.length === most && compressedSize <= largest[most - 1]!.compressedSize) continue;
    const position = largest.findIndex((file) => file.compressedSize < compressedSize);
    largest.splice(position === -1 ? largest.length : position, 0, { name, compressedSize, size });
    if (largest.length > most) largest.pop();
  }
  return { files, unpackedSize, largest };
}
