/** Writes zip archives byte by byte (PKWARE APPNOTE), so that any field can have an invalid value. */
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** An entry and its invalid fields. */
export interface RawEntry {
  readonly name: string;
  /** Already compressed, if `method` is not 0. */
  readonly data: Buffer;
  readonly method?: number;
  readonly flags?: number;
  /** Size and checksum of the decompressed data. */
  readonly size?: number;
  readonly crc?: number;
  /** Number of zero bytes appended to `data` as a hole in the sparse file, which takes no disk space. */
  readonly hole?: number;
  /** The extra field of the local header. */
  readonly localExtra?: Buffer;
  /** Other values for the local header. */
  readonly local?: { readonly name?: string; readonly crc?: number; readonly compressedSize?: number };
  /** A wrong offset of the local header in the directory. */
  readonly offset?: number;
}

const ZIP64 = 0xffffffff;

/** Writes an archive; with `zip64`, its sizes, offsets and entry count are in zip64 fields. */
export async function writeZip(
  path: string,
  entries: readonly RawEntry[],
  { zip64 = false }: { readonly zip64?: boolean } = {},
): Promise<void> {
  const file = await open(path, 'w');
  try {
    const directory: Buffer[] = [];
    let position = 0;
    for (const entry of entries) {
      directory.push(central(entry, entry.offset ?? position, zip64));
      const header = Buffer.concat([local(entry, zip64), entry.data]);
      await file.write(header, 0, header.length, position);
      position += header.length + (entry.hole ?? 0);
    }
    await writeEnd(file, position, Buffer.concat(directory), entries.length, zip64);
  } finally {
    await file.close();
  }
}

function local(entry: RawEntry, zip64: boolean): Buffer {
  const { compressedSize, size, crc } = sizesOf(entry);
  const name = Buffer.from(entry.local?.name ?? entry.name);
  const extra = entry.localExtra ?? (zip64 ? zip64Field(size, compressedSize) : Buffer.alloc(0));
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(entry.flags ?? 0, 6);
  header.writeUInt16LE(entry.method ?? 0, 8);
  header.writeUInt32LE(entry.local?.crc ?? crc, 14);
  header.writeUInt32LE(zip64 ? ZIP64 : (entry.local?.compressedSize ?? compressedSize), 18);
  header.writeUInt32LE(zip64 ? ZIP64 : size, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, name, extra]);
}

function central(entry: RawEntry, offset: number, zip64: boolean): Buffer {
  const { compressedSize, size, crc } = sizesOf(entry);
  const name = Buffer.from(entry.name);
  const extra = zip64 ? zip64Field(size, compressedSize, offset) : Buffer.alloc(0);
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(zip64 ? 45 : 20, 6);
  header.writeUInt16LE(entry.flags ?? 0, 8);
  header.writeUInt16LE(entry.method ?? 0, 10);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(zip64 ? ZIP64 : compressedSize, 20);
  header.writeUInt32LE(zip64 ? ZIP64 : size, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE(zip64 ? ZIP64 : offset, 42);
  return Buffer.concat([header, name, extra]);
}

function sizesOf({ data, hole = 0, method = 0, size, crc }: RawEntry) {
  const compressedSize = data.length + hole;
  return { compressedSize, size: size ?? compressedSize, crc: crc ?? (method === 0 ? crc32(data) : 0) };
}

function zip64Field(...values: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + values.length * 8);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(values.length * 8, 2);
  for (const [index, value] of values.entries()) extra.writeBigUInt64LE(BigInt(value), 4 + index * 8);
  return extra;
}

async function writeEnd(file: FileHandle, start: number, directory: Buffer, count: number, zip64: boolean) {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(zip64 ? 0xffff : count, 8);
  end.writeUInt16LE(zip64 ? 0xffff : count, 10);
  end.writeUInt32LE(zip64 ? ZIP64 : directory.length, 12);
  end.writeUInt32LE(zip64 ? ZIP64 : start, 16);
  const tail = zip64 ? [directory, zip64End(start, directory.length, count), end] : [directory, end];
  const bytes = Buffer.concat(tail);
  await file.write(bytes, 0, bytes.length, start);
}

function zip64End(start: number, length: number, count: number): Buffer {
  const record = Buffer.alloc(56 + 20);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(length), 40);
  record.writeBigUInt64LE(BigInt(start), 48);
  record.writeUInt32LE(0x07064b50, 56);
  record.writeBigUInt64LE(BigInt(start + length), 64);
  record.writeUInt32LE(1, 72);
  return record;
}
