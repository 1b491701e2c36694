/**
 * The process that talks to the GitHub Actions cache; `cache/process.ts` starts it in an empty folder.
 *
 *     node dist/cache.js restore|save KEY
 *
 * It restores or saves the file {@link CACHED_FILE} in its folder, sends the result to its parent, and exits.
 */
import { isFeatureAvailable, restoreCache, saveCache } from '@actions/cache';
import { hasGnuTar } from '../cache/gnu-tar.ts';
import { CACHED_FILE, type CacheResult, type Operation } from '../cache/result.ts';

const [operation, key] = process.argv.slice(2) as [Operation, string];
// The parent has exited. Without it, this process and its children (tar) have no purpose.
process.on('disconnect', () =>
  process.kill(process.platform === 'win32' ? process.pid : -process.pid, 'SIGKILL'),
);
const result = await perform().catch(
  (error: Error): CacheResult => ({ outcome: 'fault', reason: error.message }),
);
// The parent also evaluates the output, so it must be flushed before the process exits.
process.send?.(result, () => process.stdout.write('', () => process.exit()));

async function perform(): Promise<CacheResult> {
  if (!isFeatureAvailable()) return { outcome: 'unavailable', reason: 'the runner has no cache service' };
  if (!hasGnuTar()) return { outcome: 'unavailable', reason: 'GNU tar is not installed' };
  // The service derives an entry's version from the path. One path on all systems makes them share the entry.
  if (operation === 'save') {
    const id = await saveCache([CACHED_FILE], key, undefined, true);
    return id === -1
      ? { outcome: 'declined', reason: 'the service gave no reason' }
      : { outcome: 'done', reason: '' };
  }
  const found = await restoreCache([CACHED_FILE], key, [], undefined, true);
  return { outcome: found === undefined ? 'none' : 'done', reason: '' };
}
