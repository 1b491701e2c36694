/** Parses wheel filenames (binary distribution format; PEP 427). */
import { WheelStoreError } from '../errors.ts';
import { quote } from '../untrusted/quote.ts';
import { readVersion, type Version } from './version.ts';

/** A parsed filename of a wheel, or of an sdist, which has neither build nor tags. */
export interface WheelName {
  readonly filename: string;
  /** Normalised (PEP 503). */
  readonly project: string;
  readonly version: Version;
  /** The build tag: its leading number, often a date and time, and the rest. */
  readonly build: readonly [bigint, string] | undefined;
  /** Compatibility tags (PEP 425), compressed sets expanded, lower case, without duplicates. */
  readonly tags: readonly string[];
}

/** What is wrong with a filename, and how to fix it. */
interface Fault {
  readonly fault: string;
  readonly remedy: string;
}

const FORM = '{project}-{version}(-{build})-{python}-{abi}-{platform}.whl';
const FORM_REMEDY = `The form is ${FORM}, such as foo-1.0+cu121-cp312-cp312-linux_x86_64.whl.`;

/** Workflows paste outputs into shell commands, so characters with a meaning in a shell are not allowed. */
export const INVALID_CHARACTER = /[^A-Za-z0-9_.+!-]/u;
const PROJECT = /^[A-Za-z0-9_.]+$/;
const TAG_PART = /^[A-Za-z0-9_]+$/;
/** The longest key in S3, in bytes; valid names are ASCII. Limits of the file system show when a file is written. */
export const MAX_LENGTH = 1_024;
/** Compressed sets multiply; real wheels have fewer than a hundred tags. */
const MAX_TAGS = 1_000;

/**
 * Parses a wheel's filename (binary distribution format, "File name convention"). It accepts what packaging's
 * `parse_wheel_filename` accepts, except for:
 *
 * - characters other than ASCII letters, digits and `_ . + ! -`
 * - tags with characters other than letters, digits and `_`
 * - names of more than 1,024 bytes or with more than 1,000 tags
 *
 * @throws WheelStoreError if the name is invalid; it names the fault
 */
export function parseWheelFilename(filename: string): WheelName {
  const read = readParts(filename);
  if (!('fault' in read)) return read;
  const { fault, remedy } = mangling(filename) ?? read;
  throw new WheelStoreError({
    title: 'Not a wheel filename',
    reason: `${quote(filename)} is not the filename of a wheel: ${fault}.`,
    remedy,
  });
}

/** Like {@link parseWheelFilename}, but returns undefined if the name is invalid. */
export function readWheelFilename(filename: string): WheelName | undefined {
  if (!filename.endsWith('.whl')) return undefined;
  const read = readParts(filename);
  return 'fault' in read ? undefined : read;
}

/**
 * Why a name that looks like a wheel filename is invalid: the end of a sentence ("it holds …"), without a full stop.
 *
 * @returns undefined if the name is valid, or does not end in `.whl` (upper or lower case)
 */
export function wheelNameFault(filename: string): string | undefined {
  if (!/\.whl$/i.test(filename)) return undefined;
  const read = readParts(filename);
  return 'fault' in read ? (mangling(filename) ?? read).fault : undefined;
}

