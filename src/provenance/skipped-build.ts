/** Whether a store step that finds no wheel at `path` may conclude that the build was skipped. */
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import type { NearbyWheel } from '../disk/nearby.ts';
import { hashFile } from '../disk/open-wheel.ts';
import type { Verdict } from '../runner/job-notes.ts';
import { readWheelFilename } from '../wheel/filename.ts';

/** A wheel that lies somewhere else than at `path`. */
export interface SeenWheel {
  /** Absolute. */
  readonly path: string;
  /** Normalised; undefined if the name is not a wheel's. */
  readonly project: string | undefined;
  /** Whether it has the bytes of the stored wheel. */
  readonly isStored: boolean;
  /** Whether a fetch step of this job wrote it. */
  readonly isFetched: boolean;
  /** Whether it was there before the job began. */
  readonly isOld: boolean;
}

/**
 * The wheels that suggest that a build ran: those of the stored wheel's project that this job made. One with the
 * stored bytes suggests it only if no find step of the job said that the build can be skipped.
 *
 * @param verdict - what the last find step of the job said; undefined: there was none
 */
export function signsOfBuild(
  project: string,
  verdict: Verdict | undefined,
  seen: readonly SeenWheel[],
): SeenWheel[] {
  return seen.filter((wheel) => {
    if (wheel.project !== project || wheel.isOld || wheel.isFetched) return false;
    return !(wheel.isStored && verdict === 'skip');
  });
}

/**
 * Looks at wheels more closely; only one of the stored wheel's size is read.
 *
 * @param began - when the job began, milliseconds since 1970; undefined if that is not known
 */
export async function seeWheels(
  nearby: readonly NearbyWheel[],
  stored: { readonly size: number; readonly sha256: string | undefined },
  fetched: readonly string[],
  began: number | undefined,
): Promise<SeenWheel[]> {
  return Promise.all(
    nearby.map(async ({ path, modified, changed }) => ({
      path,
      project: readWheelFilename(basename(path))?.project,
      isStored: await hasBytes(path, stored),
      isFetched: fetched.includes(path),
      isOld: began !== undefined && modified < began && changed < began,
    })),
  );
}

async function hasBytes(
  path: string,
  stored: { readonly size: number; readonly sha256: string | undefined },
) {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return false;
  try {
    const { size } = await file.stat();
    return size === stored.size && (await hashFile(file)).sha256 === stored.sha256;
  } catch {
    return false;
  } finally {
    await file.close();
  }
}
