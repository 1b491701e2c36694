/** Names a target for each of several wheels, from its tags. Pure functions. */
import { basename } from 'node:path';
import { WheelStoreError } from '../errors.ts';
import { firstOf, oneLine } from '../untrusted/quote.ts';
import { buildName } from '../wheel/build-name.ts';
import { parseWheelFilename, type WheelName } from '../wheel/filename.ts';
import { isTarget } from './layout.ts';

/** A wheel at `path`, and the target of its slot. */
export interface TargetedWheel {
  /** Absolute. */
  readonly path: string;
  readonly name: WheelName;
  readonly target: string;
}

/** How many wheels or targets to list in an error. */
const MAX_LISTED = 20;

/**
 * Names the targets of wheels as cibuildwheel names builds (see {@link buildName}); if they are of several projects,
 * with the project and a dot before it, such as `demo.cp312-manylinux_x86_64`.
 *
 * @param paths - absolute
 * @throws WheelStoreError if a filename is not that of a wheel, two wheels would get the same target, or one would get
 *   a target that is not valid
 */
export function nameTargets(paths: readonly string[]): TargetedWheel[] {
  const named = paths.map((path) => ({ path, name: parseWheelFilename(basename(path)) }));
  const isOneProject = new Set(named.map(({ name }) => name.project)).size === 1;
  const wheels = named.map(({ path, name }) => {
    const own = buildName(name.tags);
    return { path, name, target: isOneProject ? own : `${name.project}.${own}` };
  });
  const invalid = wheels.find(({ target }) => !isTarget(target));
  if (invalid !== undefined) throw invalidTarget(invalid);
  const shared = [...Map.groupBy(wheels, ({ target }) => target)].filter(([, same]) => same.length > 1);
  if (shared.length > 0) throw sharedTargets(shared);
  return wheels;
}

/** @throws WheelStoreError that names the expected targets that no wheel has, and those that there are */
export function checkExpected(wheels: readonly TargetedWheel[], expected: readonly string[]): void {
  const present = new Set(wheels.map(({ target }) => target));
  const missing = expected.filter((target) => !present.has(target));
  if (missing.length === 0) return;
  const found = wheels.map(({ target, name }) => `${target} (${name.filename})`);
  throw new WheelStoreError({
    title: 'Expected wheel missing',
    reason: `${missing.length} of the ${expected.length} wheels in 'expect' ${missing.length === 1 ? 'is' : 'are'} not at 'path': ${firstOf(missing, MAX_LISTED)}. There ${found.length === 1 ? 'is' : 'are'} ${firstOf(found, MAX_LISTED)}.`,
    remedy:
      "Nothing was stored. Check that the build makes all of them, or correct the names in 'expect'; docs/slots.md says how wheels are named.",
  });
}

function sharedTargets(shared: readonly (readonly [string, readonly TargetedWheel[]])[]): WheelStoreError {
  const texts = shared.map(
    ([target, wheels]) => `${target} (${firstOf(distinctNames(wheels), MAX_LISTED, ' and ')})`,
  );
  return new WheelStoreError({
    title: 'Two wheels with the same target',
    reason: `With target: '*', wheels at 'path' would share a slot: ${firstOf(texts, MAX_LISTED)}.`,
    remedy:
      "Nothing was stored. Clear the folder before the build, or exclude one of them with a line such as !dist/old-*.whl in 'path'.",
  });
}

/** Filenames, or paths if the same filename is in several folders. */
function distinctNames(wheels: readonly TargetedWheel[]): string[] {
  const filenames = wheels.map(({ name }) => name.filename);
  return new Set(filenames).size === filenames.length ? filenames : wheels.map(({ path }) => oneLine(path));
}

function invalidTarget({ name, target }: TargetedWheel): WheelStoreError {
  return new WheelStoreError({
    title: 'No target for the wheel',
    reason: `With target: '*', ${name.filename} would get the target ${target}, which has ${target.length} characters and is not valid.`,
    remedy:
      "Store it in a separate step, with a 'target' of at most 100 letters, digits and . _ + - that begins with a letter or digit.",
  });
}
