/** Finds a wheel's dist-info folder. */

import { quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import { normaliseProject, type WheelName } from './filename.ts';
import { compareVersions, readVersion, type Version } from './version.ts';

/** The dist-info folder of a wheel. */
export interface DistInfo<Entry> {
  readonly warnings: readonly string[];
  /**
   * @throws WheelStoreError if the folder does not contain that file
   */
  entry(file: string): Entry;
  /** Like {@link entry}, but returns undefined if the folder does not contain that file. */
  find(file: string): Entry | undefined;
}

const SUFFIX = '.dist-info';

/**
 * Finds the only dist-info folder (binary distribution format, "The .dist-info directory"). As in pip, its name must
 * begin with the project's name; if it is not exactly `{project}-{version}.dist-info`, that is just a warning.
 *
 * @throws WheelStoreError if there is none, if there are several, or if it belongs to another project
 */
export function findDistInfo<Entry extends { readonly name: string }>(
  entries: readonly Entry[],
  name: WheelName,
): DistInfo<Entry> {
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
  // Of several entries with the same name, Python's zipfile, and therefore pip, reads the last.
  const find = (file: string) => entries.findLast((entry) => entry.name === `${folder}/${file}`);
  return {
    warnings: hasExpectedName(folder, project, version)
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

function hasExpectedName(folder: string, project: string, version: Version): boolean {
  const stem = folder.slice(0, -SUFFIX.length);
  const dash = stem.indexOf('-');
  if (dash === -1 || normaliseProject(stem.slice(0, dash)) !== project) return false;
  // May contain dashes: old tools write a local version with one.
  const read = readVersion(stem.slice(dash + 1));
  return read !== undefined && compareVersions(read, version) === 0;
}
