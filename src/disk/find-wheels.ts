/** Finds the wheel that a build wrote, using the input `path`. */
import { opendir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { WheelStoreError } from '../errors.ts';
import { firstOf, oneLine, quote } from '../untrusted/quote.ts';
import { faultOf, isAbsence } from './disk.ts';
import { covers, folderOfGlobs, type Glob, isGlob, readGlobs } from './glob.ts';
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
import { search } from './search.ts';

/** How many files one error message lists. */
const MAX_LISTED = 10;

/** The result of a search: what was searched, and what was found. */
export interface Search {
  /** The wheels that a line of `path` excluded from those of earlier lines. */
  readonly excluded: readonly Exclusion[];
  /** Absolute paths of the wheels, sorted, without the excluded ones. */
  readonly wheels: readonly string[];
  /** The same of files that end in .tar.gz, as source distributions do. */
  readonly sdists: readonly string[];
  /** One for each line of `path`, except comments and exclusions. */
  readonly lines: readonly LineSearch[];
}

/** A wheel that was found and then excluded. */
export interface Exclusion {
  /** Absolute. */
  readonly wheel: string;
  /** The line that excludes it, as written. */
  readonly line: string;
}

/** The result of one line of `path`. */
export interface LineSearch {
  /** The line, as written. */
  readonly line: string;
  /** Absolute paths of the wheels. */
  readonly wheels: readonly string[];
  /** Absolute paths of files that end in .tar.gz, which are among {@link others}. */
  readonly sdists: readonly string[];
  /** The folder that was searched, absolute. If it does not exist, the nearest one above it that does. */
  readonly folder: string;
  /** The first folder or file of the path that does not exist, absolute. */
  readonly missing?: string;
  /**
   * Names of everything else that the line matches; if it matches nothing, of everything in `folder`. Sorted. Folders
   * end in a slash, and a name that ends in .whl is followed by the reason why it is not a wheel.
   */
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
  const excluded: Exclusion[] = [];
  let wheels: string[] = [];
  let sdists: string[] = [];
  for (const line of readPathLines(await literalIfExists(path, workspace))) {
    try {
      const meaning = await meaningOf(line, workspace, home);
      if (line.isExcluded) {
        const isExcluded = (file: string) => meaning.globs.some((glob) => covers(glob, file));
        excluded.push(...wheels.filter(isExcluded).map((wheel) => ({ wheel, line: line.written })));
        wheels = wheels.filter((wheel) => !isExcluded(wheel));
        sdists = sdists.filter((sdist) => !isExcluded(sdist));
        continue;
      }
      const found = await searchLine(line.written, meaning, spend);
      if (found.wheels.length === 0) refuseVariables(line.text);
      lines.push(found);
      wheels.push(...found.wheels);
      sdists.push(...found.sdists);
    } catch (error) {
      throw explainSearch(error, line.written);
    }
  }
  const distinct = (paths: readonly string[]) => [...new Set(paths)].sort();
  return { wheels: distinct(wheels), sdists: distinct(sdists), excluded, lines };
}

/** A file or folder whose name begins with `!` or `#` is neither an exclusion nor a comment. */
async function literalIfExists(path: string, workspace: string): Promise<string> {
  if (!/^[!#][^\r\n]*$/.test(path)) return path;
  return (await exists(resolve(workspace, path))) ? `./${path}` : path;
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** What one line of `path` refers to: an existing file or folder, or globs. */
interface Meaning {
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
    const globs = [{ root: absolute, segments: [], onlyFolders: false, ignoresCase: sep === '\\' }];
    const kind = stats.isDirectory() ? 'folder' : 'file';
    return { existing: kind, globs };
  }
  if (namesOtherHome(path)) throw otherHome(path);
  if (isExcluded) refuseVariables(text);
  return { existing: undefined, globs: readGlobs(path, workspace) };
}

async function searchLine(
  line: string,
  { existing, globs }: Meaning,
  spend: () => void,
): Promise<LineSearch> {
  const { root } = globs[0]!;
  if (existing === 'file') {
    const found = await sortOut([{ path: root, isFolder: false }]);
    return { line, folder: dirname(root), ...found };
  }
  if (existing === 'folder') {
    return { line, folder: root, ...(await sortOut(await entriesIn(root, spend))) };
  }
  const entries: Entry[] = [];
  for (const glob of globs) {
    for await (const match of search(glob, spend)) {
      // An unpacked wheel may be a folder named *.whl.
      if (!match.isFolder || looksLikeWheel(match.path)) entries.push(match);
      else entries.push(...(await entriesIn(match.path, spend)));
    }
  }
  const found = await sortOut(entries);
  if (entries.length > 0) return { line, folder: folderOfGlobs(globs), ...found };
  return { line, wheels: [], sdists: [], ...(await contentsInstead(globs, spend)) };
}

/** What is there instead of a match. */
async function contentsInstead(
  globs: readonly Glob[],
  spend: () => void,
): Promise<Pick<LineSearch, 'folder' | 'missing' | 'others'>> {
  const parent = folderOfGlobs(globs);
  const missing = await firstMissing(globs.length === 1 ? globs[0]!.root : parent);
  const folder = missing === undefined ? parent : dirname(missing);
  const { wheels, others } = await sortOut(await entriesIn(folder, spend).catch(() => []));
  const names = [...wheels.map((wheel) => basename(wheel)), ...others].sort();
  return { folder, others: names, ...(missing === undefined ? {} : { missing }) };
}

/** The highest folder or file of a path that does not exist. */
async function firstMissing(path: string): Promise<string | undefined> {
  let missing: string | undefined;
  for (let at = path; !(await exists(at)) && dirname(at) !== at; at = dirname(at)) missing = at;
  return missing;
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
      "A slot holds one wheel: clear the folder before the build, point 'path' at one of them, or set target: '*', which stores each in its own slot.",
  });
}

interface Entry {
  /** Absolute. */
  readonly path: string;
  readonly isFolder: boolean;
}

/** The entries directly in a folder. */
async function entriesIn(folder: string, spend: () => void): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of await opendir(folder, { bufferSize: 256 })) {
    spend();
    entries.push({ path: join(folder, entry.name), isFolder: entry.isDirectory() });
  }
  return entries;
}

