/** Globs: the patterns of the Actions toolkit, plus `{a,b}`. Matching and searching take bounded time. */
import type { Dirent } from 'node:fs';
import { opendir, realpath, stat } from 'node:fs/promises';
import nodePath, { join } from 'node:path';
import { WheelStoreError } from '../errors.ts';

/** `path.posix` or `path.win32`. */
export type System = Pick<typeof nodePath, 'dirname' | 'join' | 'normalize' | 'resolve' | 'sep'>;

/** A parsed pattern. */
export interface Glob {
  /** The folder where the search begins, absolute; without a wildcard, the path itself. */
  readonly root: string;
  /** One for each path level below `root`. */
  readonly segments: readonly Segment[];
  readonly ignoresCase: boolean;
}

type Segment = '**' | readonly Token[];
type Token = '*' | '?' | { readonly character: string } | CharacterSet;
interface CharacterSet {
  readonly isNegated: boolean;
  readonly ranges: readonly (readonly [first: string, last: string])[];
}

/** A file or folder that matches a glob. */
export interface Match {
  /** Absolute. */
  readonly path: string;
  readonly isFolder: boolean;
}

const MAX_ALTERNATIVES = 1_000;

/** Whether a text is a pattern and not just the name of one path. */
export function isGlob(text: string): boolean {
  return /[*?[]/.test(text) || expandBraces(text).length > 1;
}

/**
 * Parses a pattern: `*`, `?`, `[a-z]` and `[!a]` within a name, `**` for any number of folders, `{a,b}` and `{1..3}`
 * for alternatives. `[*]` is a literal `*`. A wildcard does not match the leading dot of a hidden name.
 *
 * @param workspace - absolute; taken literally
 * @param system - `path.posix` or `path.win32`; the runner's own by default
 * @returns one glob for each alternative
 * @throws WheelStoreError if there are more than 1,000 alternatives
 */
export function readGlobs(pattern: string, workspace: string, system: System = nodePath): Glob[] {
  const alternatives = expandBraces(pattern);
  if (alternatives.length <= MAX_ALTERNATIVES) {
    return alternatives.map((text) => readGlob(text, workspace, system));
  }
  throw new WheelStoreError({
    title: 'Invalid input',
    reason: `The input 'path' has braces that expand to more than ${MAX_ALTERNATIVES} paths.`,
    remedy: 'Write a wildcard, such as dist/*.whl.',
  });
}

function readGlob(pattern: string, workspace: string, system: System): Glob {
  const isWindows = system.sep === '\\';
  const text = system.normalize(pattern);
  const wildcard = text.search(/[*?[]/);
  const fixed = wildcard === -1 ? text.length : text.lastIndexOf(system.sep, wildcard) + 1;
  const names = text
    .slice(fixed)
    .split(system.sep)
    .filter((name) => name !== '');
  return {
    root: system.resolve(workspace, text.slice(0, fixed)),
    segments: names.map((name) => readSegment(isWindows ? name.toLowerCase() : name)),
    ignoresCase: isWindows,
  };
}

/** Expands braces as Bash does: `{a,b}`, which may be nested, and `{1..3}`; other braces are part of a name. */
function expandBraces(text: string): string[] {
  let done: string[] = [''];
  let rest = text;
  for (let found = firstBraces(rest); found !== undefined; found = firstBraces(rest)) {
    const { before, choices, after } = found;
    const ends = choices.flatMap(expandBraces);
    done = done
      .flatMap((start) => ends.map((end) => `${start}${before}${end}`))
      .slice(0, MAX_ALTERNATIVES + 1);
    rest = after;
  }
  return done.map((start) => start + rest);
}

function firstBraces(text: string): { before: string; choices: string[]; after: string } | undefined {
  for (let open = text.indexOf('{'); open !== -1; open = text.indexOf('{', open + 1)) {
    const commas: number[] = [];
    let depth = 0;
    for (let index = open; index < text.length; index += 1) {
      const character = text[index];
      if (character === '{') depth += 1;
      else if (character === '}') depth -= 1;
      else if (character === ',' && depth === 1) commas.push(index);
      if (depth > 0) continue;
      const inner = text.slice(open + 1, index);
      const choices = commas.length > 0 ? splitAt(text, [open, ...commas, index]) : expandRange(inner);
      if (choices !== undefined)
        return { before: text.slice(0, open), choices, after: text.slice(index + 1) };
      break;
    }
  }
  return undefined;
}

function splitAt(text: string, marks: readonly number[]): string[] {
  return marks.slice(1).map((mark, index) => text.slice(marks[index]! + 1, mark));
}

function expandRange(range: string): string[] | undefined {
  const [, first, last] = /^([0-9]{1,6})\.\.([0-9]{1,6})$/.exec(range) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const [from, to] = [Number(first), Number(last)];
  const count = Math.min(Math.abs(to - from) + 1, MAX_ALTERNATIVES + 1);
  return Array.from({ length: count }, (_, index) => String(from <= to ? from + index : from - index));
}

function readSegment(name: string): Segment {
  if (name === '**') return '**';
  const tokens: Token[] = [];
  for (let index = 0; index < name.length; index += 1) {
    const character = name[index]!;
    const set = character === '[' ? readSet(name, index) : undefined;
    if (set !== undefined) {
      tokens.push(set.token);
      index = set.end;
    } else if (character === '*') {
      if (tokens.at(-1) !== '*') tokens.push('*');
    } else tokens.push(character === '?' ? '?' : { character });
  }
  return tokens;
}

/** A `]` right after the `[` is a member of the set; a `[` without a closing `]` is part of the name. */
function readSet(name: string, open: number): { token: CharacterSet; end: number } | undefined {
  const isNegated = name[open + 1] === '!' || name[open + 1] === '^';
  const first = open + (isNegated ? 2 : 1);
  const end = name.indexOf(']', first + 1);
  if (end === -1) return undefined;
  const ranges: [string, string][] = [];
  for (let index = first; index < end; index += 1) {
    const isRange = name[index + 1] === '-' && index + 2 < end;
    ranges.push([name[index]!, name[isRange ? index + 2 : index]!]);
    if (isRange) index += 2;
  }
  return { token: { isNegated, ranges }, end };
}

/** Backtracks to the last `*` only, so that a match takes at most pattern length times name length steps. */
function matchesName(tokens: readonly Token[], name: string): boolean {
  let token = 0;
  let at = 0;
  let retry: { token: number; at: number } | undefined;
  while (at < name.length) {
    const current = tokens[token];
    if (current === '*') {
      retry = { token: token + 1, at };
      token += 1;
    } else if (current !== undefined && matchesCharacter(current, name[at]!)) {
      token += 1;
      at += 1;
    } else if (retry !== undefined) {
      retry.at += 1;
      ({ token, at } = retry);
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest === '*');
}

function matchesCharacter(token: Exclude<Token, '*'>, character: string): boolean {
  if (token === '?') return true;
  if ('character' in token) return token.character === character;
  return token.isNegated !== token.ranges.some(([first, last]) => first <= character && character <= last);
}

/** The indices of the segments that the next name may match: the states of a nondeterministic automaton. */
type States = ReadonlySet<number>;

function startStates({ segments }: Glob): States {
  return withEmptyMatches(segments, [0]);
}

/** Adds the states that are reached if a `**` matches no folder. */
function withEmptyMatches(segments: readonly Segment[], states: Iterable<number>): States {
  const all = new Set(states);
  for (const state of all) if (segments[state] === '**') all.add(state + 1);
  return all;
}

function advance({ segments, ignoresCase }: Glob, states: States, name: string, hidden: boolean): States {
  const next: number[] = [];
  for (const state of states) {
    const segment = segments[state];
    if (segment === undefined) continue;
    if (name.startsWith('.') && !hidden && !startsWithDot(segment)) continue;
    if (segment === '**') next.push(state);
    else if (matchesName(segment, ignoresCase ? name.toLowerCase() : name)) next.push(state + 1);
  }
  return withEmptyMatches(segments, next);
}

function startsWithDot(segment: Segment): boolean {
  const first = segment === '**' ? undefined : segment[0];
  return typeof first === 'object' && 'character' in first && first.character === '.';
}

/**
 * Whether a glob matches a path, or a folder above it. Used for exclusions, so wildcards match hidden names too.
 *
 * @param path - absolute
 */
export function covers(glob: Glob, path: string, system: System = nodePath): boolean {
  const fold = (text: string) => (glob.ignoresCase ? text.toLowerCase() : text);
  const [root, whole] = [fold(glob.root), fold(path)];
  const inside = root.endsWith(system.sep) ? root : root + system.sep;
  if (whole !== root && !whole.startsWith(inside)) return false;
  const names = whole
    .slice(inside.length)
    .split(system.sep)
    .filter((name) => name !== '');
  let states = startStates(glob);
  for (const name of names) {
    if (states.has(glob.segments.length)) return true;
    states = advance(glob, states, name, true);
  }
  return states.has(glob.segments.length);
}

/**
 * Finds the files and folders that a glob matches. Links to folders are followed, but no folder is searched twice.
 * Unreadable folders below the root are skipped.
 *
 * @param spend - called for each entry that is read; throws to end the search
 * @throws whatever `spend` throws, and the error of the file system if the root exists but cannot be read
 */
export async function* search(glob: Glob, spend: () => void): AsyncGenerator<Match> {
  const last = glob.segments.length;
  const found = await stat(glob.root).catch(undefinedIfAbsent);
  if (found === undefined) return;
  const start = startStates(glob);
  if (start.has(last)) yield { path: glob.root, isFolder: found.isDirectory() };
  if (!found.isDirectory() || last === 0) return;
  const seen = new Set<string>();
  const stack = [{ path: glob.root, real: await realpath(glob.root), states: start }];
  for (let folder = stack.pop(); folder !== undefined; folder = stack.pop()) {
    const { path, real, states } = folder;
    const id = `${[...states].join()} ${real}`;
    if (seen.has(id)) continue;
    seen.add(id);
    for await (const entry of entriesOf(path, path === glob.root, spend)) {
      const next = advance(glob, states, entry.name, false);
      if (next.size === 0) continue;
      const child = join(path, entry.name);
      const isFolder = await leadsToFolder(entry, child);
      if (next.has(last)) yield { path: child, isFolder };
      if (!isFolder || (next.size === 1 && next.has(last))) continue;
      const childReal = entry.isSymbolicLink()
        ? await realpath(child).catch(() => child)
        : join(real, entry.name);
      stack.push({ path: child, real: childReal, states: next });
    }
  }
}

async function leadsToFolder(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

async function* entriesOf(folder: string, isFirst: boolean, spend: () => void): AsyncGenerator<Dirent> {
  const open = await opendir(folder, { bufferSize: 256 }).catch((error: unknown) => {
    if (isFirst) throw error;
  });
  if (open === undefined) return;
  try {
    for (let entry = await next(open, isFirst); entry !== null; entry = await next(open, isFirst)) {
      spend();
      yield entry;
    }
  } finally {
    await open.close();
  }
}

async function next(open: { read(): Promise<Dirent | null> }, isFirst: boolean): Promise<Dirent | null> {
  return open.read().catch((error: unknown) => {
    if (isFirst) throw error;
    return null;
  });
}

/** Rethrows every error except those for a path that does not exist. */
function undefinedIfAbsent(error: unknown): undefined {
  if (!['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
}
