/** Wheel filenames as the binary distribution format specification (PEP 427 and its current page) reads them. */
import { WheelStoreError } from '../errors.ts';
import { readVersion } from './version.ts';

/** What a wheel's filename says. */
export interface WheelName {
  readonly filename: string;
  /** Normalised (PEP 503). */
  readonly project: string;
  /** Normalised (PEP 440), with epoch and local part. */
  readonly version: string;
  /** The normalised local part of the version. */
  readonly local: string | undefined;
  /** The number that a build tag begins with, and the rest of it. */
  readonly build: readonly [number, string] | undefined;
  /** Compatibility tags (PEP 425), compressed sets expanded, lower case. */
  readonly tags: readonly string[];
}

/** What is wrong with a filename, and what would be right. */
interface Fault {
  readonly fault: string;
  readonly remedy: string;
}

const FORM = '{project}-{version}(-{build})-{python}-{abi}-{platform}.whl';

/**
 * Reads a wheel's filename: what packaging's `parse_wheel_filename` accepts, less tags with characters that
 * no compatibility tag has.
 *
 * @throws WheelStoreError that says what is wrong with the name
 */
export function parseWheelFilename(filename: string): WheelName {
  const read = readParts(filename);
  if (!('fault' in read)) return read;
  throw new WheelStoreError({
    title: 'Not a wheel filename',
    reason: `${quote(filename)} is not the filename of a wheel: ${read.fault}.`,
    remedy: read.remedy,
  });
}

/** Like {@link parseWheelFilename}, with undefined for what is no wheel's filename. */
export function readWheelFilename(filename: string): WheelName | undefined {
  if (!filename.endsWith('.whl')) return undefined;
  const read = readParts(filename);
  return 'fault' in read ? undefined : read;
}

/** The normal form of a project's name (PEP 503, "Normalized Names"). */
export function normaliseProject(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

function readParts(filename: string): WheelName | Fault {
  const mangled = mangledName(filename);
  if (mangled !== undefined) return mangled;
  const parts = filename.slice(0, -'.whl'.length).split('-');
  if (parts.length !== 5 && parts.length !== 6) {
    return fault(`it has ${parts.length} parts between dashes instead of 5 or 6`);
  }
  const [project, versionText] = parts as [string, string];
  if (project.includes('__') || !/^[\p{L}\p{N}_.]+$/u.test(project)) {
    return fault(
      `${quote(project)} is no escaped project name`,
      'Each run of - _ and . in the project becomes one _.',
    );
  }
  const version = readVersion(versionText);
  if (version === undefined) return fault(`${quote(versionText)} is no version (PEP 440)`);
  const build = parts.length === 6 ? readBuild(parts[2]!) : undefined;
  if (build === null) return fault(`the build tag ${quote(parts[2]!)} does not start with a digit`);
  const tags = readTags(parts.slice(-3));
  if ('fault' in tags) return tags;
  return {
    filename,
    project: normaliseProject(project),
    version: version.text,
    local: version.local,
    build,
    tags,
  };
}

/** Names that a browser, a shell or a server has mangled. */
function mangledName(filename: string): Fault | undefined {
  if (!filename.endsWith('.whl')) {
    return /\.whl$/i.test(filename)
      ? fault('its suffix is not in lower case', 'Rename it to end in .whl.')
      : fault('it does not end in .whl');
  }
  if (/%[0-9a-f]{2}/i.test(filename)) {
    return fault(
      'it is percent-encoded',
      `Rename it to ${quote(filename.replace(/%2b/gi, '+'))}, as the build named it.`,
    );
  }
  const download = / ?\([0-9]+\)\.whl$/;
  if (download.test(filename)) {
    return fault(
      'a browser numbered it as a second download',
      `Rename it to ${quote(filename.replace(download, '.whl'))}.`,
    );
  }
  return undefined;
}

function readBuild(text: string): readonly [number, string] | null {
  const [, digits, rest] = /^([0-9]+)(.*)$/s.exec(text) ?? [];
  return digits === undefined ? null : [Number(digits), rest!];
}

function readTags(segments: readonly string[]): string[] | Fault {
  const [pythons, abis, platforms] = segments.map((segment) => segment.toLowerCase().split('.')) as [
    string[],
    string[],
    string[],
  ];
  const wrong = [...pythons, ...abis, ...platforms].find((part) => !/^[a-z0-9_]+$/.test(part));
  if (wrong !== undefined) return fault(`${quote(wrong)} is no part of a compatibility tag`);
  if (pythons.some((python) => /^[0-9]/.test(python))) {
    return fault(
      `${quote(segments[0]!)} is no Python tag`,
      'A Python tag begins with a letter, such as py3 or cp312.',
    );
  }
  return pythons.flatMap((python) =>
    abis.flatMap((abi) => platforms.map((platform) => `${python}-${abi}-${platform}`)),
  );
}

function fault(
  text: string,
  remedy = `The form is ${FORM}, such as foo-1.0+cu121-cp312-cp312-linux_x86_64.whl.`,
): Fault {
  return { fault: text, remedy };
}

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
