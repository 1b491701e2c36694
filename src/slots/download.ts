/** Brings stored wheels onto this machine's disk, whole and verified or not at all. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, link, lstat, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bucket } from '../bucket/bucket.ts';
import { downloadObject } from '../bucket/download.ts';
import { faultOf, isAbsence, makeFolders, tooFewFreeBytes } from '../disk/disk.ts';
import { hashFile } from '../disk/open-wheel.ts';
import { WheelStoreError } from '../errors.ts';
import { inspectWheel } from '../wheel/archive.ts';
import { type HashedWheel, isHashed, type StoredWheel } from './stored.ts';

/** A wheel on disk, and how it came there. */
export interface SavedWheel {
  readonly wheel: StoredWheel;
  /** Absolute. */
  readonly path: string;
  readonly how: 'downloaded' | 'from-cache' | 'was-there';
}

/** A place nearer than the bucket that may keep the bytes of wheels. It may fail; the bucket is asked then. */
export interface WheelCache {
  /**
   * Puts what is kept of a wheel into the new file `path`. Nothing of it is verified yet.
   *
   * @returns false when nothing is kept, or the cache has a fault; no file is there then
   * @throws the signal's reason when it aborts, and nothing else
   */
  restore(wheel: HashedWheel, path: string, signal: AbortSignal): Promise<boolean>;
  /** Is told that what was kept of a wheel is not what was stored, and has been thrown away. */
  refuse(wheel: HashedWheel): void;
}

/** How to bring wheels. */
export interface Saving {
  /** Absolute. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Asked before the bucket for wheels that were stored with a SHA-256. */
  readonly cache?: WheelCache | undefined;
  /** Told the bytes of all downloads together: how many have arrived, first none, and how many there are. */
  readonly onProgress?: (bytes: number, total: number) => void;
  /** Told what only somebody who looks for a fault wants to see. */
  readonly trace?: (text: string) => void;
}

/** A wheel on its way: verified under a temporary name, or there already. */
interface Arrival extends SavedWheel {
  /** Empty where nothing had to be brought. */
  readonly temporary: string;
}

/**
 * Brings wheels into `folder`, which is made where it is missing: all of them, or none. A file with the
 * name and the SHA-256 of a wheel is kept; one with other bytes is replaced once all new ones are verified.
 *
 * @throws WheelStoreError; the folder then holds what it held before
 */
export async function saveWheels(
  bucket: Bucket,
  wheels: readonly StoredWheel[],
  { folder, signal, cache, onProgress, trace }: Saving,
): Promise<SavedWheel[]> {
  refuseEqualNames(wheels);
  const isMissing = await Promise.all(
    wheels.map(async (wheel) => !(await hasBytes(join(folder, wheel.name.filename), wheel))),
  );
  const bytes = wheels.reduce((sum, { size }, index) => sum + (isMissing[index] ? size : 0), 0);
  if (bytes > 0) {
    await makeFolder(folder);
    await refuseNames(wheels, folder);
    await checkFreeSpace(folder, bytes, wheels);
  }
  await sweep(folder, trace);
  const expected = wheels.map((wheel, index): Arrival => {
    const path = join(folder, wheel.name.filename);
    if (!isMissing[index]) return { wheel, path, how: 'was-there', temporary: '' };
    return { wheel, path, how: 'downloaded', temporary: join(folder, `.wheel-store-${randomUUID()}.part`) };
  });
  const wanted = expected.filter(({ how }) => how === 'downloaded');
  try {
    const arrivals = cache === undefined ? expected : await takeFromCache(cache, expected, signal);
    const missing = arrivals.filter(({ how }) => how === 'downloaded');
    const onBytes = counterOf(missing, onProgress);
    await allAtOnce(missing, signal, (arrival, either) => receive(bucket, arrival, folder, either, onBytes));
    signal.throwIfAborted();
    await takePlaces(wanted, folder);
    return arrivals;
  } catch (error) {
    // What cannot be removed must not hide why.
    await Promise.allSettled(wanted.map(({ temporary }) => rm(temporary, { force: true })));
    throw explainDisk(error, folder);
  }
}

/** Adds the bytes of all downloads up. */
function counterOf(arrivals: readonly Arrival[], onProgress: Saving['onProgress']): (more: number) => void {
  const total = arrivals.reduce((sum, { wheel }) => sum + wheel.size, 0);
  let received = 0;
  onProgress?.(received, total);
  return (more) => {
    received += more;
    onProgress?.(received, total);
  };
}

/** One after the other: each takes the whole line, and room for its archive besides. */
async function takeFromCache(
  cache: WheelCache,
  arrivals: readonly Arrival[],
  signal: AbortSignal,
): Promise<Arrival[]> {
  const taken: Arrival[] = [];
  for (const arrival of arrivals) {
    const isKept = arrival.how === 'downloaded' && (await isInCache(cache, arrival, signal));
    taken.push(isKept ? { ...arrival, how: 'from-cache' } : arrival);
  }
  return taken;
}

async function isInCache(
  cache: WheelCache,
  { wheel, temporary }: Arrival,
  signal: AbortSignal,
): Promise<boolean> {
  if (!isHashed(wheel) || !(await cache.restore(wheel, temporary, signal))) return false;
  if (await hasBytes(temporary, wheel)) return true;
  await rm(temporary, { force: true });
  cache.refuse(wheel);
  return false;
}

