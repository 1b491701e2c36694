/** Words for what a search of `path` found, and for what `path` should have been. */
import { firstOf, oneLine } from '../untrusted/quote.ts';
import type { LineSearch, Search } from './find-wheels.ts';

/** How many files one message lists. */
const MAX_LISTED = 10;

/**
 * Describes a search that found no wheel, line by line, for the end of a sentence.
 *
 * @param path - the input, as given by the user
 * @param nearby - wheels found elsewhere (see nearby.ts)
 */
export function describeSearch(
  path: string,
  { lines, excluded }: Search,
  nearby: readonly { readonly path: string }[] = [],
): string {
  const isOneLine = lines.length === 1 && !/[\r\n]/.test(path);
  const searched = lines.map((found) => `'${isOneLine ? path : found.line}' (${describeLine(found)})`);
  const exclusions = excluded.map(({ wheel, line }) => `${oneLine(wheel)} by '${oneLine(line)}'`);
  const elsewhere = nearby
    .filter((wheel) => !excluded.some((exclusion) => exclusion.wheel === wheel.path))
    .map((wheel) => oneLine(wheel.path));
  return [
    `no wheel at ${searched.join(', nor at ')}`,
    ...(exclusions.length === 0 ? [] : [`excluded: ${firstOf(exclusions, MAX_LISTED)}`]),
    ...(elsewhere.length === 0 ? [] : [`elsewhere, found ${firstOf(elsewhere, MAX_LISTED)}`]),
  ].join('; ');
}

function describeLine({ wheels, folder, missing, others }: LineSearch): string {
  if (wheels.length > 0) return `found ${wheels.length} there, all excluded`;
  const names = firstOf(others.map(oneLine), MAX_LISTED);
  const where = oneLine(folder);
  if (missing !== undefined) {
    const instead = others.length === 0 ? 'nothing' : `only ${names}`;
    return `there is no ${oneLine(missing)}, and ${instead} in ${where}`;
  }
  return others.length === 0 ? `${where} is empty` : `${where} contains only ${names}`;
}

/**
 * Names the files beside the wheels, which are not stored.
 *
 * @param stored - filenames of those that are
 * @returns undefined if there are none
 */
export function describeOthers({ lines }: Search, stored: readonly string[] = []): string | undefined {
  const found = lines.filter(({ wheels }) => wheels.length > 0).flatMap(({ others }) => others);
  const names = found.filter((name) => !stored.includes(name));
  if (names.length === 0) return undefined;
  return `Also at 'path', not stored: ${firstOf([...new Set(names)].map(oneLine), MAX_LISTED)}.`;
}
