/**
 * The process that talks to the GitHub Actions cache; `cache/process.ts` starts it in an empty folder.
 *
 *     node dist/cache.js restore|save KEY
 *
 * It brings or keeps the file {@link CACHED_FILE} of its folder, tells its parent the outcome, and ends.
 */
import { isFeatureAvailable, restoreCache, saveCache } from '@actions/cache';
import { hasGnuTar } from '../cache/gnu-tar.ts';
import { CACHED_FILE, type CacheResult, type Operation } from '../cache/result.ts';

const [operation, key] = process.argv.slice(2) as [Operation, string];
// Whoever wanted the answer is gone, and so shall be what was started for it.
process.on('disconnect', () =>
  process.kill(process.platform === 'win32' ? process.pid : -process.pid, 'SIGKILL'),
);
const result = await perform().catch(
  (error: Error): CacheResult => ({ outcome: 'fault', reason: error.message }),
);
// What was printed decides too, and must have left before the process does.
process.send?.(result, () => process.stdout.write('', () => process.exit()));

async function perform(): Promise<CacheResult> {
  if (!isFeatureAvailable()) return { outcome: 'unavailable', reason: 'the runner names no cache service' };
  if (!hasGnuTar()) return { outcome: 'unavailable', reason: 'there is no GNU tar' };
  // The path is part of what the service looks entries up by: one path for all jobs and systems, one entry.
  if (operation === 'save') {
    const id = await saveCache([CACHED_FILE], key, undefined, true);
    return id === -1
      ? { outcome: 'declined', reason: 'the service did not say why' }
      : { outcome: 'done', reason: '' };
  }
  const found = await restoreCache([CACHED_FILE], key, [], undefined, true);
  return { outcome: found === undefined ? 'none' : 'done', reason: '' };
}
