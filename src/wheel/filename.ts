/** Wheel filenames as the binary distribution format specification (PEP 427 and its current page) reads them. */
import { WheelStoreError } from '../errors.ts';
import { quote } from '../untrusted/quote.ts';
import { readVersion, type Version } from './version.ts';

/** What a wheel's filename says. */
export interface WheelName {
  readonly filename: string;
  /** Normalised (PEP 503). */
  readonly project: string;
  readonly version: Version;
  /** The number that a build tag begins with, often a date with its time, and the rest of it. */
  readonly build: readonly [bigint, string] | undefined;
  /** Compatibility tags (PEP 425), compressed sets expanded, lower case, each once. */
  readonly tags: readonly string[];
}

/** What is wrong with a filename, and what would be right. */
interface Fault {
  readonly fault: string;
  readonly remedy: string;
}

const FORM = '{project}-{version}(-{build})-{python}-{abi}-{platform}.whl';
const FORM_REMEDY = `The form is ${FORM}, such as foo-1.0+cu121-cp312-cp312-linux_x86_64.whl.`;

/** Every output is pasted into a shell by somebody, so no character means anything to one. */
const NOT_IN_A_NAME = /[^A-Za-z0-9_.+!-]/u;
const PROJECT = /^[A-Za-z0-9_.]+$/;
const TAG_PART = /^[A-Za-z0-9_]+$/;
/** No key of S3 is longer, so no name is; what a disk takes, it says itself. All characters are single bytes. */
const MAX_LENGTH = 1_024;
/** Compressed sets multiply; real wheels have fewer than a hundred tags. */
const MAX_TAGS = 1_000;

/**
 * Reads a wheel's filename (binary distribution format, "File name convention"): it accepts what packaging's
 * `parse_wheel_filename` accepts, less names with other characters than ASCII letters, digits and `_ . + ! -`,
 * tags with other characters than letters, digits and `_`, names of more than 1,024 bytes and of more than 1,000 tags.
 *
 * @throws WheelStoreError that says what is wrong with the name
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

/** Like {@link parseWheelFilename}, with undefined for anything that is not a wheel's filename. */
export function readWheelFilename(filename: string): WheelName | undefined {
  if (!filename.endsWith('.whl')) return undefined;
  const read = readParts(filename);
  return 'fault' in read ? undefined : read;
}

/**
 * Why a file that looks like a wheel is not taken for one, as the end of a sentence ("it holds …", without a full
 * stop).
 *
 * @returns undefined for a wheel's filename, and for what does not end in .whl in any case
 */
export function wheelNameFault(filename: string): string | undefined {
  if (!/\.whl$/i.test(filename)) return undefined;
  const read = readParts(filename);
  return 'fault' in read ? (mangling(filename) ?? read).fault : undefined;
}

/** The normal form of a project's name (PEP 503, "Normalized Names"). */
export function normaliseProject(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

/**
 * The compatibility tags of a compressed tag set (PEP 425, "Compressed Tag Sets"), lower case, each once.
 *
 * @param segments - the python, abi and platform segment
 */
export function expandTags([pythons, abis, platforms]: readonly [string, string, string]): string[] {
  const [p, a, q] = [pythons, abis, platforms].map((segment) => [
    ...new Set(segment.toLowerCase().split('.')),
  ]) as [string[], string[], string[]];
  return p.flatMap((python) => a.flatMap((abi) => q.map((platform) => `${python}-${abi}-${platform}`)));
}

/** How many tags {@link expandTags} makes at most. */
export function countTags(segments: readonly string[]): number {
  return segments.reduce((product, segment) => product * segment.split('.').length, 1);
}

function readParts(filename: string): WheelName | Fault {
  if (!filename.endsWith('.whl')) return fault('it does not end in .whl');
  if (filename.length > MAX_LENGTH) return fault(`it is longer than ${MAX_LENGTH} bytes`);
  const wrong = NOT_IN_A_NAME.exec(filename)?.[0];
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
    named(filename, project, version!, build ?? undefined, segments)
  );
}

function named(
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
    // Three long segments make millions of tags, and most names in a listing are never asked for theirs.
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

/** Why a name is wrong that a browser, a server or an old file system has mangled. */
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
