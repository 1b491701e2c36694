/** Checks METADATA and WHEEL, the two files that describe a wheel, and PKG-INFO, which describes an sdist. */

import { quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import { countTags, expandTags, normaliseProject, type WheelName } from './filename.ts';
import type { Headers } from './headers.ts';
import { isRequirement } from './requirement.ts';
import { isSpecifierSet } from './requires-python.ts';
import { comparePublic, compareVersions, readVersion, stripSpace } from './version.ts';

/** Warnings about things that pip accepts. */
export interface Finding {
  readonly warnings: readonly string[];
}

/** The fields of METADATA that are used. */
export interface Metadata extends Finding {
  /** As written. */
  readonly project: string;
  /** As written, without surrounding white space. */
  readonly version: string;
  readonly requiresPython: string | undefined;
}

/** The fields of WHEEL that are used. */
export interface WheelFile extends Finding {
  /** Compressed sets expanded, lower case. */
  readonly tags: readonly string[];
}

/** A single Tag line can expand to any number of tags; real wheels have fewer than a hundred in total. */
const MAX_TAGS = 10_000;
const MAX_TAG_LINES = 1_000;
const MAX_REQUIREMENTS = 10_000;

/**
 * Checks that METADATA or PKG-INFO (core metadata specification) has the project and version of the filename. If only the local
 * part of the version differs, that is just a warning: pip installs such a wheel by path or URL, but not by name.
 *
 * @throws WheelStoreError if the project or version differs, or if pip cannot parse a requirement
 */
export function checkMetadata(headers: Headers, name: WheelName): Metadata {
  const { filename } = name;
  const file = metadataFile(name);
  const project = headers.get('name')?.[0];
  if (project === undefined) throw broken(filename, `has no Name in its ${file}`);
  if (normaliseProject(project) !== name.project) {
    throw broken(
      filename,
      `has the project ${quote(project)} in its ${file}, but ${quote(name.project)} in its filename`,
    );
  }
  const version = headers.get('version')?.[0];
  if (version === undefined) throw broken(filename, `has no Version in its ${file}`);
  const read = readVersion(version);
  if (read === undefined) {
    throw broken(
      filename,
      `has the Version ${quote(version)} in its ${file}, which is not a version (PEP 440)`,
    );
  }
  if (comparePublic(read, name.version) !== 0) {
    throw broken(
      filename,
      `has the version ${quote(version)} in its ${file}, but ${quote(name.version.text)} in its filename`,
    );
  }
  checkRequirements(headers.get('requires-dist') ?? [], name);
  const requiresPython = headers.get('requires-python')?.[0];
  return {
    project,
    version: stripSpace(version),
    requiresPython,
    warnings: [
      ...(compareVersions(read, name.version) === 0
        ? []
        : [
            `${quote(filename)} has the version ${quote(version)} in its ${file}: pip installs it by its path or URL, but not by its name.`,
          ]),
      ...(requiresPython === undefined || isSpecifierSet(requiresPython)
        ? []
        : [
            `${quote(filename)} has the Requires-Python ${quote(requiresPython)} in its ${file}, which is not a set of version specifiers: pip ignores it, uv and PyPI refuse it.`,
          ]),
    ],
  };
}

/** Core metadata specification: sdists have the same fields in another file. */
function metadataFile({ filename }: WheelName): string {
  return filename.endsWith('.whl') ? 'METADATA' : 'PKG-INFO';
}

function checkRequirements(requirements: readonly string[], name: WheelName): void {
  const { filename } = name;
  const file = metadataFile(name);
  if (requirements.length > MAX_REQUIREMENTS) {
    throw broken(
      filename,
      `has ${requirements.length} Requires-Dist in its ${file}, more than ${MAX_REQUIREMENTS}`,
    );
  }
  const wrong = requirements.find((requirement) => !isRequirement(stripSpace(requirement)));
  if (wrong === undefined) return;
  throw broken(
    filename,
    `has the Requires-Dist ${quote(wrong)} in its ${file}, which is not a requirement (PEP 508)`,
  );
}

/**
 * Checks WHEEL (binary distribution format, "Wheel-Version", "Tag", "Build") as pip does: installers must support the
 * format. Tags or a build tag that differ from the filename are just a warning.
 *
 * @throws WheelStoreError if pip would refuse the format
 */
export function checkWheelFile(headers: Headers, name: WheelName): WheelFile {
  const format = formatWarnings(headers.get('wheel-version')?.[0], name);
  const lines = headers.get('tag') ?? [];
  const counts = lines.map((line) => countTags(stripSpace(line).split('-')));
  const expanded = counts.reduce((sum, count) => sum + (count > MAX_TAGS ? 1 : count), 0);
  if (lines.length > MAX_TAG_LINES || expanded > MAX_TAGS) {
    throw broken(
      name.filename,
      `has ${lines.length} Tag lines in its WHEEL file, more than ${MAX_TAG_LINES} or of more than ${MAX_TAGS} tags`,
    );
  }
  const tags = [...new Set(lines.flatMap(readTag))];
  const build = headers.get('build')?.[0];
  return { tags, warnings: [...format, ...tagWarnings(tags, name), ...buildWarnings(build, name)] };
}

function formatWarnings(text: string | undefined, { filename }: WheelName): string[] {
  if (text === undefined) throw broken(filename, 'has no Wheel-Version in its WHEEL file');
  const numbers = stripSpace(text).split('.');
  if (!numbers.every((number) => /^[0-9]+$/.test(stripSpace(number)))) {
    throw broken(filename, `has the Wheel-Version ${quote(text)}, which is not a version`);
  }
  const [major, minor = 0] = numbers.map(Number) as [number, number?];
  if (major > 1) throw broken(filename, `has the Wheel-Version ${quote(text)}, and installers support 1.0`);
  if (numbers.length === 1) {
    return [
      `${quote(filename)} has the Wheel-Version ${quote(text)} and not 1.0: pip accepts it, uv does not.`,
    ];
  }
  return major === 1 && minor > 0
    ? [`${quote(filename)} has the Wheel-Version ${quote(text)}, which is newer than installers support.`]
    : [];
}

function tagWarnings(tags: readonly string[], name: WheelName): string[] {
  const [inside, outside] = [new Set(tags), new Set(name.tags)];
  if (inside.symmetricDifference(outside).size === 0) return [];
  return [
    `${quote(name.filename)} has the tags ${list(outside)}, and in its WHEEL file ${list(inside)}: installers go by the first.`,
  ];
}

/** Many older tools put the build tag only into the filename, so a WHEEL without one is fine. */
function buildWarnings(build: string | undefined, name: WheelName): string[] {
  if (build === undefined) return [];
  const outside = name.build === undefined ? '' : `${name.build[0]}${name.build[1]}`;
  const inside = stripSpace(build).replace(/^0+(?=[0-9])/, '');
  if (inside === outside) return [];
  return [
    `${quote(name.filename)} has the build tag ${quote(outside)}, and in its WHEEL file ${quote(inside)}.`,
  ];
}

function readTag(line: string): string[] {
  const segments = stripSpace(line).split('-');
  if (segments.length !== 3) return [stripSpace(line).toLowerCase()];
  return countTags(segments) > MAX_TAGS ? [line] : expandTags(segments as [string, string, string]);
}

function list(tags: ReadonlySet<string>): string {
  if (tags.size === 0) return 'none';
  return quote([...tags].join(' '));
}
