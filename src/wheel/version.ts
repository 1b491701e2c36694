/** Versions as the version specifiers specification (PEP 440) reads, normalises and orders them: read once, then compared. */

/** A version, read. Numbers keep all their digits: dates and hashes such as `+1e5` are no floats. */
export interface Version {
  /** The normal form (PEP 440, "Normalization"), local part included. */
  readonly text: string;
  readonly epoch: bigint;
  /** As written: 1.0 and 1 are equal, but `==1.0.*` and `==1.*` are not. */
  readonly release: readonly bigint[];
  readonly pre: { readonly phase: Phase; readonly number: bigint } | undefined;
  readonly post: bigint | undefined;
  readonly dev: bigint | undefined;
  readonly local: readonly (bigint | string)[] | undefined;
}

/** The phase of a pre-release, in its normal form. */
type Phase = 'a' | 'b' | 'rc';

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

const PHASES: Readonly<Record<string, Phase>> = {
  a: 'a',
  alpha: 'a',
  b: 'b',
  beta: 'b',
  rc: 'rc',
  c: 'rc',
  pre: 'rc',
  preview: 'rc',
};

/**
 * Reads a version.
 *
 * @param text - may have white space around it, as everywhere in PEP 440
 * @returns undefined when the text is not a version, or one of more than 1,000 characters
 */
export function readVersion(text: string): Version | undefined {
  const stripped = stripSpace(text);
  const groups = stripped.length > MAX_LENGTH ? undefined : VERSION.exec(stripped)?.groups;
  if (groups === undefined) return undefined;
  const phase = PHASES[groups.preLetter?.toLowerCase() ?? ''];
  const parts = {
    epoch: BigInt(groups.epoch ?? 0),
    release: groups.release!.split('.').map(BigInt),
    pre: phase === undefined ? undefined : { phase, number: BigInt(groups.preNumber ?? 0) },
    post: groups.post === undefined ? undefined : BigInt(groups.postImplicit ?? groups.postNumber ?? 0),
    dev: groups.dev === undefined ? undefined : BigInt(groups.devNumber ?? 0),
    local: groups.local?.toLowerCase().split(/[-_.]/).map(readSegment),
  };
  return { text: normalForm(parts), ...parts };
}

/** Whether a version is a pre-release or a development release (PEP 440, "Handling of pre-releases"). */
export function isPreRelease({ pre, dev }: Version): boolean {
  return pre !== undefined || dev !== undefined;
}

/**
 * Which of two versions is the higher (PEP 440, "Summary of permitted suffixes and relative ordering").
 *
 * @returns below zero when `a` is the lower, above zero when it is the higher, zero when they are equal
 */
export function compareVersions(a: Version, b: Version): number {
  return comparePublic(a, b) || compareLocal(a.local, b.local);
}

/** Like {@link compareVersions}, without regard to local parts. */
export function comparePublic(a: Version, b: Version): number {
  return (
    compare(a.epoch, b.epoch) ||
    compareReleases(a.release, b.release) ||
    rankOfPhase(a) - rankOfPhase(b) ||
    compare(a.pre?.number ?? 0n, b.pre?.number ?? 0n) ||
    compare(a.post ?? -1n, b.post ?? -1n) ||
    compareDev(a.dev, b.dev)
  );
}

/** Takes off what Python's `str.strip` takes off. */
export function stripSpace(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && WHITE_SPACE.test(text[start]!)) start += 1;
  while (end > start && WHITE_SPACE.test(text[end - 1]!)) end -= 1;
  return text.slice(start, end);
}

function normalForm({ epoch, release, pre, post, dev, local }: Omit<Version, 'text'>): string {
  return [
    epoch === 0n ? '' : `${epoch}!`,
    release.join('.'),
    pre === undefined ? '' : `${pre.phase}${pre.number}`,
    post === undefined ? '' : `.post${post}`,
    dev === undefined ? '' : `.dev${dev}`,
    local === undefined ? '' : `+${local.join('.')}`,
  ].join('');
}

function readSegment(segment: string): bigint | string {
  return /^[0-9]+$/.test(segment) ? BigInt(segment) : segment;
}

function compare(a: bigint | string, b: bigint | string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** What is left out counts as zero. */
function compareReleases(a: readonly bigint[], b: readonly bigint[]): number {
  const longer = a.length > b.length ? a : b;
  const differing = longer.findIndex((_, index) => (a[index] ?? 0n) !== (b[index] ?? 0n));
  return differing === -1 ? 0 : compare(a[differing] ?? 0n, b[differing] ?? 0n);
}

/** A development release of a final release comes before all of its pre-releases. */
function rankOfPhase({ pre, post, dev }: Version): number {
  if (pre !== undefined) return ['a', 'b', 'rc'].indexOf(pre.phase);
  return post === undefined && dev !== undefined ? -1 : 3;
}

/** A development release comes before what it leads to. */
function compareDev(a: bigint | undefined, b: bigint | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compare(a, b);
}

/** No local part comes first, letters come before numbers, and what goes on comes after what ends. */
function compareLocal(a: Version['local'], b: Version['local']): number {
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
