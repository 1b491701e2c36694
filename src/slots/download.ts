/** Downloads stored wheels to a folder and verifies them: all or none. */
import { type FileHandle, lstat, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bucket } from '../bucket/bucket.ts';
import { downloadObject } from '../bucket/download.ts';
import { isAbsence, makeFolders, tooFewFreeBytes } from '../disk/disk.ts';
import { hashFile } from '../disk/open-wheel.ts';
import {
  explainDisk,
  folderInTheWay,
  moveIntoPlace,
  type NewFile,
  removeLeftovers,
  temporaryPath,
} from '../disk/replace-files.ts';
import { WheelStoreError } from '../errors.ts';
import { inspectWheel } from '../wheel/archive.ts';
import { type HashedWheel, isHashed, type StoredWheel } from './stored.ts';

/** A wheel on disk, and how it got there. */
export interface FetchedWheel {
  readonly wheel: StoredWheel;
  /** Absolute. */
  readonly path: string;
  readonly how: 'downloaded' | 'from-cache' | 'was-there';
}

/** A cache of wheels in front of the bucket. If it fails, the wheel is downloaded from the bucket. */
export interface WheelCache {
  /**
   * Writes the cached bytes of a wheel to the new file `path`, without verifying them.
   *
   * @returns false if the wheel isn't cached, or the cache fails. Then there is no file.
   * @throws the signal's reason if it aborts, and nothing else
   */
  restore(wheel: HashedWheel, path: string, signal: AbortSignal): Promise<boolean>;
  /** Called if the cached bytes aren't those of the wheel, after they were discarded. */
  onMismatch(wheel: HashedWheel): void;
}

/** Options for downloading wheels. */
export interface DownloadOptions {
  /** Absolute. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Tried before the bucket, for wheels that were stored with a SHA-256. */
  readonly cache?: WheelCache | undefined;
  /** Called with the bytes of all downloads together: received so far, first 0, and the total. */
  readonly onProgress?: (bytes: number, total: number) => void;
  /** Called with debug messages. */
  readonly trace?: (text: string) => void;
}

/** A wheel that is being fetched, under a temporary name until all are verified, or one that is already there. */
interface Arrival extends FetchedWheel, NewFile {
  readonly path: string;
  /** Empty if the wheel was already there. */
  readonly temporary: string;
}

/**
 * Downloads wheels to `folder`, or restores them from the cache: all of them or none. Creates the folder if necessary.
 * Keeps a file with the name and SHA-256 of a wheel. Replaces one with the name but other content, after all downloads
 * have been verified.
 *
 * @throws WheelStoreError; then the wheels in the folder are unchanged
 */
export async function downloadWheels(
  bucket: Bucket,
  wheels: readonly StoredWheel[],
  { folder, signal, cache, onProgress, trace }: DownloadOptions,
): Promise<FetchedWheel[]> {
  rejectEqualNames(wheels);
  const isMissing = await Promise.all(
    wheels.map(async (wheel) => !(await hasContent(join(folder, wheel.name.filename), wheel))),
  );
  const bytes = wheels.reduce((sum, { size }, index) => sum + (isMissing[index] ? size : 0), 0);
  if (bytes > 0) {
    await makeFolder(folder);
    await rejectFolders(wheels, folder);
    await checkFreeSpace(folder, bytes, wheels);
  }
  await removeLeftovers(folder, trace);
  const expected = wheels.map((wheel, index): Arrival => {
    const path = join(folder, wheel.name.filename);
    if (!isMissing[index]) return { wheel, path, how: 'was-there', temporary: '' };
    return { wheel, path, how: 'downloaded', temporary: temporaryPath(folder) };
  });
  const wanted = expected.filter(({ how }) => how === 'downloaded');
  try {
    const arrivals = cache === undefined ? expected : await restoreAllFromCache(cache, expected, signal);
    const missing = arrivals.filter(({ how }) => how === 'downloaded');
    const onBytes = progressCounter(missing, onProgress);
    await runAll(missing, signal, (arrival, combined) => receive(bucket, arrival, folder, combined, onBytes));
    signal.throwIfAborted();
    await moveIntoPlace(wanted, folder);
    return arrivals;
  } catch (error) {
    // Ignore errors of the clean-up, which must not hide the original one.
    await Promise.allSettled(wanted.map(({ temporary }) => rm(temporary, { force: true })));
    throw explainDisk(error, folder);
  }
}

/** Adds up the bytes of all downloads. */
function progressCounter(
  arrivals: readonly Arrival[],
  onProgress: DownloadOptions['onProgress'],
): (more: number) => void {
  const total = arrivals.reduce((sum, { wheel }) => sum + wheel.size, 0);
  let received = 0;
  onProgress?.(received, total);
  return (more) => {
    received += more;
    onProgress?.(received, total);
  };
}

