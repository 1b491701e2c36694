/** Finds the wheel that a build wrote, using the input `path`. */
import { opendir, stat } from 'node:fs/promises';
import nodePath, { basename, dirname, join, resolve, sep } from 'node:path';
import { WheelStoreError } from '../errors.ts';
import { firstOf, oneLine, quote } from '../untrusted/quote.ts';
import { faultOf, isAbsence } from './disk.ts';
import { covers, type Glob, isGlob, readGlobs, search } from './glob.ts';
import { unreadable } from './open-wheel.ts';
import {
  expandHome,
  namesOtherHome,
  notExpanded,
  otherHome,
  type PathLine,
  readPathLines,
  unexpandedIn,
} from './path-lines.ts';

/** How many files one error message lists. */
const MAX_LISTED = 10;

/** The result of a search: what was searched, and what was found. */
export interface Search {
  /** Absolute paths of the wheels, sorted, without the excluded ones. */
  readonly wheels: readonly string[];
  /** One for each line of `path`, except comments and exclusions. */
  readonly lines: readonly LineSearch[];
}

/** The result of one line of `path`. */
export interface LineSearch {
  /** The line, as written. */
  readonly line: string;
  /** Absolute paths of the wheels. */
  readonly wheels: readonly string[];
  /** The folder that was searched, absolute. */
  readonly folder: string;
  /** Names of everything else in that folder, sorted. */
  readonly others: readonly string[];
}

/** The home folder, and the signal that cancels a search. */
export interface SearchContext {
  /** The home folder, absolute, for `~`; undefined if unknown. */
  readonly home?: string | undefined;
  readonly signal?: AbortSignal;
}

/** A large node_modules folder has about 100,000 entries. */
const MAX_ENTRIES = 500_000;
const MAX_SEARCH_MS = 60_000;
/** How many names of other files are kept for the error message. */
const MAX_OTHERS = 1_000;

/**
 * Searches `path` for wheels. Its lines have the syntax of the Actions toolkit (`@actions/glob`, "Patterns"). Each line
 * is a file, a folder (only the files directly in it) or a glob. If a glob matches a folder, the wheels in that folder
 * count. `!` excludes wheels that earlier lines found, and everything below an excluded folder. A line that is the name
 * of an existing file or folder is not read as a glob. Folders, dotfiles and dangling links are not wheels.
 *
 * @param path - as given by the user, absolute or relative to `workspace`
 * @throws WheelStoreError if a line is invalid, or contains a variable and matches nothing, or if the search covers
 *   more than 500,000 entries or takes more than a minute
 * @throws the signal's reason if it aborts
 */
export async function findWheels(
  path: string,
  workspace: string,
  { home, signal }: SearchContext = {},
): Promise<Search> {
  const spend = budgetOf(path, signal);
  const lines: LineSearch[] = [];
  let wheels: string[] = [];
  for (const line of readPathLines(await literalIfExists(path, workspace))) {
    try {
      const meaning = await meaningOf(line, workspace, home);
      if (line.isExcluded) {
        wheels = wheels.filter((wheel) => !meaning.globs.some((glob) => covers(glob, wheel)));
        continue;
      }
      const found = await searchLine(line.written, meaning, workspace, spend);
      if (found.wheels.length === 0) refuseVariables(line.text);
      lines.push(found);
      wheels.push(...found.wheels);
    } catch (error) {
      throw explainSearch(error, line.written);
    }
  }
  return { wheels: [...new Set(wheels)].sort(), lines };
}

