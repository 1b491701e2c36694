/** Rejects a wheel that existed before the job began. On a reused runner, it is from an earlier build. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { OpenWheel } from '../disk/open-wheel.ts';
import { info } from '../runner/log.ts';
import { refuseStale } from './stale.ts';

/** When a wheel was modified, and when it was put where it is, in milliseconds since 1970. */
export type WheelTimes = Pick<OpenWheel, 'modified' | 'changed'>;

/** FAT has a resolution of two seconds. */
const COARSEST_CLOCK_MS = 2_000;

/**
 * For store: a wheel should have been built, or at least copied or restored, by this job.
 *
 * @param began - see {@link jobStartTime}
 * @throws WheelStoreError if the wheel existed before, unless `allowStale` turns that into a warning
 */
export function checkLeftOver(wheel: OpenWheel, began: number | undefined, allowStale: boolean): void {
  const provenance = began === undefined ? 'this job' : provenanceOf(wheel, began);
  if (provenance === 'restored') {
    info(
      `${wheel.filename} was last written before this job began, but put here during it, as happens when a cache or a copy keeps file times.`,
    );
  }
  if (provenance !== 'left over') return;
  refuseStale(
    {
      title: 'Wheel older than the job',
      reason: `${wheel.path} was already there when this job began (${new Date(wheel.changed).toISOString()}), so this job did not build it.`,
      remedy:
        'On a runner that is reused, clear the folder before the build, for example with rm -rf dist. If the wheel is right, set allow-stale-wheel: true.',
    },
    allowStale,
  );
}

/**
 * Whether this job built the wheel. Restored caches, unpacked archives and copies can preserve an old modification
 * time, but not the time when the file was put there.
 *
 * @param began - milliseconds since 1970
 */
export function provenanceOf(
  { modified, changed }: WheelTimes,
  began: number,
): 'this job' | 'restored' | 'left over' {
  const isBefore = (time: number) => time < began - COARSEST_CLOCK_MS;
  if (isBefore(modified) && isBefore(changed)) return 'left over';
  return isBefore(modified) ? 'restored' : 'this job';
}

/**
 * When the job began, from the times of the event file and its folder. GitHub's runner empties its temporary folder
 * at the beginning of a job. Before each step, it writes the event into a separate folder in there. So the file has
 * the time of this step, and the folder that of the first step (actions/runner, TempDirectoryManager and
 * ExecutionContext.WriteWebhookPayload). Runners that put other files into that folder write the event only once.
 *
 * @param eventPath - `GITHUB_EVENT_PATH`; undefined outside GitHub
 * @returns milliseconds since 1970; undefined if there is no such file
 */
export async function jobStartTime(eventPath: string | undefined): Promise<number | undefined> {
  if (eventPath === undefined) return undefined;
  try {
    const [file, folder] = await Promise.all([stat(eventPath), stat(dirname(eventPath))]);
    return Math.min(file.mtimeMs, folder.mtimeMs);
  } catch {
    return undefined;
  }
}