/** Separates wheels from everything else. */
async function sortOut(entries: readonly Entry[]): Promise<Pick<LineSearch, 'wheels' | 'sdists' | 'others'>> {
  const wheels = new Set<string>();
  const sdists = new Set<string>();
  const others = new Map<string, string>();
  for (const { path, isFolder } of entries) {
    const reason = isWheelName(path) ? await whyNotWheel(path) : undefined;
    if (!isFolder && looksLikeSdist(path) && sdists.size < MAX_OTHERS) sdists.add(path);
    if (isWheelName(path) && reason === undefined) wheels.add(path);
    else if (others.size < MAX_OTHERS) {
      const name = basename(path);
      others.set(path, reason === undefined ? `${name}${isFolder ? '/' : ''}` : `${name} (${reason})`);
    }
  }
  return { wheels: [...wheels], sdists: [...sdists], others: [...others.values()].sort() };
}

async function whyNotWheel(path: string): Promise<string | undefined> {
  if (!looksLikeWheel(path)) return 'hidden';
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined) return 'a dangling link';
  if (stats.isFile()) return undefined;
  return stats.isDirectory() ? 'a folder' : 'not a file';
}

function isWheelName(path: string): boolean {
  return /\.whl$/i.test(path);
}

/**
 * Whether a file with this name counts as a wheel: it is not hidden and ends in `.whl`. The case of the suffix does not
 * matter here, so that the later check of the filename can report it.
 */
export function looksLikeWheel(path: string): boolean {
  return isWheelName(path) && !basename(path).startsWith('.');
}

function looksLikeSdist(path: string): boolean {
  return path.endsWith('.tar.gz') && !basename(path).startsWith('.');
}

function explainSearch(error: unknown, line: string): unknown {
  return faultOf(error) === undefined ? error : unreadable(`'path' (${oneLine(line)})`, error);
}
