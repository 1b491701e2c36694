/** Whether a store step that finds no wheel may reuse what is stored. docs/slots.md describes the rules. */
import type { Bucket } from '../bucket/bucket.ts';
import { describeSearch } from '../disk/describe-search.ts';
import type { Search } from '../disk/find-wheels.ts';
import { type NearbyWheel, wheelsNearby } from '../disk/nearby.ts';
import { suggestPath } from '../disk/suggest-path.ts';
import { WheelStoreError } from '../errors.ts';
import { jobStartTime } from '../provenance/left-over.ts';
import { inspectWheels, signsOfBuild } from '../provenance/skipped-build.ts';
import type { StoreInputs } from '../runner/inputs.ts';
import type { Notes } from '../runner/job-notes.ts';
import { ALL_TARGETS } from '../runner/selection-inputs.ts';
import { SDIST_TARGET } from '../slots/layout.ts';
import { EVERYTHING } from '../slots/listing.ts';
import { type LookUpResult, lookUp, type Query } from '../slots/lookup.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { trustRepository } from '../slots/trust.ts';
import { firstOf } from '../untrusted/quote.ts';
import { showWarnings } from './look-up.ts';

/** How many targets one error lists. */
const MAX_LISTED = 20;

/**
 * Whether the build may have been skipped, as far as that shows without a look-up.
 *
 * @throws WheelStoreError if a find step of this job found that the build is needed: then there must be a wheel. Also
 *   if `target` is `*` and nothing is expected: then what a build would have left is unknown
 */
export async function checkBuildNotRequired(
  inputs: StoreInputs,
  search: Search,
  { verdicts }: Notes,
  signal: AbortSignal,
): Promise<void> {
  const targets = expectedTargets(inputs);
  const required = targets.filter((target) => verdicts[target] === 'build');
  if (targets.length > 0 && required.length === 0) return;
  const seen = await nearby(inputs, signal);
  const notFound = describeSearch(inputs.path, search, seen);
  const suggestion = suggestPath(search, seen, inputs);
  if (targets.length === 0) {
    throw noWheelError(
      `There is ${notFound}. With target: '*', nothing says which wheels there should be, so a skipped build can't be told from one that left none.`,
      `${suggestion} If the build may be skipped, name its wheels in 'expect'.`,
    );
  }
  throw noWheelError(
    `A find step of this job said that the build is needed${named(' for ', required)}, but there is ${notFound}.`,
    suggestion,
  );
}

/**
 * The stored wheels of this commit and target, or of all expected targets.
 *
 * @throws WheelStoreError if one is not stored, or a wheel elsewhere suggests that the build ran
 */
export async function reusableWheels(
  bucket: Bucket,
  inputs: StoreInputs,
  search: Search,
  notes: Notes,
  signal: AbortSignal,
): Promise<LookUpResult> {
  const { place, commitLabel } = inputs;
  const targets = expectedTargets(inputs);
  const trust = trustRepository(inputs.repository);
  const query: Query = { ...EVERYTHING, place, commitLabel, targets, expect: [], trust };
  const found = await lookUp(bucket, query, signal);
  showWarnings(found);
  if (found.missing.length > 0) {
    const seen = await nearby(inputs, signal);
    throw noWheelError(
      `There is ${describeSearch(inputs.path, search, seen)}; the store has none for commit ${place.commit}${named(', ', found.missing)} either.`,
      suggestPath(search, seen, inputs),
    );
  }
  await checkBuildWasSkipped(inputs, search, found.wheels, notes, signal);
  return found;
}

/** @throws WheelStoreError if a wheel elsewhere suggests that the build ran */
async function checkBuildWasSkipped(
  inputs: StoreInputs,
  search: Search,
  stored: readonly StoredWheel[],
  { verdicts, fetched }: Notes,
  signal: AbortSignal,
): Promise<void> {
  const seen = await inspectWheels(
    await nearby(inputs, signal),
    stored,
    fetched,
    await jobStartTime(inputs.eventPath),
  );
  const projects = stored.map(({ name }) => name.project);
  const canSkip = stored.every(({ target }) => verdicts[target] === 'skip');
  const signs = signsOfBuild(projects, canSkip ? 'skip' : undefined, seen);
  if (signs.length === 0) return;
  const notFound = describeSearch(inputs.path, search, signs);
  throw noWheelError(
    `There is ${notFound}. A build seems to have run, so ${stored.length === 1 ? 'the stored wheel is' : 'the stored wheels are'} not reused.`,
    suggestPath(search, signs, inputs),
  );
}

/** The targets that a build would have left wheels for. */
function expectedTargets({ target, expect, sdist }: StoreInputs): readonly string[] {
  const wheels = target === ALL_TARGETS ? expect : [target];
  // If the wheels are unknown, an sdist alone proves nothing.
  return sdist && wheels.length > 0 ? [...new Set([...wheels, SDIST_TARGET])] : wheels;
}

/** `target a`, after `before`. Empty for the wheel without a target. */
function named(before: string, targets: readonly string[]): string {
  const names = targets.filter((target) => target !== '');
  if (names.length === 0) return '';
  return `${before}${names.length === 1 ? 'target' : 'targets'} ${firstOf(names, MAX_LISTED)}`;
}

function nearby({ workspace, home }: StoreInputs, signal: AbortSignal): Promise<NearbyWheel[]> {
  return wheelsNearby(workspace, signal, home);
}

function noWheelError(reason: string, remedy: string): WheelStoreError {
  return new WheelStoreError({ title: 'No wheel', reason, remedy });
}
