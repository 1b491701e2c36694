/** Locates a zip archive within a file, starting from its end record. */
import { broken } from './broken.ts';
import type { ByteSource } from './byte-source.ts';

/** The position of a zip archive in a file that may have other bytes before and after it. */
export interface ZipEnd {
  /** Number of bytes before the archive, which must be added to every offset in it. */
  readonly shift: number;
  /** The byte range of the directory in the file. */
  readonly directory: { readonly start: number; readonly end: number };
  /** Number of entries. */
  readonly entries: number;
  /** Number of bytes after the archive. */
  readonly trailing: number;
}

/** The fields of the end record, in either of its two forms. */
interface EndRecord {
  readonly disk: number;
  readonly entries: number;
  readonly size: number;
  readonly offset: number;
  /** Where the record begins in the tail that was read; the directory ends there. */
  readonly start: number;
}

// APPNOTE 4.3.14 to 4.3.16, in this order: the zip64 record, its locator, the end record.
const END_BYTES = 22;
const LOCATOR_BYTES = 20;
const ZIP64_END_BYTES = 56;
const MAX_COMMENT_BYTES = 0xffff;
const END_SIGNATURE = Buffer.from('PK\x05\x06', 'latin1');
const LOCATOR_SIGNATURE = 0x07064b50;
const ZIP64_END_SIGNATURE = 0x06064b50;

/**
 * Finds the end of a zip archive as Python's zipfile does (PKWARE APPNOTE 4.3.14 to 4.3.16). Unlike yauzl, it accepts
 * bytes before and after the archive.
 *
 * @param size - of the file, in bytes
 * @throws WheelStoreError if there is none: the file is cut off or not a zip archive
 */
export async function findZipEnd(file: ByteSource, size: number, filename: string): Promise<ZipEnd> {
  if (size === 0) throw broken(filename, 'is an empty file');
  const before = LOCATOR_BYTES + ZIP64_END_BYTES;
  const tail = Buffer.alloc(Math.min(size, END_BYTES + MAX_COMMENT_BYTES + before));
  await file.read(tail, 0, tail.length, size - tail.length);
  const at = tail.lastIndexOf(END_SIGNATURE);
  if (at === -1 || at + END_BYTES > tail.length) throw await notZip(file, size, filename);
  const end = at + END_BYTES + tail.readUInt16LE(at + 20);
  if (end > tail.length) throw broken(filename, 'is cut off: the comment at its end is not whole');
  const record = readZip64End(tail, at, filename) ?? readEnd(tail, at);
  const directoryEnd = size - tail.length + record.start;
  const shift = directoryEnd - record.size - record.offset;
  if (record.disk !== 0) throw broken(filename, 'is one of several parts of a zip archive');
  if (shift < 0) throw broken(filename, 'is cut off in the middle, or its directory is damaged');
  return {
    shift,
    directory: { start: directoryEnd - record.size, end: directoryEnd },
    entries: record.entries,
    trailing: tail.length - end,
  };
}

function readEnd(tail: Buffer, at: number): EndRecord {
  return {
    disk: tail.readUInt16LE(at + 4),
    entries: tail.readUInt16LE(at + 10),
    size: tail.readUInt32LE(at + 12),
    offset: tail.readUInt32LE(at + 16),
    start: at,
  };
}

function readZip64End(tail: Buffer, at: number, filename: string): EndRecord | undefined {
  const locator = at - LOCATOR_BYTES;
  const start = locator - ZIP64_END_BYTES;
  if (locator < 0 || tail.readUInt32LE(locator) !== LOCATOR_SIGNATURE) return undefined;
  if (start < 0 || tail.readUInt32LE(start) !== ZIP64_END_SIGNATURE)
    throw broken(filename, 'has a damaged zip64 record at its end');
  return {
    disk: tail.readUInt32LE(start + 16),
    entries: Number(tail.readBigUInt64LE(start + 32)),
    size: Number(tail.readBigUInt64LE(start + 40)),
    offset: Number(tail.readBigUInt64LE(start + 48)),
    start,
  };
}

async function notZip(file: ByteSource, size: number, filename: string) {
  const head = Buffer.alloc(Math.min(size, 512));
  await file.read(head, 0, head.length, 0);
  if (head.toString('latin1').startsWith('PK\x03\x04')) {
    return broken(
      filename,
      `is cut off: it ends after ${size} bytes without the directory of its zip archive`,
    );
  }
  if (/^\s*<(?:!doctype|html|head|body|\?xml)/i.test(head.toString('utf8').replace(/^\ufeff/, ''))) {
    return broken(filename, 'is a web page saved under that name, not a wheel');
  }
  if (head.toString('latin1').startsWith('version https://git-lfs')) {
    return broken(filename, 'is a Git LFS pointer, not the wheel itself');
  }
  return broken(filename, 'is not a zip archive, as a wheel must be');
}
