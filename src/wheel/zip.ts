/** Reads the directory of a zip archive and single entries, but never the whole archive. */
import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import yauzl from 'yauzl';
import { WheelStoreError } from '../errors.ts';
import { quote } from '../untrusted/quote.ts';
import { BlockReader } from './block-reader.ts';
import { broken } from './broken.ts';
import type { ByteSource } from './byte-source.ts';
import { COMPRESSIONS, decompress, isReadable } from './compression.ts';
import { findZipEnd, type ZipEnd } from './zip-end.ts';

/** A file or folder in the archive. Sizes and offsets are in bytes. */
export interface ZipEntry {
  readonly name: string;
  /** Compression method (PKWARE APPNOTE 4.4.5). */
  readonly method: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly size: number;
  /** Offset of its data from the beginning of the archive. */
  readonly dataStart: number;
  /** Offset of its local header from the beginning of the archive. */
  readonly headerStart: number;
  /** Whether a zip64 field has the wrong length (APPNOTE 4.5.3). */
  readonly hasFaultyZip64: boolean;
}

/** A zip archive that is open for reading. */
export interface Archive {
  /** In the order of the directory. */
  readonly entries: readonly ZipEntry[];
  /** Number of bytes in the file before and after the archive. */
  readonly around: { readonly before: number; readonly after: number };
  /**
   * Reads one entry into memory.
   *
   * @param maxBytes - of its compressed and its unpacked data
   * @throws WheelStoreError if it is larger, damaged, or its compression method is not supported
   */
  read(entry: ZipEntry, maxBytes: number): Promise<Buffer>;
}

/** The directory of a zip archive, without the local headers of its entries. */
export interface Directory {
  /** In the order of the directory. */
  readonly entries: readonly { readonly name: string }[];
  /**
   * Reads one of these entries into memory.
   *
   * @param maxBytes - of its compressed and its unpacked data
   * @throws WheelStoreError if it is larger, damaged, or its compression method is not supported
   */
  read(entry: { readonly name: string }, maxBytes: number): Promise<Buffer>;
}

/** APPNOTE 4.4.3: the newest that Python's zipfile reads; 6.3 added LZMA. */
const NEWEST_FORMAT = 63;
/** APPNOTE 4.4.4: encrypted, patch data, strong encryption. */
const UNREADABLE_FLAGS = 0x1 | 0x20 | 0x40;
const UTF8_FLAG = 0x800;
/** Sizes and CRC follow the data instead of being in the local header. */
const DESCRIPTOR_FLAG = 0x8;
const ZIP64_MARK = 0xffffffff;
/** The largest real wheels have about 50,000 entries. */
const MAX_ENTRIES = 1_000_000;
const MAX_DIRECTORY_BYTES = 256 * 1024 * 1024;

/**
 * Reads and checks the directory of a zip archive (PKWARE APPNOTE). Each entry's data must be in the file, before the
 * directory, after a local header with the same name, and must not overlap other entries.
 *
 * @param file - must stay open as long as the archive is used
 * @param filename - for error messages
 * @throws WheelStoreError if the archive is damaged or cut off
 */
export async function readArchive(file: FileHandle, filename: string): Promise<Archive> {
  const end = await findDirectory(file, (await file.stat()).size, filename);
  const entries = await readDirectory(new BlockReader(file, end.shift), end, filename);
  checkPositions(entries, end, filename);
  return {
    entries,
    around: { before: end.shift, after: end.trailing },
    read: (entry, maxBytes) => readEntry(file, end.shift, entry, maxBytes, filename),
  };
}

/**
 * Reads only the directory of a zip archive, and later single entries: a few reads, of an object in the store as well. The
 * other entries are not checked.
 *
 * @param size - of all bytes
 * @param filename - for error messages
 * @throws WheelStoreError if the directory is damaged or cut off
 */
export async function readDirectoryOnly(
  source: ByteSource,
  size: number,
  filename: string,
): Promise<Directory> {
  const end = await findDirectory(source, size, filename);
  const { zip, raw } = await listDirectory(new BlockReader(source, end.shift), end, filename);
  const entries = raw.map(({ entry }) => ({ name: nameOf(entry, filename), entry }));
  return {
    entries,
    async read({ name }, maxBytes) {
      // Of several entries with the same name, Python's zipfile, and therefore pip, reads the last.
      const { entry } = entries.findLast((candidate) => candidate.name === name)!;
      const read = await readHeader(zip, entry, filename);
      return readEntry(source, end.shift, read, maxBytes, filename);
    },
  };
}

