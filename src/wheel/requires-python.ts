/** Whether a wheel's Requires-Python admits an interpreter. */
import type { Interpreter } from './interpreter.ts';
import { compareVersions, readVersion, stripSpace, type Version } from './version.ts';

/** One clause of a specifier set, such as `>=3.9`: whether it admits a version of Python. */
type Clause = (python: Version) => boolean;

/** PEP 440, "Version specifiers". A `.*` may follow a release alone, and only == and != take one. */
const CLAUSE = /^(===|~=|==|!=|<=|>=|<|>)\s*(.*)$/s;
const WILDCARD = /^(v?(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*)\.\*$/i;

/**
 * Whether an interpreter may install a wheel with this Requires-Python (core metadata specification; PEP 440,
 * "Version specifiers"). As pip does it: an invalid specifier admits every interpreter, and a pre-release of
 * Python counts as the release.
 *
 * @param requiresPython - METADATA's Requires-Python; undefined admits every interpreter
 */
export function allowsPython(requiresPython: string | undefined, interpreter: Interpreter): boolean {
  const clauses = (requiresPython ?? '').split(',').map(stripSpace).filter(Boolean).map(readClause);
  if (!clauses.every((clause) => clause !== undefined)) return true;
  const release = /^[0-9]+(?:\.[0-9]+)*/.exec(interpreter.version)?.[0];
  const python = readVersion(release ?? '');
  return python === undefined || clauses.every((admits) => admits(python));
}

/** Whether a text is a set of specifiers that packaging reads, such as `>=3.9,<4`; an empty one is. */
export function isSpecifierSet(text: string): boolean {
  return text
    .split(',')
    .map(stripSpace)
    .filter(Boolean)
    .every((clause) => readClause(clause) !== undefined);
}

function readClause(text: string): Clause | undefined {
  const [, operator, written] = CLAUSE.exec(text) ?? [];
  if (operator === undefined || written === undefined) return undefined;
  if (operator === '===') return arbitraryClause(written);
  const base = WILDCARD.exec(written)?.[1];
  const version = readVersion(base ?? written);
  if (version === undefined) return undefined;
  return base === undefined ? comparingClause(operator, version) : prefixClause(operator, version);
}

function arbitraryClause(written: string): Clause | undefined {
  return /[\s;)]/.test(written) ? undefined : (python) => written.toLowerCase() === python.text;
}

function prefixClause(operator: string, { epoch, release }: Version): Clause | undefined {
  if (operator === '==') return (python) => startsWith(python, epoch, release);
  return operator === '!=' ? (python) => !startsWith(python, epoch, release) : undefined;
}

function comparingClause(operator: string, version: Version): Clause | undefined {
  const { epoch, release, local } = version;
  if (local !== undefined && operator !== '==' && operator !== '!=') return undefined;
  if (operator === '~=' && release.length < 2) return undefined;
  const isIn = RANGES[operator]!;
  return (python) =>
    isIn(compareVersions(python, version)) &&
    (operator !== '~=' || startsWith(python, epoch, release.slice(0, -1)));
}

/** By operator: whether it admits a version by its difference from the clause's own. */
const RANGES: Readonly<Record<string, (difference: number) => boolean>> = {
  '==': (difference) => difference === 0,
  '!=': (difference) => difference !== 0,
  '<=': (difference) => difference <= 0,
  '>=': (difference) => difference >= 0,
  '~=': (difference) => difference >= 0,
  '<': (difference) => difference < 0,
  '>': (difference) => difference > 0,
};

function startsWith(python: Version, epoch: bigint, prefix: readonly bigint[]): boolean {
  return python.epoch === epoch && prefix.every((part, index) => part === (python.release[index] ?? 0n));
}
