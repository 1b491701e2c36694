/** Versions as the version specifiers specification (PEP 440) reads, normalises and orders them. */

/** A version, normalised. */
export interface Version {
  /** The normal form, local part included. */
  readonly text: string;
  /** The normal form of the local part; undefined where there is none. */
  readonly local: string | undefined;
}

/** A version's place in the order of PEP 440, for {@link compareOrders}. */
export interface VersionOrder {
  readonly epoch: bigint;
  /** Without trailing zeros: 1.0 and 1 are equal. */
  readonly release: readonly bigint[];
  /** Phase (a lone dev release first, a final release last) and number of the pre-release. */
  readonly pre: readonly [number, bigint];
  /** -1 where there is none. */
  readonly post: bigint;
  /** Undefined, which sorts last, where there is none. */
  readonly dev: bigint | undefined;
  readonly local: readonly (bigint | string)[] | undefined;
  readonly isPreRelease: boolean;
}

/** PEP 440, "Appendix B: Parsing version strings with regular expressions". */
const VERSION = new RegExp(
  [
    '^v?(?:(?<epoch>[0-9]+)!)?(?<release>[0-9]+(?:\\.[0-9]+)*)',
    '(?:[-_.]?(?<preLetter>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?<preNumber>[0-9]+)?)?',
    '(?<post>-(?<postImplicit>[0-9]+)|[-_.]?(?:post|rev|r)[-_.]?(?<postNumber>[0-9]+)?)?',
    '(?<dev>[-_.]?dev[-_.]?(?<devNumber>[0-9]+)?)?',
    '(?:\\+(?<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?$',
  ].join(''),
  'i',
);

/** What Python counts as white space, which JavaScript's own set differs from in six characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python counts them as white space
const WHITE_SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
/** Of real versions even those with a date and two hashes are below a hundred; Python reads no longer numbers than 4,300 digits. */
const MAX_LENGTH = 1_000;

const PRE_RELEASE: Readonly<Record<string, string>> = {
  alpha: 'a',
  beta: 'b',
  c: 'rc',
  pre: 'rc',
  preview: 'rc',
};
const PHASES = ['dev', 'a', 'b', 'rc', 'final'];

/**
 * Reads a version and brings it into its normal form (PEP 440, "Normalization"). Numbers keep all their
 * digits: dates and hashes such as `+1e5` are no floats.
 *
 * @param text - may have white space around it, as everywhere in PEP 440
 * @returns undefined when the text is not a version, or one of more than 1,000 characters
 */
export function readVersion(text: string): Version | undefined {
  const groups = matchVersion(text);
  if (groups === undefined) return undefined;
  const letter = preLetter(groups);
  const normal = [
    isZero(groups.epoch) ? '' : `${number(groups.epoch)}!`,
    groups.release!.split('.').map(number).join('.'),
    letter === undefined ? '' : `${letter}${number(groups.preNumber)}`,
    groups.post === undefined ? '' : `.post${number(groups.postImplicit ?? groups.postNumber)}`,
    groups.dev === undefined ? '' : `.dev${number(groups.devNumber)}`,
  ].join('');
  if (groups.local === undefined) return { text: normal, local: undefined };
  const local = localSegments(groups.local).join('.');
  return { text: `${normal}+${local}`, local };
}

/**
 * A version's place in the order of versions (PEP 440, "Summary of permitted suffixes and relative ordering").
 *
 * @returns undefined when the text is not a version
 */
export function orderOf(text: string): VersionOrder | undefined {
  const groups = matchVersion(text);
  if (groups === undefined) return undefined;
  const letter = preLetter(groups);
  const isFinal = letter === undefined;
  const isDevAlone = isFinal && groups.post === undefined && groups.dev !== undefined;
  return {
    epoch: BigInt(groups.epoch ?? 0),
    release: withoutTrailingZeros(groups.release!.split('.').map(BigInt)),
    pre: isFinal
      ? [PHASES.indexOf(isDevAlone ? 'dev' : 'final'), 0n]
      : [PHASES.indexOf(letter), BigInt(groups.preNumber ?? 0)],
    post: groups.post === undefined ? -1n : BigInt(groups.postImplicit ?? groups.postNumber ?? 0),
    dev: groups.dev === undefined ? undefined : BigInt(groups.devNumber ?? 0),
    local:
      groups.local === undefined
        ? undefined
        : localSegments(groups.local).map((segment) => (isNumber(segment) ? BigInt(segment) : segment)),
    isPreRelease: !isFinal || groups.dev !== undefined,
  };
}

/**
 * Which of two versions is the higher, by the order of PEP 440.
 *
 * @returns below zero when `a` is the lower, above zero when it is the higher, zero when they are equal
 */
export function compareOrders(a: VersionOrder, b: VersionOrder): number {
  return (
    compare(a.epoch, b.epoch) ||
    compareLists(a.release, b.release) ||
    a.pre[0] - b.pre[0] ||
    compare(a.pre[1], b.pre[1]) ||
    compare(a.post, b.post) ||
    compareDev(a.dev, b.dev) ||
    compareLocal(a.local, b.local)
  );
}

/** Whether two texts are the same version (1.0 is 1.0.0), with or without the local part. */
export function isSameVersion(a: string, b: string, { local }: { readonly local: boolean }): boolean {
  const [one, other] = [orderOf(a), orderOf(b)];
  if (one === undefined || other === undefined) return false;
  if (local) return compareOrders(one, other) === 0;
  return compareOrders({ ...one, local: undefined }, { ...other, local: undefined }) === 0;
}

/** Takes off what Python's `str.strip` takes off. */
export function stripSpace(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && WHITE_SPACE.test(text[start]!)) start += 1;
  while (end > start && WHITE_SPACE.test(text[end - 1]!)) end -= 1;
  return text.slice(start, end);
}

type VersionGroups = Readonly<Record<string, string | undefined>>;

function matchVersion(text: string): VersionGroups | undefined {
  const stripped = stripSpace(text);
  return stripped.length > MAX_LENGTH ? undefined : VERSION.exec(stripped)?.groups;
}

function preLetter(groups: VersionGroups): string | undefined {
  const letter = groups.preLetter?.toLowerCase();
  return letter === undefined ? undefined : (PRE_RELEASE[letter] ?? letter);
}

function localSegments(local: string): string[] {
  return local
    .toLowerCase()
    .split(/[-_.]/)
    .map((segment) => (isNumber(segment) ? number(segment) : segment));
}

function withoutTrailingZeros(release: readonly bigint[]): readonly bigint[] {
  return release.slice(0, release.findLastIndex((part) => part !== 0n) + 1);
}

function compare(a: bigint | string, b: bigint | string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function compareLists(a: readonly bigint[], b: readonly bigint[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (part !== other) return compare(part, other);
  }
  return a.length - b.length;
}

function compareDev(a: bigint | undefined, b: bigint | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compare(a, b);
}

function compareLocal(a: VersionOrder['local'], b: VersionOrder['local']): number {
  if (a === undefined || b === undefined) return Number(b === undefined) - Number(a === undefined);
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const areAlike = typeof part === typeof other;
    if (!areAlike) return typeof part === 'bigint' ? 1 : -1;
    if (part !== other) return compare(part, other);
  }
  return a.length - b.length;
}

function isNumber(segment: string): boolean {
  return /^[0-9]+$/.test(segment);
}

function isZero(digits: string | undefined): boolean {
  return number(digits) === '0';
}

/** Digits without leading zeros; none are zero. */
function number(digits: string | undefined): string {
  return (digits ?? '').replace(/^0+(?=[0-9])/, '') || '0';
}