async function findDirectory(source: ByteSource, size: number, filename: string): Promise<ZipEnd> {
  const end = await findZipEnd(source, size, filename);
  const bytes = end.directory.end - end.directory.start;
  if (end.entries <= MAX_ENTRIES && bytes <= MAX_DIRECTORY_BYTES) return end;
  throw broken(
    filename,
    `has ${end.entries} entries in a directory of ${bytes} bytes, more than ${MAX_ENTRIES} entries or ${MAX_DIRECTORY_BYTES} bytes`,
  );
}

/** A record of the directory, and where it begins in the archive. */
interface RawEntry {
  readonly entry: yauzl.Entry;
  readonly position: number;
}

async function listDirectory(
  reader: BlockReader,
  end: ZipEnd,
  filename: string,
): Promise<{ readonly zip: yauzl.ZipFile; readonly raw: readonly RawEntry[] }> {
  const { start, end: stop } = end.directory;
  const zip = new yauzl.ZipFile(
    reader,
    start - end.shift,
    stop - end.shift,
    end.entries,
    '',
    false,
    true,
    false,
    false,
  );
  // Two passes, first the directory and then the local headers, so that each reads forwards.
  const raw: RawEntry[] = [];
  let bytes = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      raw.push({ entry, position: start - end.shift + bytes });
      bytes += 46 + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    }
  } catch (error) {
    throw broken(filename, `has a damaged directory (${(error as Error).message})`, error);
  }
  if (bytes !== stop - start) {
    throw broken(filename, `has a damaged directory (it takes ${stop - start} bytes, its entries ${bytes})`);
  }
  return { zip, raw };
}

async function readDirectory(reader: BlockReader, end: ZipEnd, filename: string): Promise<ZipEntry[]> {
  const { zip, raw } = await listDirectory(reader, end, filename);
  const entries: ZipEntry[] = [];
  for (const { entry, position } of raw) {
    const { header, ...read } = await readHeader(zip, entry, filename);
    const isFaulty = hasFaultyField(header) || (await hasFaultyRecord(reader, entry, position));
    entries.push({ ...read, hasFaultyZip64: isFaulty });
  }
  return entries;
}

/** In a local header, a zip64 field contains both sizes. */
function hasFaultyField({ extraField, compressedSize, uncompressedSize }: yauzl.LocalFileHeader): boolean {
  if (extraField.length === 0) return false;
  const isMarked = compressedSize === ZIP64_MARK || uncompressedSize === ZIP64_MARK;
  return zip64Lengths(yauzl.parseExtraFields(extraField)).some((length) => length !== (isMarked ? 16 : 0));
}

/** In the directory, a zip64 field contains exactly the values that are marked as being in it. */
async function hasFaultyRecord(reader: BlockReader, entry: yauzl.Entry, position: number): Promise<boolean> {
  const [length, ...others] = zip64Lengths(entry.extraFields);
  if (length === undefined) return false;
  const record = Buffer.alloc(46);
  await promisify(reader.read.bind(reader))(record, 0, record.length, position);
  const marks = [20, 24, 42].filter((offset) => record.readUInt32LE(offset) === ZIP64_MARK).length;
  const disk = record.readUInt16LE(34) === 0xffff ? 4 : 0;
  return others.length > 0 || length !== marks * 8 + disk;
}

function zip64Lengths(fields: readonly yauzl.ExtraField[]): number[] {
  return fields.filter(({ id }) => id === 1).map(({ data }) => data.length);
}

/** An entry and its local header. */
type WithHeader = Omit<ZipEntry, 'hasFaultyZip64'> & { readonly header: yauzl.LocalFileHeader };

async function readHeader(zip: yauzl.ZipFile, entry: yauzl.Entry, filename: string): Promise<WithHeader> {
  const name = nameOf(entry, filename);
  checkReadable(entry, name, filename);
  const header = await zip.readLocalFileHeaderPromise(entry).catch((error: Error) => {
    throw broken(filename, `is damaged at its entry ${quote(name)} (${error.message})`, error);
  });
  if (!header.fileName.equals(entry.fileNameRaw) || hasUtf8Name(header) !== hasUtf8Name(entry)) {
    throw broken(filename, `names an entry ${quote(name)} in its directory, and another one in its place`);
  }
  if (!headersAgree(header, entry)) {
    throw broken(filename, `has two sizes or checksums for its entry ${quote(name)}`);
  }
  return {
    header,
    name,
    method: entry.compressionMethod,
    crc32: entry.crc32,
    compressedSize: entry.compressedSize,
    size: entry.uncompressedSize,
    dataStart: header.fileDataStart,
    headerStart: entry.relativeOffsetOfLocalHeader,
  };
}

