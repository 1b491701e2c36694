/** What `path` should have been, for the error when there is no wheel. */
import nodePath from 'node:path';
import { quote } from '../untrusted/quote.ts';
import type { Search } from './find-wheels.ts';

type System = Pick<typeof nodePath, 'basename' | 'dirname' | 'isAbsolute' | 'join' | 'relative' | 'sep'>;

/** Where suggested paths begin. */
export interface Base {
  /** Absolute. */
  readonly workspace: string;
  /** Absolute; undefined if unknown. */
  readonly home?: string | undefined;
}

const MAX_SUGGESTIONS = 2;

/**
 * What to do about a search that found no wheel. A mistake in the text comes first, because it explains why nothing
 * matches; then wheels elsewhere; then a source distribution.
 *
 * @param nearby - wheels found elsewhere (see nearby.ts)
 * @param system - `path.posix` or `path.win32`; the runner's own by default
 * @returns one sentence or two
 */
export function suggestPath(
  { lines, excluded }: Search,
  nearby: readonly { readonly path: string }[],
  base: Base,
  system: System = nodePath,
): string {
  for (const { line, missing } of lines.filter(({ wheels }) => wheels.length === 0)) {
    const mistake = mistakeIn(line, missing, base.workspace, system);
    if (mistake !== undefined) return mistake;
  }
  if (excluded.length > 0) return 'Check the lines that begin with !, which exclude every wheel.';
  const folders = [...new Set(nearby.map(({ path }) => system.dirname(path)))];
  const nameOf = (path: string) => system.basename(path).toLowerCase();
  const isLikely = (folder: string) =>
    lines.some(({ line, folder: searched, missing }) => {
      const isBelow =
        missing === undefined && `${folder}${system.sep}`.startsWith(`${searched}${system.sep}`);
      return isBelow || nameOf(line) === nameOf(folder) || nameOf(system.dirname(line)) === nameOf(folder);
    });
  const likely = [...folders.filter(isLikely), ...folders.filter((folder) => !isLikely(folder))];
  if (likely.length > 0) {
    const inputs = likely
      .slice(0, MAX_SUGGESTIONS)
      .map((folder) => `path: ${inputFor(folder, base, system)}`);
    return `Did you mean ${inputs.join(' or ')}?`;
  }
  // If the folder does not exist, `others` are the files of one above it.
  const instead = lines.filter(({ missing }) => missing === undefined).flatMap(({ others }) => others);
  if (instead.some((name) => name.endsWith('.tar.gz'))) {
    return 'Only a source distribution seems to have been built: build the wheel too, for example with python -m build or uv build.';
  }
  return "Check that the build ran and that 'path' is where it writes the wheel.";
}

/** How a folder is written as `path`: relative to the workspace or the home folder if it is in there. */
export function inputFor(folder: string, { workspace, home }: Base, system: System = nodePath): string {
  const inside = relativeTo(workspace, folder, system);
  const inHome = home === undefined ? undefined : relativeTo(home, folder, system);
  const text =
    inside === undefined
      ? inHome === undefined
        ? folder
        : system.join('~', inHome)
      : `${inside.startsWith('~') ? './' : ''}${inside}` || '.';
  const written = system.sep === '\\' ? text.replaceAll('\\', '/') : text;
  return /^[\w./~][\w./:~+-]*$/.test(written) ? written : quote(written);
}

function relativeTo(folder: string, path: string, system: System): string | undefined {
  const relative = system.relative(folder, path);
  return /^\.\.(?:[/\\]|$)/.test(relative) || system.isAbsolute(relative) ? undefined : relative;
}

/**
 * What is wrong with a line of `path` that matches nothing.
 *
 * @param missing - the first folder or file of it that does not exist, absolute; undefined: there is none
 * @returns undefined if nothing looks wrong
 */
export function mistakeIn(
  line: string,
  missing: string | undefined,
  workspace: string,
  system: System = nodePath,
): string | undefined {
  const meant = (text: string) => `path: ${/^[\w./~*][\w./:~*?+-]*$/.test(text) ? text : quote(text)}`;
  const [, , quoted] = /^(["'])(.*)\1$/.exec(line) ?? [];
  if (quoted !== undefined)
    return `Write it without the quotes, which are part of the name here: ${meant(quoted)}.`;
  const [, item] = /^-\s+(.*)$/.exec(line) ?? [];
  if (item !== undefined) return `'path' is text and not a list, so leave the hyphen out: ${meant(item)}.`;
  const [, commented] = /^(.*?)\s+#/.exec(line) ?? [];
  if (commented) return `Put the comment on its own line: ${meant(commented)}.`;
  if (holdsSeveral(line)) return "Put each pattern on its own line, after 'path: |'.";
  const isWindows = system.sep === '\\';
  if (!isWindows && /\\[\w.*]/.test(line)) {
    return `Folders are separated by / on this system: ${meant(line.replaceAll('\\', '/'))}.`;
  }
  const [, drive, rest] = (isWindows && /^\/([a-z])\/(.*)$/i.exec(line)) || [];
  if (drive !== undefined)
    return `Write the drive as Windows does: ${meant(`${drive.toUpperCase()}:/${rest}`)}.`;
  return isWindows ? undefined : mistakeInRoot(line, missing, workspace, meant);
}

/** Whether a line looks like several patterns. A blank may be part of a name, so it takes more than a slash there. */
function holdsSeveral(line: string): boolean {
  if (/[{}]/.test(line)) return false;
  const [byComma, byBlank] = [/[,;]\s*/, /\s+/].map((mark) => line.split(mark).filter((part) => part !== ''));
  return (
    (byComma!.length > 1 && byComma!.every((part) => /[/\\*]|\.whl$/.test(part))) ||
    (byBlank!.length > 1 && byBlank!.every((part) => /\*|\.whl$/.test(part)))
  );
}

/** Mistakes in where a POSIX path begins. */
function mistakeInRoot(
  line: string,
  missing: string | undefined,
  workspace: string,
  meant: (text: string) => string,
): string | undefined {
  // The runner mounts /home/runner/work/repo/repo on the host as /__w/repo/repo in a container.
  const [, repository] = /^\/__w(\/.+)$/.exec(workspace) ?? [];
  const at = repository === undefined ? -1 : line.indexOf(`${repository}/`);
  if (repository !== undefined && at > 0 && !line.startsWith('/__w')) {
    const inside = line.slice(at + repository.length + 1);
    return `In a container, \${{ github.workspace }} is a path on the host: write ${meant(inside)}.`;
  }
  const isAtTop = missing !== undefined && /^\/[^/]+$/.test(missing) && line.startsWith('/');
  return isAtTop
    ? `A path that begins with / begins at the root of the disk: did you mean ${meant(line.slice(1))}?`
    : undefined;
}
