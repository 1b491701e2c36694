/** Globs: the patterns of the Actions toolkit, plus `{a,b}`. Matching takes bounded time. */
import nodePath from 'node:path';
import { WheelStoreError } from '../errors.ts';
import { expandBraces, MAX_ALTERNATIVES } from './braces.ts';

/** `path.posix` or `path.win32`. */
export type System = Pick<typeof nodePath, 'dirname' | 'join' | 'normalize' | 'resolve' | 'sep'>;

/** A parsed pattern. */
export interface Glob {
  /** The folder where the search begins, absolute; without a wildcard, the path itself. */
  readonly root: string;
  /** One for each path level below `root`. */
  readonly segments: readonly Segment[];
  /** Whether the pattern ends in a separator, so that it does not match files. */
  readonly onlyFolders: boolean;
  readonly ignoresCase: boolean;
}

type Segment = '**' | readonly Token[];
type Token = '*' | '?' | { readonly character: string } | CharacterSet;
interface CharacterSet {
  readonly isNegated: boolean;
  readonly ranges: readonly (readonly [first: string, last: string])[];
}

/** Whether a text is a pattern and not just the name of one path. */
export function isGlob(text: string, system: System = nodePath): boolean {
  return firstWildcard(text, system) !== -1 || expandBraces(text, hasEscapes(system)).length > 1;
}

/** On Windows, a backslash is a separator. */
function hasEscapes(system: System): boolean {
  return system.sep === '/';
}

function firstWildcard(text: string, system: System): number {
  const plain = hasEscapes(system) ? text.replaceAll(/\\./gs, '..') : text;
  return plain.search(/[*?[]/);
}

/**
 * Parses a pattern: `*`, `?`, `[a-z]` and `[!a]` within a name, `**` for any number of folders, `{a,b}` and `{1..3}`
 * for alternatives. `[*]` and, except on Windows, `\*` are a literal `*`. A wildcard does not match the leading dot of a
 * hidden name. A pattern that ends in a separator matches folders only.
 *
 * @param workspace - absolute; taken literally
 * @param system - `path.posix` or `path.win32`; the runner's own by default
 * @returns one glob for each alternative
 * @throws WheelStoreError if there are more than 1,000 alternatives
 */
export function readGlobs(pattern: string, workspace: string, system: System = nodePath): Glob[] {
  const alternatives = expandBraces(pattern, hasEscapes(system));
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
  const isWindows = !hasEscapes(system);
  const text = system.normalize(pattern);
  const wildcard = firstWildcard(text, system);
  const fixed = wildcard === -1 ? text.length : text.lastIndexOf(system.sep, wildcard) + 1;
  const start = text.slice(0, fixed);
  const names = text
    .slice(fixed)
    .split(system.sep)
    .filter((name) => name !== '');
  return {
    root: system.resolve(workspace, isWindows ? start : start.replaceAll(/\\(.)/gs, '$1')),
    segments: names.map((name) => readSegment(isWindows ? name.toLowerCase() : name, !isWindows)),
    onlyFolders: text.endsWith(system.sep),
    ignoresCase: isWindows,
  };
}

function readSegment(name: string, hasEscapes: boolean): Segment {
  if (name === '**') return '**';
  const tokens: Token[] = [];
  for (let index = 0; index < name.length; index += 1) {
    const character = name[index]!;
    const isEscape = hasEscapes && character === '\\' && index + 1 < name.length;
    const set = character === '[' ? readSet(name, index, hasEscapes) : undefined;
    if (isEscape) {
      index += 1;
      tokens.push({ character: name[index]! });
    } else if (set !== undefined) {
      tokens.push(set.token);
      index = set.end;
    } else if (character === '*') {
      if (tokens.at(-1) !== '*') tokens.push('*');
    } else tokens.push(character === '?' ? '?' : { character });
  }
  return tokens;
}

/** A `]` right after the `[` is a member of the set; a `[` without a closing `]` is part of the name. */
function readSet(
  name: string,
  open: number,
  hasEscapes: boolean,
): { token: CharacterSet; end: number } | undefined {
  const isNegated = name[open + 1] === '!' || name[open + 1] === '^';
  const start = open + (isNegated ? 2 : 1);
  const ranges: [string, string][] = [];
  let index = start;
  const next = () => {
    if (hasEscapes && name[index] === '\\') index += 1;
    index += 1;
    return name[index - 1];
  };
  while (index < name.length && (name[index] !== ']' || index === start)) {
    const first = next();
    const isRange = name[index] === '-' && index + 1 < name.length && name[index + 1] !== ']';
    if (isRange) index += 1;
    const last = isRange ? next() : first;
    if (first !== undefined && last !== undefined) ranges.push([first, last]);
  }
  return name[index] === ']' ? { token: { isNegated, ranges }, end: index } : undefined;
}

/**
 * The folder that all the globs of a pattern start in: everything before the first wildcard.
 *
 * @param globs - at least one
 * @param system - `path.posix` or `path.win32`; the runner's own by default
 */
export function folderOfGlobs(globs: readonly Glob[], system: System = nodePath): string {
  const [first = '', ...folders] = globs.map(({ root, segments }) =>
    segments.length === 0 ? system.dirname(root) : root,
  );
  let common = first;
  const holds = (folder: string) => `${folder}${system.sep}`.startsWith(`${common}${system.sep}`);
  while (!folders.every(holds) && system.dirname(common) !== common) common = system.dirname(common);
  return common;
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
export type States = ReadonlySet<number>;

/** The states before the first name below the root. */
export function startStates({ segments }: Glob): States {
  return withEmptyMatches(segments, [0]);
}

/** Adds the states that are reached if a `**` matches no folder. */
function withEmptyMatches(segments: readonly Segment[], states: Iterable<number>): States {
  const all = new Set(states);
  for (const state of all) if (segments[state] === '**') all.add(state + 1);
  return all;
}

/**
 * The states after a name.
 *
 * @param hidden - whether wildcards match names that begin with a dot
 */
export function advance(
  { segments, ignoresCase }: Glob,
  states: States,
  name: string,
  hidden: boolean,
): States {
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
 * Whether a glob matches a file, or a folder above it. Used for exclusions, so wildcards match hidden names too.
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
  return states.has(glob.segments.length) && !glob.onlyFolders;
}