/** The first failure stops the others, and all have come to rest when this is over. */
async function allAtOnce<Item>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  await Promise.allSettled(
    items.map((item) =>
      work(item, either).catch((error: unknown) => {
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

/** In one folder, one would take the other's place. */
function refuseEqualNames(wheels: readonly StoredWheel[]): void {
  const targets = Map.groupBy(wheels, ({ name }) => name.filename);
  for (const [filename, alike] of targets) {
    if (alike.length === 1) continue;
    throw new WheelStoreError({
      title: 'Two wheels with the same filename',
      reason: `The targets ${alike.map(({ target }) => target || '(none)').join(' and ')} both hold ${filename}, and a folder can hold it only once.`,
      remedy: 'Fetch them in two steps, each with its own target and path.',
    });
  }
}

/** Before a byte is asked for: a folder has the name of a wheel, or the file system takes no name like it. */
async function refuseNames(wheels: readonly StoredWheel[], folder: string): Promise<void> {
  for (const { name } of wheels) {
    const path = join(folder, name.filename);
    const there = await lstat(path).catch((error: unknown) => {
      if (!isAbsence(error)) throw explainDisk(error, path);
    });
    if (there?.isDirectory()) throw folderThere(path);
  }
}

function folderThere(path: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Folder not writable',
    reason: `The wheel cannot be written to ${path}: a folder with that name is there.`,
    remedy: "Remove that folder, or set the input 'path' to another one.",
  });
}

/**
 * Renames verified wheels to their names. What was there is kept under another name until the last one has its
 * place, and goes back if one cannot have it.
 */
async function takePlaces(arrivals: readonly Arrival[], folder: string): Promise<void> {
  const undo: (() => Promise<unknown>)[] = [];
  const kept: string[] = [];
  for (const { temporary, path } of arrivals) {
    const aside = join(folder, `.wheel-store-${randomUUID()}.old`);
    try {
      const putBack = arrivals.length > 1 ? await keepAside(path, aside) : undefined;
      if (putBack !== undefined) {
        kept.push(aside);
        undo.push(putBack);
      }
      await rename(temporary, path);
      if (putBack === undefined) undo.push(() => rm(path, { force: true }));
    } catch (error) {
      for (const step of undo.reverse()) await step().catch(() => undefined);
      throw explainDisk(error, path);
    }
  }
  await Promise.allSettled(kept.map((path) => rm(path, { force: true })));
}

/**
 * Keeps what is at `path` under the name `aside` too: by a second link where the file system has those, so that
 * nothing is missing in between, else by renaming it.
 *
 * @returns what puts it back; undefined when nothing is there
 */
async function keepAside(path: string, aside: string): Promise<(() => Promise<void>) | undefined> {
  const there = await lstat(path).catch((error: unknown) => {
    if (!isAbsence(error)) throw error;
  });
  if (there === undefined) return undefined;
  if (there.isDirectory()) throw folderThere(path);
  // Some systems link to what a symbolic link leads to.
  if (there.isSymbolicLink()) await rename(path, aside);
  else await link(path, aside).catch(() => rename(path, aside));
  return async () => {
    await rename(aside, path);
    // Of two names of one file, renaming leaves both (POSIX, rename).
    await rm(aside, { force: true });
  };
}

const TEMPORARY = /^\.wheel-store-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/;
const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_SWEPT_ENTRIES = 10_000;

/** Removes what a killed fetch left; what was written to within a day may be another one's that still runs. */
async function sweep(folder: string, trace: Saving['trace']): Promise<void> {
  let entries = 0;
  try {
    for await (const entry of await opendir(folder)) {
      entries += 1;
      if (entries > MAX_SWEPT_ENTRIES) return;
      if (!TEMPORARY.test(entry.name)) continue;
      const path = join(folder, entry.name);
      const { mtimeMs, isFile } = await lstat(path).then((it) => ({
        mtimeMs: it.mtimeMs,
        isFile: it.isFile(),
      }));
      if (!isFile || mtimeMs > Date.now() - DAY_MS) continue;
      await rm(path, { force: true });
      trace?.(`Removed ${path}, which an earlier fetch left there.`);
    }
  } catch (error) {
    if (!isAbsence(error)) trace?.(`${folder} was not searched for old temporary files: ${error}`);
  }
}

async function hasBytes(path: string, { size, sha256 }: StoredWheel): Promise<boolean> {
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
        'Do not use it: the object, or the download on its way, was changed. Delete the object, find out who can write to the prefix, and build again.',
    });
  }
  if (!isHashed(wheel)) await inspectWheel(path, wheel.name);
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

/** Passes on what is no fault of the disk. */
function explainDisk(error: unknown, path: string): unknown {
  const fault = faultOf(error);
  if (error instanceof WheelStoreError || fault === undefined) return error;
  const isTaken = /^E(?:EXIST|NOTDIR)\b/.test(fault);
  const what = isTaken ? ': a file, or a dangling link, is in the way' : '';
  return new WheelStoreError(
    {
      title: 'Folder not writable',
      reason: `The wheel could not be written to ${path} (${fault})${what}.`,
      remedy: "Check that the input 'path' is a folder that this job may write to, with room on its disk.",
    },
    { cause: error },
  );
}