function nameOf(entry: yauzl.Entry, filename: string): string {
  const { fileNameRaw, generalPurposeBitFlag } = entry;
  if (hasUtf8Name(entry) && !isUtf8(fileNameRaw)) {
    throw broken(filename, `has an entry ${quote(fileNameRaw.toString('latin1'))} whose name is not UTF-8`);
  }
  return yauzl.getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, [], true);
}

function hasUtf8Name({ generalPurposeBitFlag }: { readonly generalPurposeBitFlag: number }): boolean {
  return (generalPurposeBitFlag & UTF8_FLAG) !== 0;
}

function checkReadable(entry: yauzl.Entry, name: string, filename: string): void {
  if ((entry.generalPurposeBitFlag & UNREADABLE_FLAGS) !== 0) {
    throw broken(filename, `has an encrypted entry ${quote(name)}`);
  }
  // Some tools put the operating system into the upper byte.
  const format = entry.versionNeededToExtract & 0xff;
  if (!COMPRESSIONS.has(entry.compressionMethod) || format > NEWEST_FORMAT) {
    throw broken(
      filename,
      `has an entry ${quote(name)} that Python cannot decompress (method ${entry.compressionMethod}, version ${format})`,
    );
  }
  if (entry.compressionMethod === 0 && entry.compressedSize !== entry.uncompressedSize) {
    throw broken(filename, `has an entry ${quote(name)} with two sizes, though it is not compressed`);
  }
  if (entry.uncompressedSize === 0 && entry.crc32 !== 0) {
    throw broken(filename, `has an empty entry ${quote(name)} with a checksum of something else`);
  }
}

/** Streaming writers leave zeros in the local header; with zip64, the sizes are elsewhere. */
function headersAgree(header: yauzl.LocalFileHeader, entry: yauzl.Entry): boolean {
  if ((header.generalPurposeBitFlag & DESCRIPTOR_FLAG) !== 0) return true;
  if (header.compressionMethod !== entry.compressionMethod) return false;
  const pairs = [
    [header.crc32, entry.crc32],
    [header.compressedSize, entry.compressedSize],
    [header.uncompressedSize, entry.uncompressedSize],
  ] as const;
  if (pairs.every(([local]) => local === 0)) return true;
  return pairs.every(([local, central], index) => local === central || (index > 0 && local === ZIP64_MARK));
}

/** Zip bombs are built from entries with overlapping data; Python refuses them too. */
function checkPositions(entries: readonly ZipEntry[], { directory, shift }: ZipEnd, filename: string): void {
  const sorted = entries.toSorted((a, b) => a.headerStart - b.headerStart);
  for (const [index, { name, dataStart, compressedSize }] of sorted.entries()) {
    const limit = sorted[index + 1]?.headerStart ?? directory.start - shift;
    if (dataStart + compressedSize > limit) {
      throw broken(filename, `is damaged or cut off: its entry ${quote(name)} is not where it should be`);
    }
  }
}

async function readEntry(
  file: ByteSource,
  shift: number,
  entry: Omit<ZipEntry, 'hasFaultyZip64'>,
  maxBytes: number,
  filename: string,
): Promise<Buffer> {
  const { name, size, compressedSize } = entry;
  if (!isReadable(entry.method)) throw unsupportedMethod(entry, filename);
  if (size > maxBytes || compressedSize > maxBytes) {
    throw broken(
      filename,
      `has a ${quote(name)} of ${Math.max(size, compressedSize)} bytes, more than ${maxBytes}`,
    );
  }
  const data = Buffer.alloc(compressedSize);
  await file.read(data, 0, compressedSize, entry.dataStart + shift);
  try {
    const content = await decompress(entry.method, data, size);
    if (crc32(content) !== entry.crc32) throw new Error('its checksum differs');
    return content;
  } catch (error) {
    throw broken(filename, `has a damaged ${quote(name)} (${(error as Error).message})`, error);
  }
}

function unsupportedMethod(
  { name, method }: Pick<ZipEntry, 'name' | 'method'>,
  filename: string,
): WheelStoreError {
  return new WheelStoreError({
    title: 'Wheel unreadable',
    reason: `${quote(filename)} has a ${quote(name)} in ${COMPRESSIONS.get(method)}, so the wheel's metadata cannot be checked.`,
    remedy: 'Compress the wheel with deflate, as all build backends and "wheel pack" do.',
  });
}
