/** Parses filenames of source distributions (source distribution format; PEP 625). */
import { INVALID_CHARACTER, MAX_LENGTH, normaliseProject, type WheelName } from './filename.ts';
import { readVersion } from './version.ts';

export const SDIST_SUFFIX = '.tar.gz';
/** Core metadata specification, "Name". */
const PROJECT = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/**
 * Parses the filename of an sdist (source distribution format, "Source distribution file name"; PEP 625). It accepts
 * what packaging's `parse_sdist_filename` accepts with the ending `.tar.gz`, except for characters that have a meaning in
 * a shell and names of more than 1,024 bytes.
 *
 * @returns the name, without tags; undefined if it is invalid
 */
export function readSdistFilename(filename: string): WheelName | undefined {
  if (!filename.endsWith(SDIST_SUFFIX) || filename.length > MAX_LENGTH) return undefined;
  if (INVALID_CHARACTER.test(filename)) return undefined;
  const stem = filename.slice(0, -SDIST_SUFFIX.length);
  const hyphen = stem.lastIndexOf('-');
  const project = stem.slice(0, Math.max(hyphen, 0));
  const version = readVersion(stem.slice(hyphen + 1));
  if (!PROJECT.test(project) || version === undefined) return undefined;
  return { filename, project: normaliseProject(project), version, build: undefined, tags: [] };
}
