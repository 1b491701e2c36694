/** Of several wheels, the one that pip would install. */
import type { WheelName } from './filename.ts';
import type { Interpreter } from './interpreter.ts';
import { compareVersions, isPreRelease, type Version } from './version.ts';

export { allowsPython } from './requires-python.ts';

/** A wheel with what pip orders it by. */
interface Ranked<T> {
  readonly candidate: T;
  readonly version: Version;
  /** Index of the best of its tags in the interpreter's list. */
  readonly tag: number;
  readonly build: WheelName['build'];
}

/**
 * The wheels that an interpreter can install, best first, in the order in which pip prefers them (PEP 425,
 * "Use"; PEP 427, "build number"; PEP 440, "Handling of pre-releases"): final releases before pre-releases,
 * higher versions first, then the better tag, then the higher build. Equals keep their order.
 */
export function rankWheels<T extends { readonly name: WheelName }>(
  candidates: readonly T[],
  interpreter: Interpreter,
): T[] {
  const places = new Map(interpreter.tags.map((tag, index) => [tag, index] as const).reverse());
  return candidates
    .flatMap((candidate) => rank(candidate, places))
    .sort(byPreference)
    .map(({ candidate }) => candidate);
}

function rank<T extends { readonly name: WheelName }>(
  candidate: T,
  places: ReadonlyMap<string, number>,
): Ranked<T>[] {
  const { tags, version, build } = candidate.name;
  const tag = tags.reduce((best, name) => Math.min(best, places.get(name) ?? Infinity), Infinity);
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

/** No build tag sorts before every build tag; the rest after the number sorts by code point, as Python's does. */
function compareBuilds(a: WheelName['build'], b: WheelName['build']): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  if (a[0] !== b[0]) return a[0] < b[0] ? -1 : 1;
  return Buffer.compare(Buffer.from(a[1]), Buffer.from(b[1]));
}
