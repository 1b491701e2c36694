/** Picks the wheel that pip would install. */
import type { WheelName } from './filename.ts';
import type { Interpreter } from './interpreter.ts';
import { compareVersions, isPreRelease, type Version } from './version.ts';

export { allowsPython } from './requires-python.ts';

/** A wheel with its sort keys. */
interface Ranked<T> {
  readonly candidate: T;
  readonly version: Version;
  /** Index of its best tag in the interpreter's list. */
  readonly tag: number;
  readonly build: WheelName['build'];
}

/**
 * Sorts the wheels that an interpreter can install by pip's order of preference, best first (PEP 425, "Use"; PEP 427,
 * "build number"; PEP 440, "Handling of pre-releases"): final releases before pre-releases, then the higher version,
 * the better tag, the higher build. The sort is stable.
 */
export function rankWheels<T extends { readonly name: WheelName }>(
  candidates: readonly T[],
  interpreter: Interpreter,
): T[] {
  const tagRanks = new Map(interpreter.tags.map((tag, index) => [tag, index] as const).reverse());
  return candidates
    .flatMap((candidate) => rank(candidate, tagRanks))
    .sort(byPreference)
    .map(({ candidate }) => candidate);
}

function rank<T extends { readonly name: WheelName }>(
  candidate: T,
  tagRanks: ReadonlyMap<string, number>,
): Ranked<T>[] {
  const { tags, version, build } = candidate.name;
  const tag = tags.reduce((best, name) => Math.min(best, tagRanks.get(name) ?? Infinity), Infinity);
  return tag === Infinity ? [] : [{ candidate, version, tag, build }];
}

function byPreference(a: Ranked<unknown>, b: Ranked<unknown>): number {
  return (
    Number(isPreRelease(a.version)) - Number(isPreRelease(b.version)) ||
    compareVersions(b.version, a.version) ||
    a.tag - b.tag ||
    compareBuilds(b.build, a.build)
  );
}

/** No build tag is the lowest; what follows the number is compared by code point, as in Python. */
function compareBuilds(a: WheelName['build'], b: WheelName['build']): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  if (a[0] !== b[0]) return a[0] < b[0] ? -1 : 1;
  return Buffer.compare(Buffer.from(a[1]), Buffer.from(b[1]));
}
