/** Checks where the entries of a wheel would be installed. */

import { quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import type { WheelName } from './filename.ts';
import type { ZipEntry } from './zip.ts';

const MAX_PATH_BYTES = 4_000;
const MAX_SEGMENT_BYTES = 255;

/** Binary distribution format, "The .data directory". */
const SCHEMES = new Set(['purelib', 'platlib', 'headers', 'scripts', 'data']);

/**
 * Checks that no entry leaves the folder that a wheel is installed into, on any system, and that the folders of
 * `*.data` are those that the specification knows, both as pip does.
 *
 * @returns warnings
 * @throws WheelStoreError for the first entry that pip refuses on one system or another
 */
export function checkEntryNames(entries: readonly ZipEntry[], { filename }: WheelName): string[] {
  for (const { name } of entries) {
    if (leavesFolder(name)) throw broken(filename, `has an entry ${quote(name)} that leaves its folder`);
    const wrong = dataFault(name) ?? lengthFault(name);
    if (wrong !== undefined) throw broken(filename, `has an entry ${quote(name)} ${wrong}`);
  }
  const both = fileAndFolder(entries);
  if (both !== undefined) throw broken(filename, `has an entry ${quote(both)} that is a file and a folder`);
  const twice = firstTwice(entries.map(({ name }) => name));
  const files = new Set(entries.map(({ name }) => name));
  const folder = entries.find(({ name }) => name.endsWith('/') && files.has(name.slice(0, -1)));
  const backslash = entries.find(({ name }) => name.includes('\\'));
  return [
    ...(twice === undefined
      ? []
      : [`${quote(filename)} holds ${quote(twice)} twice: pip uses the last one, uv and PyPI refuse both.`]),
    ...(folder === undefined
      ? []
      : [
          `${quote(filename)} holds ${quote(folder.name)} as a file and as a folder: pip uses the file, uv refuses both.`,
        ]),
    ...(backslash === undefined
      ? []
      : [
          `${quote(filename)} holds ${quote(backslash.name)}: its backslash separates folders on Windows only.`,
        ]),
  ];
}

/**
 * Whether a name leads out of the folder that it is relative to, on any system. A backslash and a drive letter mean
 * something on Windows alone, and a wheel is built where it is not used.
 */
export function leavesFolder(name: string): boolean {
  const path = name.replaceAll('\\', '/');
  return path.startsWith('/') || /^[A-Za-z]:/.test(path) || path.includes('\0') || climbs(path.split('/'));
}

function climbs(segments: readonly string[]): boolean {
  let depth = 0;
  for (const segment of segments) {
    if (segment === '..') depth -= 1;
    else if (segment !== '' && segment !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

function dataFault(name: string): string | undefined {
  if (name.endsWith('/')) return undefined;
  const [folder, scheme, ...rest] = name.split('/').filter((segment) => segment !== '.') as [
    string,
    ...string[],
  ];
  if (!folder.endsWith('.data') || scheme === undefined) return undefined;
  if (rest.length === 0) return 'that is in no folder of the installation';
  if (!SCHEMES.has(scheme)) return `in a folder that is not one of ${[...SCHEMES].join(', ')}`;
  return climbs(rest) ? 'that leaves its folder' : undefined;
}

/** What Linux opens at most (`PATH_MAX`, `NAME_MAX`); macOS and Windows take less. */
function lengthFault(name: string): string | undefined {
  if (Buffer.byteLength(name) > MAX_PATH_BYTES) return `whose name is longer than ${MAX_PATH_BYTES} bytes`;
  return name.split('/').some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)
    ? `with a name of more than ${MAX_SEGMENT_BYTES} bytes in it`
    : undefined;
}

/** The first file that lies in another file, by where pip puts them in a virtual environment. */
function fileAndFolder(entries: readonly ZipEntry[]): string | undefined {
  const files = entries.filter(({ name }) => !name.endsWith('/'));
  const paths = new Map(files.map(({ name }) => [installedPath(name), name]));
  for (const path of paths.keys()) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const file = paths.get(path.slice(0, end));
      if (file !== undefined) return file;
    }
  }
  return undefined;
}

function installedPath(name: string): string {
  const segments: string[] = [];
  for (const segment of name.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  const isInRoot = segments[0]!.endsWith('.data') && (segments[1] === 'purelib' || segments[1] === 'platlib');
  return segments.slice(isInRoot ? 2 : 0).join('/');
}

function firstTwice(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}
