/** Compares a wheel's Requires-Python with an interpreter. */
import type { Interpreter } from './interpreter.ts';
import { compareVersions, readVersion, stripSpace, type Version } from './version.ts';

/** One clause of a specifier set, such as `>=3.9`: whether it allows a version of Python. */
type Clause = (python: Version) => boolean;

/** PEP 440, "Version specifiers". `.*` may follow only a plain release, and only after == or !=. */
const CLAUSE = /^(===|~=|==|!=|<=|>=|<|>)\s*(.*)$/s;
const WILDCARD = /^(v?(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*)\.\*$/i;

/**
 * Whether an interpreter may install a wheel with this Requires-Python (core metadata specification; PEP 440, "Version
 * specifiers"). As in pip, an invalid specifier allows every interpreter, and a pre-release of Python counts as the
 * release.
 *
 * @param requiresPython - METADATA's Requires-Python; undefined allows every interpreter
 */
export function allowsPython(requiresPython: string | undefined, interpreter: Interpreter): boolean {
  const clauses = (requiresPython ?? '').split(',').map(stripSpace).filter(Boolean).map(readClause);
  if (!clauses.every((clause) => clause !== undefined)) return true;
  const release = /^[0-9]+(?:\.[0-9]+)*/.exec(interpreter.version)?.[0];
  const python = readVersion(release ?? '');
  return python === undefined || clauses.every((allows) => allows(python));
}

/** Whether packaging accepts a text as a set of specifiers, such as `>=3.9,<4`; the empty set is valid. */
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
  const isInRange = RANGES[operator]!;
  return (python) =>
    isInRange(compareVersions(python, version)) &&
    (operator !== '~=' || startsWith(python, epoch, release.slice(0, -1)));
}

/** By operator: whether it allows a version, given the result of comparing it with that of the clause. */
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
