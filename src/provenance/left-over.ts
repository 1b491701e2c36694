/** Refuses a wheel that lay there before the job began: on a runner that is used again, an old build's. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { OpenWheel } from '../disk/open-wheel.ts';
import { say } from '../runner/log.ts';
import { refuseStale } from './stale.ts';

/** When a wheel came to be where it is, milliseconds since 1970. */
export type WheelTimes = Pick<OpenWheel, 'modified' | 'changed'>;

/** FAT keeps times to two seconds. */
const COARSEST_CLOCK_MS = 2_000;

/**
 * For store: what is stored under this commit should have been built, or at least brought here, by this job.
 *
 * @param began - see {@link jobBegan}
 * @throws WheelStoreError for a wheel that was there before, unless `allowStale` only warns of it
 */
export function checkLeftOver(wheel: OpenWheel, began: number | undefined, allowStale: boolean): void {
  const provenance = began === undefined ? 'this job' : provenanceOf(wheel, began);
  if (provenance === 'brought along') {
    say(
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
 * Whether this job built the wheel. Restored caches, unpacked archives and copies can bring an old time of
 * modification along, but not the time when the file was put there.
 *
 * @param began - milliseconds since 1970
 */
export function provenanceOf(
  { modified, changed }: WheelTimes,
  began: number,
): 'this job' | 'brought along' | 'left over' {
  const isBefore = (time: number) => time < began - COARSEST_CLOCK_MS;
  if (isBefore(modified) && isBefore(changed)) return 'left over';
  return isBefore(modified) ? 'brought along' : 'this job';
}

/**
 * When the job began, as its first step's files tell. GitHub's runner empties its temporary folder at the
 * beginning of a job and writes the event into a folder of its own there before each step, so that the file's
 * time is the step's and the folder's is the first step's (actions/runner, TempDirectoryManager and
 * ExecutionContext.WriteWebhookPayload); runners that use the folder for more write the file once.
 *
 * @param eventPath - `GITHUB_EVENT_PATH`; undefined outside GitHub
 * @returns milliseconds since 1970; undefined where there is no such file
 */
export async function jobBegan(eventPath: string | undefined): Promise<number | undefined> {
  if (eventPath === undefined) return undefined;
  try {
    const [file, folder] = await Promise.all([stat(eventPath), stat(dirname(eventPath))]);
    return Math.min(file.mtimeMs, folder.mtimeMs);
  } catch {
    return undefined;
  }
}
