/** The GitHub Actions cache as a place nearer than the bucket: one entry per wheel, by its SHA-256. */
import { randomUUID } from 'node:crypto';
import { constants, copyFile, link, lstat, mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { tooFewFreeBytes } from '../disk/disk.ts';
import type { CacheSettings } from '../runner/inputs.ts';
import { say, warn } from '../runner/log.ts';
import type { SavedWheel, WheelCache } from '../slots/download.ts';
import { type HashedWheel, isHashed } from '../slots/stored.ts';
import { messageOf } from '../untrusted/foreign-text.ts';
import { type Answer, KEPT_FILE } from './answer.ts';
import { runCacheProcess } from './process.ts';

/** The cache of one step. */
export interface ActionsCache extends WheelCache {
  /**
   * Keeps the wheels that were downloaded. What cannot be kept is told and is no failure; when the signal aborts,
   * the rest is not kept.
   */
  keep(saved: readonly SavedWheel[], signal: AbortSignal): Promise<void>;
}

/** GitHub takes no larger entry (`@actions/cache`, cache.ts), and keeps no more for a repository by default. */
const MAX_BYTES = 10 * 1024 ** 3;
/** What an archive takes besides its file: headers, and frames of what does not shrink any further. */
const ARCHIVE_OVERHEAD = 1024 * 1024;

const CACHE_FAILED = 'Actions cache failed';

/** Opens the cache. Asks nothing yet. */
export function openCache(settings: CacheSettings): ActionsCache {
  const refused = new Set<string>();
  let isUsable = true;
  /** After one fault nothing more is asked in this step: each further one would cost the job a minute. */
  const noteOutcome = ({ outcome }: Answer) => {
    if (outcome === 'fault' || outcome === 'unavailable') isUsable = false;
  };
  const refuse = (wheel: HashedWheel, reason: string) => {
    refused.add(wheel.sha256);
    warn(
      `The Actions cache entry ${cacheKey(wheel)} is not ${wheel.name.filename} (${reason}). It was discarded, and the wheel is downloaded from the bucket. Delete the entry (gh cache delete ${cacheKey(wheel)}), so that the next job can save a good one.`,
      'Cached wheel does not match',
    );
  };
  return {
    async restore(wheel, path, signal) {
      if (!isUsable) return false;
      const answer = await inFolder(settings, (folder) => restore(settings, wheel, folder, path, signal));
      signal.throwIfAborted();
      noteOutcome(answer);
      if (answer.outcome === 'broken-entry') refuse(wheel, answer.reason);
      else tellRestored(wheel, answer);
      return answer.outcome === 'done';
    },
    refuse: (wheel) => refuse(wheel, 'other bytes'),
    async keep(saved, signal) {
      for (const one of worthKeeping(saved, refused)) {
        if (!isUsable || signal.aborted) return;
        const answer = await inFolder(settings, (folder) => keep(settings, one, folder, signal));
        if (signal.aborted) return;
        noteOutcome(answer);
        tellKept(one.wheel, answer);
      }
    },
  };
}

/** The key of a wheel's entry. */
function cacheKey({ sha256 }: HashedWheel): string {
  return `wheel-store-${sha256}`;
}

/** A wheel on disk that the cache is to keep. */
interface KeptWheel extends Pick<SavedWheel, 'path'> {
  readonly wheel: HashedWheel;
}

/** What came from the bucket, once per SHA-256; an entry that is there and was refused cannot be replaced. */
function worthKeeping(saved: readonly SavedWheel[], refused: ReadonlySet<string>): KeptWheel[] {
  const fresh = saved.flatMap(({ wheel, path, how }) =>
    how === 'downloaded' && isHashed(wheel) && !refused.has(wheel.sha256) ? [{ wheel, path }] : [],
  );
  return [...new Map(fresh.map((one) => [one.wheel.sha256, one])).values()];
}

/** Lends a folder of its own in the job's temporary one. What is thrown becomes an answer. */
async function inFolder({ temp }: CacheSettings, work: (folder: string) => Promise<Answer>): Promise<Answer> {
  // `@actions/cache` puts it into a command line without quotes.
  if (/[\s"']/.test(temp)) return { outcome: 'unavailable', reason: `${temp} holds white space or quotes` };
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

/** The archive and the wheel in it lie in `folder` at the same time; then the wheel alone is moved to `path`. */
async function restore(
  settings: CacheSettings,
  wheel: HashedWheel,
  folder: string,
  path: string,
  signal: AbortSignal,
): Promise<Answer> {
  const shortage = await shortageOf(folder, 2 * wheel.size + ARCHIVE_OVERHEAD);
  if (shortage !== undefined) return shortage;
  const request = { operation: 'restore', key: cacheKey(wheel), folder, size: wheel.size } as const;
  const answer = await runCacheProcess(settings, request, signal);
  if (answer.outcome !== 'done') return answer;
  const file = join(folder, KEPT_FILE);
  const found = await lstat(file).catch(() => undefined);
  if (found?.isFile() !== true) return { outcome: 'broken-entry', reason: 'no file' };
  if (found.size !== wheel.size) return { outcome: 'broken-entry', reason: `${found.size} bytes` };
  await move(file, path);
  return answer;
}

/** The wheel stays where it is: the archive is made through a link, and removed when it is sent. */
async function keep(
  settings: CacheSettings,
  { wheel, path }: KeptWheel,
  folder: string,
  signal: AbortSignal,
): Promise<Answer> {
  if (wheel.size > MAX_BYTES) return { outcome: 'declined', reason: 'GitHub caches nothing above 10 GiB' };
  const shortage = await shortageOf(folder, wheel.size + ARCHIVE_OVERHEAD);
  if (shortage !== undefined) return shortage;
  const file = join(folder, KEPT_FILE);
  await link(path, file).catch(() => symlink(path, file));
  const request = { operation: 'save', key: cacheKey(wheel), folder, size: wheel.size } as const;
  return runCacheProcess(settings, request, signal);
}

async function shortageOf(folder: string, bytes: number): Promise<Answer | undefined> {
  const free = await tooFewFreeBytes(folder, bytes);
  if (free === undefined) return undefined;
  return {
    outcome: 'declined',
    reason: `it would need ${bytes} bytes, and ${folder} has ${free} bytes free`,
  };
}

/** Copies only where the two lie on different disks. */
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

function tellRestored(wheel: HashedWheel, { outcome, reason }: Answer): void {
  const { filename } = wheel.name;
  if (outcome === 'none') {
    say(`Not in the Actions cache: ${filename} (${cacheKey(wheel)}). Downloading it from the bucket.`);
  } else if (outcome === 'declined') {
    say(`The Actions cache is not used for ${filename}: ${reason}. Downloading it from the bucket.`);
  } else if (outcome === 'unavailable') {
    say(`There is no Actions cache for this step: ${reason}. Everything is downloaded from the bucket.`);
  } else if (outcome === 'fault') {
    warn(
      `The Actions cache failed: ${reason}. It is not used again in this step; everything is downloaded from the bucket.`,
      CACHE_FAILED,
    );
  }
}

function tellKept(wheel: HashedWheel, { outcome, reason }: Answer): void {
  const { filename } = wheel.name;
  if (outcome === 'done') say(`Saved ${filename} to the Actions cache as ${cacheKey(wheel)}.`);
  else if (outcome === 'fault')
    warn(`${filename} could not be saved to the Actions cache: ${reason}.`, CACHE_FAILED);
  else say(`${filename} was not saved to the Actions cache: ${reason}.`);
}