/** A file or folder whose name begins with `!` or `#` is neither an exclusion nor a comment. */
async function literalIfExists(path: string, workspace: string): Promise<string> {
  if (!/^[!#][^\r\n]*$/.test(path)) return path;
  const exists = await stat(resolve(workspace, path)).then(
    () => true,
    () => false,
  );
  return exists ? `./${path}` : path;
}

/** What one line of `path` refers to: an existing file or folder, or globs. */
interface Meaning {
  /** As written, with `~` expanded. */
  readonly path: string;
  readonly existing: 'file' | 'folder' | undefined;
  readonly globs: readonly Glob[];
}

async function meaningOf(
  { text, isExcluded }: PathLine,
  workspace: string,
  home: string | undefined,
): Promise<Meaning> {
  const path = expandHome(text, home);
  const absolute = resolve(workspace, path);
  const stats = await stat(absolute).catch((error: unknown) => {
    // A glob may be longer than any filename, and contain characters that are invalid in one.
    if (!isAbsence(error) && !isGlob(path)) throw error;
  });
  if (stats !== undefined) {
    const globs = [{ root: absolute, segments: [], ignoresCase: sep === '\\' }];
    const kind = stats.isDirectory() ? 'folder' : 'file';
    return { path, existing: kind, globs };
  }
  if (namesOtherHome(path)) throw otherHome(path);
  if (isExcluded) refuseVariables(text);
  return { path, existing: undefined, globs: readGlobs(path, workspace) };
}

async function searchLine(
  line: string,
  { path, existing, globs }: Meaning,
  workspace: string,
  spend: () => void,
): Promise<LineSearch> {
  const [only] = globs;
  if (existing === 'file') {
    const found = await sortOut([only!.root]);
    return { line, folder: dirname(only!.root), ...found };
  }
  if (existing === 'folder') {
    return { line, folder: only!.root, ...(await sortOut(await filesIn(only!.root, spend))) };
  }
  const folder = folderOfGlob(path, workspace);
  const files: string[] = [];
  for (const glob of globs) {
    for await (const match of search(glob, spend)) {
      if (!match.isFolder) files.push(match.path);
      // An unpacked wheel may be a folder named *.whl.
      else if (!looksLikeWheel(match.path)) files.push(...(await filesIn(match.path, spend)));
    }
  }
  const found = await sortOut(files);
  if (files.length > 0) return { line, folder, ...found };
  const { others } = await sortOut(await filesIn(folder, spend).catch(() => []));
  return { line, folder, wheels: [], others };
}

/** Returns a function to call for each entry that is read; it throws once the search is too large. */
function budgetOf(path: string, signal: AbortSignal | undefined): () => void {
  const end = Date.now() + MAX_SEARCH_MS;
  let entries = 0;
  return () => {
    signal?.throwIfAborted();
    entries += 1;
    if (entries <= MAX_ENTRIES && Date.now() <= end) return;
    throw new WheelStoreError({
      title: 'Search too large',
      reason: `The input 'path' (${quote(path)}) covers more than ${MAX_ENTRIES} files and folders, or more than can be read in ${MAX_SEARCH_MS / 1000} seconds.`,
      remedy: 'Name the folder that the build writes its wheel to, such as dist or dist/*.whl.',
    });
  };
}

/** Without the value of the variable, it is unknown whether the wheel is missing. */
function refuseVariables(text: string): void {
  const unexpanded = unexpandedIn(text);
  if (unexpanded !== undefined) throw notExpanded(text, unexpanded);
}

/**
 * The folder that a glob starts in: everything before the first wildcard.
 *
 * @param workspace - absolute; taken literally, even if its name contains wildcards
 * @param system - `path.posix` or `path.win32`; the runner's own by default
 */
export function folderOfGlob(
  pattern: string,
  workspace: string,
  system: Pick<typeof nodePath, 'dirname' | 'resolve'> = nodePath,
): string {
  const wildcard = pattern.search(/[*?[{]/);
  const fixed = wildcard === -1 ? pattern : `${pattern.slice(0, wildcard)}x`;
  return system.resolve(workspace, system.dirname(fixed));
}

/**
 * The only wheel that a search found.
 *
 * @returns undefined if it found none
 * @throws WheelStoreError if it found several: there is no way to tell which one is meant
 */
export function onlyWheel({ wheels }: Search): string | undefined {
  if (wheels.length <= 1) return wheels[0];
  const [folder, ...folders] = new Set(wheels.map((path) => dirname(path)));
  const names = folders.length === 0 ? wheels.map((path) => basename(path)) : wheels;
  const where = folders.length === 0 ? `in ${folder}` : `at 'path', in ${folders.length + 1} folders`;
  throw new WheelStoreError({
    title: 'More than one wheel',
    reason: `There are ${wheels.length} wheels ${where}: ${firstOf(names.map(oneLine), MAX_LISTED)}.`,
    remedy:
      "A slot holds one wheel: clear the folder before the build, point 'path' at one of them, or set target: '*', which stores each in a slot of its own.",
  });
}

/**
 * Describes a search that found no wheel, line by line, for the end of a sentence.
 *
 * @param path - the input, as given by the user
 * @param nearby - wheels found elsewhere (see nearby.ts)
 */
export function describeSearch(
  path: string,
  { lines }: Search,
  nearby: readonly { readonly path: string }[] = [],
): string {
  const searched = lines.map(({ line, folder, others }) => {
    const contents =
      others.length === 0
        ? 'found nothing'
        : `found only ${firstOf(
            others.map((name) => JSON.stringify(name).slice(1, -1)),
            MAX_LISTED,
          )}`;
    return `'${lines.length === 1 && !/[\r\n]/.test(path) ? path : line}' (searched ${folder}: ${contents})`;
  });
  const elsewhere = firstOf(
    nearby.map((wheel) => oneLine(wheel.path)),
    MAX_LISTED,
  );
  return `no wheel at ${searched.join(', nor at ')}${nearby.length === 0 ? '' : `; elsewhere, found ${elsewhere}`}`;
}

/** The entries directly in a folder, absolute. */
async function filesIn(folder: string, spend: () => void): Promise<string[]> {
  const files: string[] = [];
  for await (const { name } of await opendir(folder, { bufferSize: 256 })) {
    spend();
    files.push(join(folder, name));
  }
  return files;
}

/** Separates wheels from other files. */
async function sortOut(paths: readonly string[]): Promise<Pick<LineSearch, 'wheels' | 'others'>> {
  const wheels: string[] = [];
  for (const path of new Set(paths)) if (looksLikeWheel(path) && (await isFile(path))) wheels.push(path);
  const wheelNames = new Set(wheels.map((wheel) => basename(wheel)));
  const names = paths.map((path) => basename(path)).filter((name) => !wheelNames.has(name));
  return { wheels, others: names.slice(0, MAX_OTHERS).sort() };
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

/**
 * Whether a file with this name counts as a wheel: it is not hidden and ends in `.whl`. The case of the suffix does not
 * matter here, so that the later check of the filename can report it.
 */
export function looksLikeWheel(path: string): boolean {
  return /\.whl$/i.test(path) && !basename(path).startsWith('.');
}

function explainSearch(error: unknown, line: string): unknown {
  return faultOf(error) === undefined ? error : unreadable(`'path' (${oneLine(line)})`, error);
}
