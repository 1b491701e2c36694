/** Keeps wheels in the GitHub Actions cache, which saves egress: one entry per wheel, by its SHA-256. */
import { randomUUID } from 'node:crypto';
import { constants, copyFile, link, lstat, mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { tooFewFreeBytes } from '../disk/disk.ts';
import type { CacheSettings } from '../runner/inputs.ts';
import { info, warn } from '../runner/log.ts';
import type { FetchedWheel, WheelCache } from '../slots/download.ts';
import { type HashedWheel, isHashed } from '../slots/stored.ts';
import { messageOf } from '../untrusted/foreign-text.ts';
import { runCacheProcess } from './process.ts';
import { CACHED_FILE, type CacheResult } from './result.ts';

/** The cache of one step. */
export interface ActionsCache extends WheelCache {
  /**
   * Saves the wheels that were downloaded from the bucket. Failures are logged, and not thrown. If the signal aborts,
   * the remaining wheels are not saved.
   */
  save(fetched: readonly FetchedWheel[], signal: AbortSignal): Promise<void>;
}

/** GitHub's limit for one entry (`@actions/cache`, cache.ts), and by default for all entries of a repository. */
const MAX_BYTES = 10 * 1024 ** 3;
/** The size of an archive beyond that of its file: headers, and the overhead of data that cannot be compressed. */
const ARCHIVE_OVERHEAD = 1024 * 1024;

const CACHE_FAILED = 'Actions cache failed';

/** Opens the cache. Sends no request yet. */
export function openCache(settings: CacheSettings): ActionsCache {
  const discarded = new Set<string>();
  let isUsable = true;
  /** Stops the use of the cache in this step after a fault, because each further fault would take a minute. */
  const disableAfterFault = ({ outcome }: CacheResult) => {
    if (outcome === 'fault' || outcome === 'unavailable') isUsable = false;
  };
  const discard = (wheel: HashedWheel, reason: string) => {
    discarded.add(wheel.sha256);
    warn(
      `The Actions cache entry ${cacheKey(wheel)} is not ${wheel.name.filename} (${reason}). It was discarded, and the wheel is downloaded from the bucket. Delete the entry (gh cache delete ${cacheKey(wheel)}), so that the next job can save a good one.`,
      'Cached wheel does not match',
    );
  };
  return {
    async restore(wheel, path, signal) {
      if (!isUsable) return false;
      const result = await withTemporaryFolder(settings, (folder) =>
        restore(settings, wheel, folder, path, signal),
      );
      signal.throwIfAborted();
      disableAfterFault(result);
      if (result.outcome === 'broken-entry') discard(wheel, result.reason);
      else logRestored(wheel, result);
      return result.outcome === 'done';
    },
    onMismatch: (wheel) => discard(wheel, 'different content'),
    async save(fetched, signal) {
      for (const wanted of wheelsToSave(fetched, discarded)) {
        if (!isUsable || signal.aborted) return;
        const result = await withTemporaryFolder(settings, (folder) =>
          save(settings, wanted, folder, signal),
        );
        if (signal.aborted) return;
        disableAfterFault(result);
        logSaved(wanted.wheel, result);
      }
    },
  };
}

/** The key of a wheel's entry. */
function cacheKey({ sha256 }: HashedWheel): string {
  return `wheel-store-${sha256}`;
}

/** A wheel on disk to save in the cache. */
interface WheelToSave extends Pick<FetchedWheel, 'path'> {
  readonly wheel: HashedWheel;
}

/** The wheels from the bucket, one per SHA-256. An entry that was discarded cannot be replaced, so it is left out. */
function wheelsToSave(fetched: readonly FetchedWheel[], discarded: ReadonlySet<string>): WheelToSave[] {
  const downloaded = fetched.flatMap(({ wheel, path, how }) =>
    how === 'downloaded' && isHashed(wheel) && !discarded.has(wheel.sha256) ? [{ wheel, path }] : [],
  );
  return [...new Map(downloaded.map((wanted) => [wanted.wheel.sha256, wanted])).values()];
}

/** Calls `work` with a new folder, which is removed afterwards. An error becomes a result. */
async function withTemporaryFolder(
  { temp }: CacheSettings,
  work: (folder: string) => Promise<CacheResult>,
): Promise<CacheResult> {
  // `@actions/cache` puts the path into a command line without quotes.
  if (/[\s"']/.test(temp)) return { outcome: 'unavailable', reason: `${temp} contains whitespace or quotes` };
  const folder = join(temp, `wheel-store-${randomUUID()}`);
  try {
    await mkdir(folder, { recursive: true });
    return await work(folder);
  } catch (error) {
    return { outcome: 'fault', reason: messageOf(error) };
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => undefined);
  }
}

/** `folder` needs space for both the archive and the wheel in it. The wheel is then moved to `path`. */
async function restore(
  settings: CacheSettings,
  wheel: HashedWheel,
  folder: string,
  path: string,
  signal: AbortSignal,
): Promise<CacheResult> {
  const shortage = await checkFreeSpace(folder, 2 * wheel.size + ARCHIVE_OVERHEAD);
  if (shortage !== undefined) return shortage;
  const request = { operation: 'restore', key: cacheKey(wheel), folder, size: wheel.size } as const;
  const result = await runCacheProcess(settings, request, signal);
  if (result.outcome !== 'done') return result;
  const file = join(folder, CACHED_FILE);
  const found = await lstat(file).catch(() => undefined);
  if (found?.isFile() !== true) return { outcome: 'broken-entry', reason: 'no file' };
  if (found.size !== wheel.size) return { outcome: 'broken-entry', reason: `${found.size} bytes` };
  await move(file, path);
  return result;
}

/** The wheel is not copied: the archive is created through a link, and removed after the upload. */
async function save(
  settings: CacheSettings,
  { wheel, path }: WheelToSave,
  folder: string,
  signal: AbortSignal,
): Promise<CacheResult> {
  if (wheel.size > MAX_BYTES) return { outcome: 'declined', reason: 'GitHub caches at most 10 GiB' };
  const shortage = await checkFreeSpace(folder, wheel.size + ARCHIVE_OVERHEAD);
  if (shortage !== undefined) return shortage;
  const file = join(folder, CACHED_FILE);
  await link(path, file).catch(() => symlink(path, file));
  const request = { operation: 'save', key: cacheKey(wheel), folder, size: wheel.size } as const;
  return runCacheProcess(settings, request, signal);
}

/** @returns undefined if there is enough space, or if that is unknown */
async function checkFreeSpace(folder: string, bytes: number): Promise<CacheResult | undefined> {
  const free = await tooFewFreeBytes(folder, bytes);
  if (free === undefined) return undefined;
  return {
    outcome: 'declined',
    reason: `it would need ${bytes} bytes, and ${folder} has ${free} bytes free`,
  };
}

/** Renames the file, or copies it if the two paths are on different disks. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    try {
      await copyFile(from, to, constants.COPYFILE_EXCL);
    } catch (fault) {
      await rm(to, { force: true });
      throw fault;
    }
  }
}

function logRestored(wheel: HashedWheel, { outcome, reason }: CacheResult): void {
  const { filename } = wheel.name;
  if (outcome === 'none') {
    info(`Not in the Actions cache: ${filename} (${cacheKey(wheel)}). Downloading it from the bucket.`);
  } else if (outcome === 'declined') {
    info(`The Actions cache is not used for ${filename}: ${reason}. Downloading it from the bucket.`);
  } else if (outcome === 'unavailable') {
    info(`There is no Actions cache for this step: ${reason}. Everything is downloaded from the bucket.`);
  } else if (outcome === 'fault') {
    warn(
      `The Actions cache failed: ${reason}. It is not used again in this step; everything is downloaded from the bucket.`,
      CACHE_FAILED,
    );
  }
}

function logSaved(wheel: HashedWheel, { outcome, reason }: CacheResult): void {
  const { filename } = wheel.name;
  if (outcome === 'done') info(`Saved ${filename} to the Actions cache as ${cacheKey(wheel)}.`);
  else if (outcome === 'fault')
    warn(`${filename} could not be saved to the Actions cache: ${reason}.`, CACHE_FAILED);
  else info(`${filename} was not saved to the Actions cache: ${reason}.`);
}