/** Restores one wheel after the other: each uses the full bandwidth, and disk space for its archive. */
async function restoreAllFromCache(
  cache: WheelCache,
  arrivals: readonly Arrival[],
  signal: AbortSignal,
): Promise<Arrival[]> {
  const results: Arrival[] = [];
  for (const arrival of arrivals) {
    const isCached = arrival.how === 'downloaded' && (await restoreFromCache(cache, arrival, signal));
    results.push(isCached ? { ...arrival, how: 'from-cache' } : arrival);
  }
  return results;
}

async function restoreFromCache(
  cache: WheelCache,
  { wheel, temporary }: Arrival,
  signal: AbortSignal,
): Promise<boolean> {
  if (!isHashed(wheel) || !(await cache.restore(wheel, temporary, signal))) return false;
  if (await hasContent(temporary, wheel)) return true;
  await rm(temporary, { force: true });
  cache.onMismatch(wheel);
  return false;
}

/** Runs `work` on all items at once. The first failure stops the others, and all have stopped when this returns. */
async function runAll<Item>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failure = new AbortController();
  const combined = AbortSignal.any([signal, failure.signal]);
  await Promise.allSettled(
    items.map((item) =>
      work(item, combined).catch((error: unknown) => {
        if (!failure.signal.aborted) failure.abort(error);
      }),
    ),
  );
  signal.throwIfAborted();
  if (failure.signal.aborted) throw failure.signal.reason;
}

async function receive(
  bucket: Bucket,
  { wheel, temporary }: Arrival,
  folder: string,
  signal: AbortSignal,
  onBytes: (more: number) => void,
): Promise<void> {
  const file = await openNew(temporary, folder);
  try {
    const sha256 = await downloadObject(bucket, { object: wheel, file, signal, onBytes });
    await verify(temporary, file, wheel, sha256);
  } finally {
    await file.close();
  }
}

/** In a folder, the second would overwrite the first. */
function rejectEqualNames(wheels: readonly StoredWheel[]): void {
  const targets = Map.groupBy(wheels, ({ name }) => name.filename);
  for (const [filename, sameName] of targets) {
    if (sameName.length === 1) continue;
    throw new WheelStoreError({
      title: 'Two wheels with the same filename',
      reason: `The targets ${sameName.map(({ target }) => target || '(none)').join(' and ')} each hold ${filename}, but a folder can hold it only once.`,
      remedy: 'Fetch them in two steps, each with its own target and path.',
    });
  }
}

/** Checks before the download that no folder has the name of a wheel, and that the file system accepts the name. */
async function rejectFolders(wheels: readonly StoredWheel[], folder: string): Promise<void> {
  for (const { name } of wheels) {
    const path = join(folder, name.filename);
    const existing = await lstat(path).catch((error: unknown) => {
      if (!isAbsence(error)) throw explainDisk(error, path);
    });
    if (existing?.isDirectory()) throw folderInTheWay(path);
  }
}

async function hasContent(path: string, { size, sha256 }: StoredWheel): Promise<boolean> {
  if (sha256 === undefined || (await stat(path).catch(() => undefined))?.size !== size) return false;
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return false;
  try {
    return (await hashFile(file)).sha256 === sha256;
  } finally {
    await file.close();
  }
}

async function verify(path: string, file: FileHandle, wheel: StoredWheel, sha256: string): Promise<void> {
  const { size } = await file.stat();
  if (size !== wheel.size || (isHashed(wheel) && sha256 !== wheel.sha256)) {
    throw new WheelStoreError({
      title: 'Checksum mismatch',
      reason: `${wheel.key} arrived with ${size} bytes and SHA-256 ${sha256}; ${wheel.size} bytes${isHashed(wheel) ? ` and SHA-256 ${wheel.sha256}` : ''} were stored.`,
      remedy:
        'Do not use it: the object was changed in the store, or its bytes on the way here. Delete the object, find out who can write to the prefix, and build again.',
    });
  }
  if (!isHashed(wheel)) await inspect(path, wheel);
}

/** Without a SHA-256, at least the archive must be complete. */
async function inspect(path: string, { name }: StoredWheel): Promise<void> {
  if (name.tags.length > 0) {
    await inspectWheel(path, name);
    return;
  }
  // Loaded only if needed, because few look-ups find an sdist, and those have a SHA-256.
  const { inspectSdistAt } = await import('../wheel/sdist.ts');
  await inspectSdistAt(path, name);
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await makeFolders(folder);
  } catch (error) {
    throw explainDisk(error, folder);
  }
}

async function checkFreeSpace(folder: string, bytes: number, wheels: readonly StoredWheel[]): Promise<void> {
  const free = await tooFewFreeBytes(folder, bytes);
  if (free === undefined) return;
  const what = wheels.length === 1 ? wheels[0]!.name.filename : `The ${wheels.length} wheels`;
  throw new WheelStoreError({
    title: 'Not enough disk space',
    reason: `${what} would need ${bytes} bytes, and the disk of ${folder} has ${free} bytes free.`,
    remedy: 'Free some disk space before this step, or fetch into a folder on another disk.',
  });
}

async function openNew(path: string, folder: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx+');
  } catch (error) {
    throw explainDisk(error, folder);
  }
}
