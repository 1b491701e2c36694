/** Finds a wheel's dist-info folder. */

import { quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import { normaliseProject, type WheelName } from './filename.ts';
import { compareVersions, readVersion, type Version } from './version.ts';
import type { ZipEntry } from './zip.ts';

/** The dist-info folder of a wheel. */
export interface DistInfo {
  readonly warnings: readonly string[];
  /**
   * @throws WheelStoreError when it holds no such file
   */
  entry(file: string): ZipEntry;
  /** Like {@link entry}, with undefined when it holds no such file. */
  find(file: string): ZipEntry | undefined;
}

const SUFFIX = '.dist-info';

/**
 * Finds the one dist-info folder (binary distribution format, "The .dist-info directory"). As in pip, its name
 * must begin with the project's; that it is not `{project}-{version}.dist-info` only warns.
 *
 * @throws WheelStoreError when there is none, there are several, or it is another project's
 */
export function findDistInfo(entries: readonly ZipEntry[], name: WheelName): DistInfo {
  const { filename, project, version } = name;
  const top = new Set(entries.map((entry) => entry.name.split('/', 1)[0]!));
  const [folder, ...more] = [...top].filter((part) => part.endsWith(SUFFIX));
  if (folder === undefined) throw broken(filename, 'has no *.dist-info folder, so it is not a wheel');
  if (more.length > 0) {
    const all = [folder, ...more];
    throw broken(
      filename,
      `has ${all.length} *.dist-info folders (${all.slice(0, 5).map(quote).join(', ')}) instead of one`,
    );
  }
  if (!normaliseProject(folder).startsWith(project)) {
    throw broken(
      filename,
      `has the folder ${quote(folder)}, which is another project's than ${quote(project)}`,
    );
  }
  // Python's zipfile, and so pip, reads the last one of a name.
  const find = (file: string) => entries.findLast((entry) => entry.name === `${folder}/${file}`);
  return {
    warnings: isNamed(folder, project, version)
      ? []
      : [
          `${quote(filename)} has the folder ${quote(folder)}, but its filename stands for ${quote(`${project}-${version.text}${SUFFIX}`)}.`,
        ],
    find,
    entry(file) {
      const found = find(file);
      if (found === undefined) throw broken(filename, `has no ${file} in its folder ${quote(folder)}`);
      return found;
    },
  };
}

function isNamed(folder: string, project: string, version: Version): boolean {
  const stem = folder.slice(0, -SUFFIX.length);
  const dash = stem.indexOf('-');
  if (dash === -1 || normaliseProject(stem.slice(0, dash)) !== project) return false;
  // Old tools write the dash of a local version into the folder's name.
  const named = readVersion(stem.slice(dash + 1));
  return named !== undefined && compareVersions(named, version) === 0;
}