/** Normalises the name of a project (PEP 503, "Normalized Names"). */
export function normaliseProject(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

/**
 * Expands a compressed tag set (PEP 425, "Compressed Tag Sets"), lower case, without duplicates.
 *
 * @param segments - the python, abi and platform segments
 */
export function expandTags([pythons, abis, platforms]: readonly [string, string, string]): string[] {
  const [p, a, q] = [pythons, abis, platforms].map((segment) => [
    ...new Set(segment.toLowerCase().split('.')),
  ]) as [string[], string[], string[]];
  return p.flatMap((python) => a.flatMap((abi) => q.map((platform) => `${python}-${abi}-${platform}`)));
}

/** How many tags {@link expandTags} returns at most. */
export function countTags(segments: readonly string[]): number {
  return segments.reduce((product, segment) => product * segment.split('.').length, 1);
}

function readParts(filename: string): WheelName | Fault {
  if (!filename.endsWith('.whl')) return fault('it does not end in .whl');
  if (filename.length > MAX_LENGTH) return fault(`it is longer than ${MAX_LENGTH} bytes`);
  const wrong = INVALID_CHARACTER.exec(filename)?.[0];
  if (wrong !== undefined) return characterFault(wrong);
  const parts = filename.slice(0, -'.whl'.length).split('-');
  if (parts.length !== 5 && parts.length !== 6) {
    return fault(`it has ${parts.length} parts between dashes instead of 5 or 6`);
  }
  const [project, versionText, buildText] = parts as [string, string, string];
  const segments = parts.slice(-3) as [string, string, string];
  const version = readVersion(versionText);
  const build = parts.length === 6 ? readBuild(buildText) : undefined;
  return (
    projectFault(project) ??
    (version === undefined ? versionFault(versionText) : undefined) ??
    (build === null ? buildFault(buildText) : undefined) ??
    tagFault(segments) ??
    wheelName(filename, project, version!, build ?? undefined, segments)
  );
}

function wheelName(
  filename: string,
  project: string,
  version: Version,
  build: WheelName['build'],
  segments: readonly [string, string, string],
): WheelName {
  let expanded: string[] | undefined;
  return {
    filename,
    project: normaliseProject(project),
    version,
    build,
    // Expanded on demand: most names in a listing are never checked for their tags.
    get tags() {
      expanded ??= expandTags(segments);
      return expanded;
    },
  };
}

function characterFault(character: string): Fault {
  return fault(
    `it holds ${quote(character)}`,
    'The filename of a wheel holds only letters (A to Z, a to z), digits and _ . + ! -, since scripts paste it into commands.',
  );
}

function projectFault(project: string): Fault | undefined {
  if (!project.includes('__') && PROJECT.test(project)) return undefined;
  return fault(
    `${quote(project)} is not an escaped project name`,
    'Write each run of - _ and . in the name of the project as one _.',
  );
}

function versionFault(text: string): Fault {
  return fault(
    `${quote(text)} is not a version (PEP 440)`,
    'A version is like 1.0, 2.0rc1, 1.0.post1 or 1.0+cu121, with . and no other separator in its local part.',
  );
}

function buildFault(text: string): Fault {
  return fault(
    `of its six parts the third, ${quote(text)}, is the build tag, and that does not start with a digit`,
    `Give the build tag a digit, or write a dash inside of any other part as _. ${FORM_REMEDY}`,
  );
}

function tagFault(segments: readonly [string, string, string]): Fault | undefined {
  const wrong = segments.flatMap((segment) => segment.split('.')).find((part) => !TAG_PART.test(part));
  if (wrong !== undefined) {
    return fault(
      `${quote(wrong)} is not a valid part of a compatibility tag`,
      'Tags hold letters, digits, _ and . only.',
    );
  }
  const python = segments[0].split('.').find((part) => /^[0-9]/.test(part));
  if (python === undefined) {
    return countTags(segments) > MAX_TAGS ? fault(`it expands to more than ${MAX_TAGS} tags`) : undefined;
  }
  return fault(`${quote(python)} is not a Python tag`, 'It begins with a letter, such as py3 or cp312.');
}

function readBuild(text: string): readonly [bigint, string] | null {
  const [, digits, rest] = /^([0-9]+)(.*)$/s.exec(text) ?? [];
  return digits === undefined ? null : [BigInt(digits), rest!];
}

/** Recognises names that a browser, a server or an old file system has mangled. */
function mangling(filename: string): Fault | undefined {
  if (filename !== filename.trimEnd()) return fault('it ends in white space', 'Rename it to end in .whl.');
  if (!filename.endsWith('.whl')) {
    return /\.whl$/i.test(filename)
      ? fault('its suffix is not in lower case', 'Rename it to end in .whl.')
      : undefined;
  }
  if (/%[0-9a-f]{2}/i.test(filename)) {
    const rename = `Rename it to ${quote(filename.replace(/%2b/gi, '+'))}, as the build named it.`;
    return fault('it is percent-encoded', rename);
  }
  const numbered = / ?\([0-9]+\)\.whl$/;
  if (!numbered.test(filename)) return undefined;
  const rename = `Rename it to ${quote(filename.replace(numbered, '.whl'))}.`;
  return fault('a browser numbered it as a second download', rename);
}

function fault(text: string, remedy = FORM_REMEDY): Fault {
  return { fault: text, remedy };
}
