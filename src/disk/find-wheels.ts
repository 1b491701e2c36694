/** Finds the one wheel that a build left, as the input `path` says. */
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

/** Files that one error names. */
const MAX_LISTED = 10;

/** What was looked for, where, and what was found. */
export interface Search {
  /** Absolute paths of wheels, sorted, without those that are excluded. */
  readonly wheels: readonly string[];
  /** One for each line of `path` that names something to look for. */
  readonly lines: readonly LineSearch[];
}

/** What one line of `path` led to. */
export interface LineSearch {
  /** The line, as written. */
  readonly line: string;
  /** Absolute paths of wheels. */
  readonly wheels: readonly string[];
  /** The folder that was looked into, absolute. */
  readonly folder: string;
  /** Names of what else lies there, sorted. */
  readonly others: readonly string[];
}

/** Where paths begin, and what ends a search. */
export interface SearchContext {
  /** The home folder, absolute, for `~`; undefined when it is not known. */
  readonly home?: string | undefined;
  readonly signal?: AbortSignal;
}

/** A tree of node_modules has some 100,000 entries. */
const MAX_ENTRIES = 500_000;
const MAX_SEARCH_MS = 60_000;
/** Names of what lies beside, for an error. */
const MAX_OTHERS = 1_000;

/**
 * Looks for wheels at `path`, whose lines are read as the Actions toolkit reads them (`@actions/glob`, "Patterns"):
 * each is a file, a folder (its own files, not those of folders in it) or a glob, and a glob that matches folders means
 * the wheels in those; `!` excludes what earlier lines found, and all that lies below an excluded folder. What exists
 * wins over reading it as a glob. Folders, dotfiles and dangling links are not wheels.
 *
 * @param path - as given by the user, absolute or relative to `workspace`
 * @throws WheelStoreError when a line cannot be read as one of these, holds a variable and finds nothing, leads to more
 *   than 500,000 entries or takes more than a minute; the signal's reason when it aborts
 */
export async function findWheels(
  path: string,
  workspace: string,
  { home, signal }: SearchContext = {},
): Promise<Search> {
  const spend = budgetOf(path, signal);
  const lines: LineSearch[] = [];
  let wheels: string[] = [];
  for (const line of readPathLines(await asName(path, workspace))) {
    try {
      const meaning = await meaningOf(line, workspace, home);
      if (line.isExcluded) {
        wheels = wheels.filter((wheel) => !meaning.globs.some((glob) => covers(glob, wheel)));
        continue;
      }
      const found = await lookAt(line.written, meaning, workspace, spend);
      if (found.wheels.length === 0) refuseVariables(line.text);
      lines.push(found);
      wheels.push(...found.wheels);
    } catch (error) {
      throw explainSearch(error, line.written);
    }
  }
  return { wheels: [...new Set(wheels)].sort(), lines };
}

/** A whole `path` that names something is that, even if it begins as an exclusion or a comment does. */
async function asName(path: string, workspace: string): Promise<string> {
  if (!/^[!#][^\r\n]*$/.test(path)) return path;
  const isThere = await stat(resolve(workspace, path)).then(
    () => true,
    () => false,
  );
  return isThere ? `./${path}` : path;
}

/** What one line of `path` means: a file or folder that is there, or patterns. */
interface Meaning {
  /** As written, with the home folder. */
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
  const there = await stat(absolute).catch((error: unknown) => {
    // A pattern may be longer than any name, and have characters that no name has.
    if (!isAbsence(error) && !isGlob(path)) throw error;
  });
  if (there !== undefined) {
    const globs = [{ root: absolute, segments: [], ignoresCase: sep === '\\' }];
    const kind = there.isDirectory() ? 'folder' : 'file';
    return { path, existing: kind, globs };
  }
  if (namesOtherHome(path)) throw otherHome(path);
  if (isExcluded) refuseVariables(text);
  return { path, existing: undefined, globs: readGlobs(path, workspace) };
}

async function lookAt(
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
      // An unpacked wheel may have the name of one.
      else if (!looksLikeWheel(match.path)) files.push(...(await filesIn(match.path, spend)));
    }
  }
  const found = await sortOut(files);
  if (files.length > 0) return { line, folder, ...found };
  const beside = (await sortOut(await filesIn(folder, spend).catch(() => []))).others;
  return { line, folder, wheels: [], others: beside };
}

/** Counts what is read, and ends a search that leads too far. */
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

/** A variable that nothing expands is the name of nothing: what it should lead to is not known to be missing. */
function refuseVariables(text: string): void {
  const unexpanded = unexpandedIn(text);
  if (unexpanded !== undefined) throw notExpanded(text, unexpanded);
}

/**
 * The folder that a glob starts from: everything before its first wildcard.
 *
 * @param workspace - absolute; no pattern itself, whatever characters its name has
 * @param system - the path rules of the runner's system
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
 * The one wheel of a search.
 *
 * @returns undefined when there is none
 * @throws WheelStoreError when there are several: which of them is meant cannot be guessed
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
      "A slot holds one wheel: clear the folder before the build, point 'path' at one of them, or store each in a step of its own with its own 'target'.",
  });
}

/**
 * What a search that found no wheel found instead, line by line, as the end of a sentence.
 *
 * @param path - the input, as given by the user
 * @param nearby - wheels that were seen elsewhere (see nearby.ts)
 */
export function describeSearch(
  path: string,
  { lines }: Search,
  nearby: readonly { readonly path: string }[] = [],
): string {
  const looked = lines.map(({ line, folder, others }) => {
    const there =
      others.length === 0
        ? 'found nothing'
        : `found only ${firstOf(
            others.map((name) => JSON.stringify(name).slice(1, -1)),
            MAX_LISTED,
          )}`;
    return `'${lines.length === 1 && !/[\r\n]/.test(path) ? path : line}' (searched ${folder}: ${there})`;
  });
  const elsewhere = firstOf(
    nearby.map((wheel) => oneLine(wheel.path)),
    MAX_LISTED,
  );
  return `no wheel at ${looked.join(', nor at ')}${nearby.length === 0 ? '' : `; elsewhere, found ${elsewhere}`}`;
}

/** A folder's own entries, absolute. */
async function filesIn(folder: string, spend: () => void): Promise<string[]> {
  const files: string[] = [];
  for await (const { name } of await opendir(folder, { bufferSize: 256 })) {
    spend();
    files.push(join(folder, name));
  }
  return files;
}

/** Wheels and others, by their names and kinds. */
async function sortOut(paths: readonly string[]): Promise<Pick<LineSearch, 'wheels' | 'others'>> {
  const wheels: string[] = [];
  for (const path of new Set(paths)) if (looksLikeWheel(path) && (await isFile(path))) wheels.push(path);
  const taken = new Set(wheels.map((wheel) => basename(wheel)));
  const names = paths.map((path) => basename(path)).filter((name) => !taken.has(name));
  return { wheels, others: names.slice(0, MAX_OTHERS).sort() };
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

/**
 * Whether a file of this name is taken for a wheel: it is not hidden, and ends in `.whl`. Another case of the suffix
 * counts here, so that the check of the filename can say what is wrong with it.
 */
export function looksLikeWheel(path: string): boolean {
  return /\.whl$/i.test(path) && !basename(path).startsWith('.');
}

function explainSearch(error: unknown, line: string): unknown {
  return faultOf(error) === undefined ? error : unreadable(`'path' (${oneLine(line)})`, error);
}
