/** Parses the lines of the input `path`: exclusions, the home folder, variables that are not expanded. */
import nodePath from 'node:path';
import { WheelStoreError } from '../errors.ts';
import { quote } from '../untrusted/quote.ts';
import type { System } from './glob.ts';

/** One line that is neither blank nor a comment. */
export interface PathLine {
  /** As written. */
  readonly written: string;
  /** Without a leading `!`. */
  readonly text: string;
  readonly isExcluded: boolean;
}

const MAX_LINES = 100;
/** Linux's PATH_MAX. */
const MAX_CHARACTERS = 4_096;

/**
 * Parses the lines of `path` as the Actions toolkit does (`@actions/glob`, "Patterns"): blank lines and lines that
 * begin with `#` are ignored, `!` excludes, a second `!` includes again.
 *
 * @throws WheelStoreError if there is nothing to look for, or too many or too long lines
 */
export function readPathLines(text: string): PathLine[] {
  const written = text
    .split(/\r\n|\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (written.length > MAX_LINES || written.some((line) => line.length > MAX_CHARACTERS)) {
    throw badPath(
      `has more than ${MAX_LINES} lines, or a line of more than ${MAX_CHARACTERS} characters`,
      'Name folders or write wildcards, such as dist/*.whl.',
    );
  }
  const lines = written.map(readLine).filter(({ text }) => text !== '');
  if (!lines.some(({ isExcluded }) => !isExcluded)) {
    throw badPath(
      'has nothing to look for, only comments or exclusions',
      'Add a line with the file, folder or glob of the wheel, such as dist.',
    );
  }
  return lines;
}

function readLine(written: string): PathLine {
  const [, marks = '', text = ''] = /^((?:!\s*)*)(.*)$/s.exec(written) ?? [];
  return { written, text, isExcluded: marks.replaceAll(/\s/g, '').length % 2 === 1 };
}

/**
 * Replaces a leading `~` with the home folder. `~user` is left as it is; see {@link namesOtherHome}.
 *
 * @param home - absolute; undefined if unknown
 * @throws WheelStoreError if the path begins with `~` and the home folder is unknown
 */
export function expandHome(path: string, home: string | undefined, system: System = nodePath): string {
  const isHome = path === '~' || path.startsWith('~/') || path.startsWith(`~${system.sep}`);
  if (!isHome) return path;
  if (home === undefined) {
    throw badPath(
      `(${quote(path)}) begins with ~, and the home folder is not known`,
      'Set HOME (on Windows USERPROFILE) in the env of the step, or write the folder out.',
    );
  }
  return path === '~' ? home : system.join(home, path.slice(2));
}

/** Whether a path begins with another user's home folder, such as `~runner/dist`. */
export function namesOtherHome(path: string): boolean {
  return path.startsWith('~') && !/^~(?:[/\\]|$)/.test(path);
}

/**
 * Finds a variable or command that only a shell would expand, such as `$NAME`, `${NAME}`, `$(command)`, `$env:NAME` or
 * `%NAME%`, or a workflow expression `${{ … }}` that was not evaluated, as within a quoted script.
 *
 * @returns the first one as written; undefined if there is none
 */
export function unexpandedIn(path: string): string | undefined {
  const [found] =
    /\$\{\{.*?(?:\}\}|$)|\$\{[^}]*\}?|\$\([^)]*\)?|\$env:\w+|\$[A-Za-z_]\w*|%[A-Za-z_][\w()]*%|`[^`]*`/i.exec(
      path,
    ) ?? [];
  return found;
}

/** What to write instead of a variable that is not expanded. */
export function replacementFor(unexpanded: string): string {
  const [name = ''] = /[A-Za-z_]\w*/.exec(unexpanded.replace(/^\$env:/i, '')) ?? [];
  const isWorkspace =
    /^(?:GITHUB_WORKSPACE|PWD)$/i.test(name) || /^\$\{\{\s*github\.workspace\b/i.test(unexpanded);
  if (isWorkspace) {
    return `leave ${quote(unexpanded)} out, since paths begin in the workspace`;
  }
  if (/^(?:HOME|USERPROFILE)$/i.test(name)) return 'write ~';
  if (/^RUNNER_TEMP$/i.test(name)) return 'write ${{ runner.temp }}';
  if (unexpanded.startsWith('${{')) {
    return 'write it in the workflow file itself, not in a text that a step puts out or a file contains';
  }
  const isVariable = !/^(?:\$\(|`)/.test(unexpanded);
  return isVariable ? `write \${{ env.${name} }}` : 'write one such as ${{ runner.temp }}';
}

/** The error for a path with a variable, which is not expanded. */
export function notExpanded(path: string, unexpanded: string): WheelStoreError {
  if (unexpanded.startsWith('${{')) {
    const replacement = replacementFor(unexpanded);
    return badPath(
      `(${quote(path)}) holds ${quote(unexpanded)}, an expression that GitHub did not evaluate`,
      `${replacement[0]!.toUpperCase()}${replacement.slice(1)}.`,
    );
  }
  return badPath(
    `(${quote(path)}) holds ${quote(unexpanded)}, and variables are not expanded in inputs`,
    `Use an expression of the workflow: ${replacementFor(unexpanded)}.`,
  );
}

/** The error for `~user`. */
export function otherHome(path: string): WheelStoreError {
  return badPath(
    `(${quote(path)}) begins with the home folder of another user, which is not supported`,
    'Write ~ for your own home folder, ./~ for a name that begins with it, or the folder in full.',
  );
}

/**
 * Reads `path` as the single folder to fetch wheels into. Since that folder would be created, anything that looks like
 * a variable is an error, not a folder name.
 *
 * @param home - absolute; undefined if unknown
 * @returns absolute, or relative to the workspace
 * @throws WheelStoreError if `path` has several lines, or contains a variable or another user's home folder
 */
export function readFolder(text: string, home: string | undefined, system: System = nodePath): string {
  if (/[\r\n]/.test(text.trim())) {
    throw badPath(
      'has several lines',
      'Write one folder, such as dist; fetch into several in several steps.',
    );
  }
  const path = text.trim();
  const unexpanded = unexpandedIn(path);
  const isVariable = /(?:^|[/\\])\$|\$\{|^`|%[A-Za-z_][\w()]*%/.test(path);
  if (unexpanded !== undefined && isVariable) throw notExpanded(path, unexpanded);
  if (namesOtherHome(path)) throw otherHome(path);
  return expandHome(path, home, system);
}

function badPath(problem: string, remedy: string): WheelStoreError {
  return new WheelStoreError({ title: 'Invalid input', reason: `The input 'path' ${problem}.`, remedy });
}
