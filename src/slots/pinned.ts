/** The arguments of `pip install` and `uv pip install` that install wheels from a page of links, and no other versions. */
import { quoted, shellSafe } from '../untrusted/shell.ts';
import type { WheelName } from '../wheel/filename.ts';
import { compareVersions } from '../wheel/version.ts';

/**
 * Pins each project to its version, or to the highest of several, ready for a shell. Without the version, an installer
 * takes a release from PyPI instead of a development version (PEP 440, "Handling of pre-releases"). The local part is
 * pinned too, because `==1.0+cu121` matches only that, while `==1.0` matches any (PEP 440, "Version matching").
 *
 * @returns one `project==version` for each project, in the order in which the projects first occur
 */
export function pinned(names: readonly Pick<WheelName, 'project' | 'version'>[]): string[] {
  const highest = new Map<string, WheelName['version']>();
  for (const { project, version } of names) {
    const known = highest.get(project);
    if (known === undefined || compareVersions(version, known) > 0) highest.set(project, version);
  }
  return [...highest].map(([project, version]) => quoted(`${project}==${version.text}`));
}

/**
 * The arguments that install wheels from a page, and find there what they depend on.
 *
 * @param page - URL of the commit's index page
 * @param names - the wheels, at least one
 */
export function fromPage(page: string, names: readonly Pick<WheelName, 'project' | 'version'>[]): string {
  return `--find-links "${shellSafe(page)}" ${pinned(names).join(' ')}`;
}
