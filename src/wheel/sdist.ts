/** Checks a source distribution (sdist) against its filename and reads its metadata. */
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ParsedTarEntry } from 'modern-tar';
import { type OpenWheel, openWheel } from '../disk/open-wheel.ts';
import { WheelStoreError } from '../errors.ts';
import { readAtMost } from '../untrusted/bounded-read.ts';
import { quote } from '../untrusted/quote.ts';
import type { WheelContents } from './archive.ts';
import { broken } from './broken.ts';
import { isAbsolute, leavesFolder } from './entry-names.ts';
import type { WheelName } from './filename.ts';
import { readHeaders } from './headers.ts';
import { checkMetadata } from './metadata.ts';
import { SDIST_SUFFIX } from './sdist-filename.ts';

/** A source distribution's metadata. */
export type SdistContents = Pick<WheelContents, 'project' | 'version' | 'requiresPython' | 'warnings'>;

const MAX_METADATA_BYTES = 16 * 1024 * 1024;
const MAX_ENTRIES = 500_000;
/** A file of a few kilobytes may unpack to terabytes. */
const MAX_UNPACKED_BYTES = 20 * 1024 ** 3;

/**
 * Opens an sdist that is about to be stored, checks and hashes it.
 *
 * @param path - absolute
 * @throws WheelStoreError if it cannot be read, changes in the meantime, or pip would not build it
 * @throws the signal's reason if it aborts
 */
export async function readSdist(
  path: string,
  name: WheelName,
  signal: AbortSignal,
): Promise<{ readonly wheel: OpenWheel; readonly contents: SdistContents }> {
  let contents: SdistContents | undefined;
  const wheel = await openWheel(path, signal, async (file) => {
    contents = await inspectSdist(file, name, signal);
    return async () => undefined;
  });
  return { wheel, contents: contents! };
}

/**
 * Checks an sdist file like {@link inspectSdist}.
 *
 * @param path - absolute, or relative to the working directory
 */
export async function inspectSdistAt(path: string, name: WheelName): Promise<SdistContents> {
  const file = await open(path);
  try {
    return await inspectSdist(file, name);
  } finally {
    await file.close();
  }
}

/**
 * Checks an sdist as far as pip does before it builds: a complete gzip-compressed tar archive whose one folder has a
 * PKG-INFO with the project and version of the filename (PEP 643), without entries or links that leave the folder, and
 * without devices (PEP 706, the `data` filter).
 *
 * @param file - is read from its beginning, and stays open
 * @throws WheelStoreError if pip would not unpack it, or it does not match its filename
 * @throws the signal's reason if it aborts
 */
export async function inspectSdist(
  file: FileHandle,
  name: WheelName,
  signal?: AbortSignal,
): Promise<SdistContents> {
  const found: Found = { folder: undefined, metadata: undefined, entries: 0, bytes: 0 };
  const { entries, isComplete, reason } = await entriesOf(file);
  try {
    for await (const entry of entries) {
      signal?.throwIfAborted();
      await examine(entry, name, found);
    }
    // The archive's last entry may come before a wrong checksum.
    await isComplete;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof WheelStoreError) throw error;
    throw broken(
      name.filename,
      `is not a complete tar archive with gzip compression (${reason() ?? (error as Error).message})`,
      error,
    );
  }
  if (found.metadata === undefined) throw broken(name.filename, 'has no PKG-INFO in its folder');
  const metadata = checkMetadata(readHeaders(found.metadata), name);
  return { ...metadata, warnings: [...metadata.warnings, ...nameWarnings(name, found)] };
}

interface Found {
  folder: string | undefined;
  /** The text of PKG-INFO. */
  metadata: string | undefined;
  entries: number;
  bytes: number;
}

/** `reason` returns why the archive could not be decompressed, which the other errors don't say. */
async function entriesOf(file: FileHandle): Promise<{
  entries: AsyncIterable<ParsedTarEntry>;
  isComplete: Promise<void>;
  reason: () => string | undefined;
}> {
  // Loaded only if needed, because few steps store an sdist.
  const { createTarDecoder } = await import('modern-tar');
  const packed = file.createReadStream({ start: 0, autoClose: false });
  const unpacked = createGunzip();
  packed.on('error', (error) => unpacked.destroy(error)).pipe(unpacked);
  const { readable, writable } = createTarDecoder({ strict: true });
  const isComplete = (Readable.toWeb(unpacked) as ReadableStream<Uint8Array>).pipeTo(writable);
  // If an entry is refused, nobody waits for the rest.
  isComplete.catch(() => undefined);
  const entries = readable as unknown as AsyncIterable<ParsedTarEntry>;
  return { entries, isComplete, reason: () => unpacked.errored?.message };
}

async function examine({ header, body }: ParsedTarEntry, name: WheelName, found: Found): Promise<void> {
  found.entries += 1;
  found.bytes += header.size;
  if (found.entries > MAX_ENTRIES) throw broken(name.filename, `has more than ${MAX_ENTRIES} entries`);
  if (found.bytes > MAX_UNPACKED_BYTES) throw broken(name.filename, 'unpacks to more than 20 GiB');
  const fault = entryFault(header);
  if (fault !== undefined) throw broken(name.filename, `has an entry ${quote(header.name)} ${fault}`);
  const [folder = '', file, ...deeper] = header.name.split('/').filter((part) => part !== '' && part !== '.');
  if (folder !== '') found.folder ??= folder;
  if (folder !== '' && folder !== found.folder)
    throw broken(name.filename, `has two folders, ${quote(found.folder!)} and ${quote(folder)}`);
  const isMetadata = file === 'PKG-INFO' && deeper.length === 0 && header.type === 'file';
  if (!isMetadata) return body.cancel();
  const text = await readAtMost(Readable.fromWeb(body as never), MAX_METADATA_BYTES);
  if (text === undefined) throw broken(name.filename, 'has a PKG-INFO of more than 16 MiB');
  found.metadata = text.toString('utf8');
}

/** The rules of the `data` filter (PEP 706), except that it would strip the slash of an absolute path. */
function entryFault({ name, type = 'file', linkname = '' }: ParsedTarEntry['header']): string | undefined {
  if (leavesFolder(name)) return 'that leaves its folder';
  if (type === 'character-device' || type === 'block-device' || type === 'fifo') return `that is a ${type}`;
  if (type !== 'symlink' && type !== 'link') return undefined;
  // A symbolic link is relative to its own folder, a hard link to that of the archive.
  const folder = type === 'symlink' ? name.slice(0, name.lastIndexOf('/') + 1) : '';
  const isOutside = isAbsolute(linkname) || leavesFolder(`${folder}${linkname}`);
  return isOutside ? 'that links to something outside' : undefined;
}

/** pip and uv accept other names. */
function nameWarnings(name: WheelName, { folder }: Found): string[] {
  const stem = name.filename.slice(0, -SDIST_SUFFIX.length);
  const expected = `${name.project.replaceAll('-', '_')}-${name.version.text}`;
  return [
    ...(stem === expected
      ? []
      : [
          `${quote(name.filename)} is not named ${expected}${SDIST_SUFFIX}, as PEP 625 requires: PyPI may refuse it.`,
        ]),
    ...(folder === stem
      ? []
      : [
          `${quote(name.filename)} has the folder ${quote(folder ?? '')} instead of ${quote(stem)}, as PEP 625 requires: PyPI may refuse it.`,
        ]),
  ];
}
