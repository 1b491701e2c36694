/** Whether a wheel's Requires-Python admits an interpreter. */
import type { Interpreter } from './interpreter.ts';
import { compareOrders, orderOf, stripSpace, type VersionOrder } from './version.ts';

/** One clause of a specifier set, such as `>=3.9`. */
interface Clause {
  readonly operator: string;
  readonly version: string;
}

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
  const python = release === undefined ? undefined : orderOf(release);
  if (release === undefined || python === undefined) return true;
  return clauses.every(({ operator, version }) =>
    operator === '===' ? version.toLowerCase() === release : admits(operator, version, python),
  );
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
  const [, operator, version] = CLAUSE.exec(text) ?? [];
  if (operator === undefined || version === undefined) return undefined;
  if (operator === '===') return /[\s;)]/.test(version) ? undefined : { operator, version };
  const takesMore = operator === '==' || operator === '!=';
  if (WILDCARD.test(version)) return takesMore ? { operator, version } : undefined;
  const order = orderOf(version);
  if (order === undefined) return undefined;
  if (order.local !== undefined && !takesMore) return undefined;
  if (operator === '~=' && releaseOf(version).length < 2) return undefined;
  return { operator, version };
}

function admits(operator: string, version: string, python: VersionOrder): boolean {
  if (operator === '==') return equals(version, python);
  if (operator === '!=') return !equals(version, python);
  const difference = compareOrders(python, orderOf(version)!);
  if (operator === '~=') {
    return difference >= 0 && startsWith(python, orderOf(version)!.epoch, releaseOf(version).slice(0, -1));
  }
  if (operator === '<=') return difference <= 0;
  if (operator === '>=') return difference >= 0;
  return operator === '<' ? difference < 0 : difference > 0;
}

function equals(version: string, python: VersionOrder): boolean {
  const base = WILDCARD.exec(version)?.[1];
  if (base === undefined) return compareOrders(python, orderOf(version)!) === 0;
  return startsWith(python, orderOf(base)!.epoch, releaseOf(base));
}

function startsWith(python: VersionOrder, epoch: bigint, prefix: readonly bigint[]): boolean {
  return python.epoch === epoch && prefix.every((part, index) => part === (python.release[index] ?? 0n));
}

/** The release as written: its trailing zeros tell how much of it a wildcard compares. */
function releaseOf(version: string): bigint[] {
  return /^v?(?:[0-9]+!)?([0-9]+(?:\.[0-9]+)*)/i.exec(version)![1]!.split('.').map(BigInt);
}
