/** Checks where the entries of a wheel would be installed. */
import { broken } from './broken.ts';
import type { WheelName } from './filename.ts';
import { quote } from './quote.ts';
import type { ZipEntry } from './zip.ts';

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
    if (escapes(name)) throw broken(filename, `has an entry ${quote(name)} that leads out of its folder`);
    const wrong = dataFault(name);
    if (wrong !== undefined) throw broken(filename, `has an entry ${quote(name)} ${wrong}`);
  }
  const twice = firstTwice(entries.map(({ name }) => name));
  const backslash = entries.find(({ name }) => name.includes('\\'));
  return [
    ...(twice === undefined
      ? []
      : [`${quote(filename)} holds ${quote(twice)} twice: pip takes the last one, uv and PyPI neither.`]),
    ...(backslash === undefined
      ? []
      : [`${quote(filename)} holds ${quote(backslash.name)}: its backslash is a folder on Windows alone.`]),
  ];
}

/** A backslash and a drive letter mean something on Windows alone, and a wheel is built where it is not used. */
function escapes(name: string): boolean {
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
  if (rest.length === 0) return 'that lies in no folder of the installation';
  if (!SCHEMES.has(scheme)) return `in a folder that is none of ${[...SCHEMES].join(', ')}`;
  return climbs(rest) ? 'that leads out of its folder' : undefined;
}

function firstTwice(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}
