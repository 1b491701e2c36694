/** Checks the paths that the entries of a wheel would be installed to. */

import { quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import type { WheelName } from './filename.ts';
import type { ZipEntry } from './zip.ts';

const MAX_PATH_BYTES = 4_000;
const MAX_SEGMENT_BYTES = 255;

/** Binary distribution format, "The .data directory". */
const SCHEMES = new Set(['purelib', 'platlib', 'headers', 'scripts', 'data']);

/**
 * Checks that no entry leaves the installation folder on any system, and that `*.data` contains only the folders of the
 * specification. pip checks both.
 *
 * @returns warnings
 * @throws WheelStoreError for the first entry that pip refuses on any system
 */
export function checkEntryNames(entries: readonly ZipEntry[], { filename }: WheelName): string[] {
  for (const { name } of entries) {
    if (leavesFolder(name)) throw broken(filename, `has an entry ${quote(name)} that leaves its folder`);
    const wrong = dataFault(name) ?? lengthFault(name);
    if (wrong !== undefined) throw broken(filename, `has an entry ${quote(name)} ${wrong}`);
  }
  const conflict = fileAndFolder(entries);
  if (conflict !== undefined)
    throw broken(filename, `has an entry ${quote(conflict)} that is a file and a folder`);
  const duplicate = firstDuplicate(entries.map(({ name }) => name));
  const files = new Set(entries.map(({ name }) => name));
  const folder = entries.find(({ name }) => name.endsWith('/') && files.has(name.slice(0, -1)));
  const backslash = entries.find(({ name }) => name.includes('\\'));
  return [
    ...(duplicate === undefined
      ? []
      : [
          `${quote(filename)} holds ${quote(duplicate)} twice: pip uses the last one, uv and PyPI refuse both.`,
        ]),
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
 * Whether a relative path leads out of its folder on any system. Backslashes and drive letters matter on Windows only,
 * but a wheel may be installed on another system than it is built on.
 */
export function leavesFolder(name: string): boolean {
  return isAbsolute(name) || name.includes('\0') || leadsUp(name.replaceAll('\\', '/').split('/'));
}

/** Whether a path does not depend on a folder, on any system. */
export function isAbsolute(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:)/.test(path);
}

function leadsUp(segments: readonly string[]): boolean {
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
  return leadsUp(rest) ? 'that leaves its folder' : undefined;
}

/** The limits of Linux (`PATH_MAX`, `NAME_MAX`); those of macOS and Windows are lower. */
function lengthFault(name: string): string | undefined {
  if (Buffer.byteLength(name) > MAX_PATH_BYTES) return `whose name is longer than ${MAX_PATH_BYTES} bytes`;
  return name.split('/').some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)
    ? `with a name of more than ${MAX_SEGMENT_BYTES} bytes in it`
    : undefined;
}

/** A file that would also be the folder of another entry after installation into a virtual environment. */
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
  const isLibrary =
    segments[0]!.endsWith('.data') && (segments[1] === 'purelib' || segments[1] === 'platlib');
  return segments.slice(isLibrary ? 2 : 0).join('/');
}

function firstDuplicate(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}
