/** Versions as the version specifiers specification (PEP 440) reads and normalises them. */

/** A version, normalised. */
export interface Version {
  /** The normal form, local part included. */
  readonly text: string;
  /** The normal form of the local part; undefined where there is none. */
  readonly local: string | undefined;
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

const PRE_RELEASE: Readonly<Record<string, string>> = {
  alpha: 'a',
  beta: 'b',
  c: 'rc',
  pre: 'rc',
  preview: 'rc',
};

/**
 * Reads a version and brings it into its normal form (PEP 440, "Normalization"). Numbers keep all their
 * digits.
 *
 * @returns undefined when the text is no version
 */
export function readVersion(text: string): Version | undefined {
  const groups = VERSION.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { epoch, release, preLetter, preNumber, post, postImplicit, postNumber, dev, devNumber, local } =
    groups;
  const letter = preLetter?.toLowerCase();
  const normal = [
    isZero(epoch) ? '' : `${number(epoch)}!`,
    release!.split('.').map(number).join('.'),
    letter === undefined ? '' : `${PRE_RELEASE[letter] ?? letter}${number(preNumber)}`,
    post === undefined ? '' : `.post${number(postImplicit ?? postNumber)}`,
    dev === undefined ? '' : `.dev${number(devNumber)}`,
  ].join('');
  if (local === undefined) return { text: normal, local: undefined };
  const segments = local
    .toLowerCase()
    .split(/[-_.]/)
    .map((segment) => (/^[0-9]+$/.test(segment) ? number(segment) : segment));
  return { text: `${normal}+${segments.join('.')}`, local: segments.join('.') };
}

function isZero(digits: string | undefined): boolean {
  return number(digits) === '0';
}

/** Digits without leading zeros; none are zero. */
function number(digits: string | undefined): string {
  return (digits ?? '').replace(/^0+(?=[0-9])/, '') || '0';
}
