/** Whether a store step that finds no wheel at `path` may conclude that the build was skipped. */
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import type { NearbyWheel } from '../disk/nearby.ts';
import { hashFile } from '../disk/open-wheel.ts';
import type { Verdict } from '../runner/job-notes.ts';
import { readWheelFilename } from '../wheel/filename.ts';

/** A wheel outside of `path`. */
export interface InspectedWheel {
  /** Absolute. */
  readonly path: string;
  /** Normalised; undefined if the name is not that of a wheel. */
  readonly project: string | undefined;
  /** Whether its content is that of a stored wheel. */
  readonly isStored: boolean;
  /** Whether a fetch step of this job wrote it. */
  readonly isFetched: boolean;
  /** Whether it was there before the job began. */
  readonly isOld: boolean;
}

/**
 * The wheels that suggest that a build ran: those of the stored wheels' projects that this job built. A wheel identical
 * to a stored one counts only if no find step of the job found that the build can be skipped.
 *
 * @param projects - of the stored wheels
 * @param verdict - of the last find step of the job, on all stored wheels; undefined: there was none
 * @param seen - the wheels outside of `path`
 */
export function signsOfBuild(
  projects: readonly string[],
  verdict: Verdict | undefined,
  seen: readonly InspectedWheel[],
): InspectedWheel[] {
  return seen.filter((wheel) => {
    if (wheel.isOld || wheel.isFetched) return false;
    if (wheel.project === undefined || !projects.includes(wheel.project)) return false;
    return !(wheel.isStored && verdict === 'skip');
  });
}

/** What a file is compared with: bytes, and lower-case hex. */
interface StoredBytes {
  readonly size: number;
  readonly sha256: string | undefined;
}

/**
 * Compares wheels with the stored ones. Only files of the size of a stored wheel are read.
 *
 * @param fetched - absolute paths of the wheels that fetch steps of this job wrote
 * @param began - when the job began, in milliseconds since 1970; undefined if unknown
 */
export async function inspectWheels(
  nearby: readonly NearbyWheel[],
  stored: readonly StoredBytes[],
  fetched: readonly string[],
  began: number | undefined,
): Promise<InspectedWheel[]> {
  return Promise.all(
    nearby.map(async ({ path, modified, changed }) => ({
      path,
      project: readWheelFilename(basename(path))?.project,
      isStored: await isOneOf(path, stored),
      isFetched: fetched.includes(path),
      isOld: began !== undefined && modified < began && changed < began,
    })),
  );
}

async function isOneOf(path: string, stored: readonly StoredBytes[]): Promise<boolean> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return false;
  try {
    const { size } = await file.stat();
    const sameSize = stored.filter((wheel) => wheel.size === size);
    if (sameSize.length === 0) return false;
    const { sha256 } = await hashFile(file);
    return sameSize.some((wheel) => wheel.sha256 === sha256);
  } catch {
    return false;
  } finally {
    await file.close();
  }
}
