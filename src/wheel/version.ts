/** Parses, normalises and compares versions (version specifiers specification, PEP 440). */

/** A parsed version. Numbers keep all digits of long dates, and `+1e5` is text, not a number. */
export interface Version {
  /** The normal form (PEP 440, "Normalization"), local part included. */
  readonly text: string;
  readonly epoch: bigint;
  /** Not normalised: 1.0 and 1 are equal, but `==1.0.*` and `==1.*` are not. */
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

/** Python's white space, which differs from JavaScript's in six characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python counts them as white space
const WHITE_SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
/** Real versions have fewer than 100 characters, even with a date and two hashes; Python parses up to 4,300 digits. */
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
 * Parses a version.
 *
 * @param text - may have surrounding white space, which PEP 440 allows
 * @returns undefined if the text is not a version, or has more than 1,000 characters
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
 * Compares two versions (PEP 440, "Summary of permitted suffixes and relative ordering").
 *
 * @returns negative if `a` is lower, positive if it is higher, zero if they are equal
 */
export function compareVersions(a: Version, b: Version): number {
  return comparePublic(a, b) || compareLocal(a.local, b.local);
}

/** Like {@link compareVersions}, but ignores local parts. */
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

/**
 * Whether a version is the wanted one, as `==` decides (PEP 440, "Version matching"): if the wanted version has no local
 * part, that of the other is ignored.
 */
export function isSameVersion(version: Version, wanted: Version): boolean {
  return (wanted.local === undefined ? comparePublic : compareVersions)(version, wanted) === 0;
}

/** Trims like Python's `str.strip`. */
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

/** Missing parts count as zero. */
function compareReleases(a: readonly bigint[], b: readonly bigint[]): number {
  const longer = a.length > b.length ? a : b;
  const differing = longer.findIndex((_, index) => (a[index] ?? 0n) !== (b[index] ?? 0n));
  return differing === -1 ? 0 : compare(a[differing] ?? 0n, b[differing] ?? 0n);
}

/** The development release of a final release comes before its pre-releases. */
function rankOfPhase({ pre, post, dev }: Version): number {
  if (pre !== undefined) return ['a', 'b', 'rc'].indexOf(pre.phase);
  return post === undefined && dev !== undefined ? -1 : 3;
}

/** A development release comes before the release itself. */
function compareDev(a: bigint | undefined, b: bigint | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compare(a, b);
}

/** No local part comes first, letters come before numbers, and a longer local part comes after its prefix. */
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
