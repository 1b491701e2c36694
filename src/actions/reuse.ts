/** Whether a store step that finds no wheel may reuse the stored one. docs/slots.md describes the rules. */
import type { Bucket } from '../bucket/bucket.ts';
import { describeSearch, type Search } from '../disk/find-wheels.ts';
import { type NearbyWheel, wheelsNearby } from '../disk/nearby.ts';
import { WheelStoreError } from '../errors.ts';
import { jobStartTime } from '../provenance/left-over.ts';
import { inspectWheels, signsOfBuild } from '../provenance/skipped-build.ts';
import type { StoreInputs } from '../runner/inputs.ts';
import type { Notes } from '../runner/job-notes.ts';
import { EVERYTHING } from '../slots/listing.ts';
import { lookUp, type Query } from '../slots/lookup.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { trustRepository } from '../slots/trust.ts';
import { showWarnings } from './look-up.ts';

/** @throws WheelStoreError if a find step of this job found that the build is needed: then there must be a wheel */
export async function checkBuildNotRequired(
  inputs: StoreInputs,
  search: Search,
  { verdicts }: Notes,
  signal: AbortSignal,
): Promise<void> {
  if (verdicts[inputs.target] !== 'build') return;
  const notFound = describeSearch(inputs.path, search, await nearby(inputs, signal));
  throw noWheelError(`A find step of this job said that the build is needed, but there is ${notFound}.`);
}

/**
 * The stored wheel of this commit and target.
 *
 * @throws WheelStoreError if no wheel is stored, or a wheel elsewhere suggests that the build ran
 */
export async function reusableWheel(
  bucket: Bucket,
  inputs: StoreInputs,
  search: Search,
  notes: Notes,
  signal: AbortSignal,
): Promise<{ readonly wheel: StoredWheel; readonly hasIndex: boolean }> {
  const { place, target } = inputs;
  const trust = trustRepository(inputs.repository);
  const query: Query = { ...EVERYTHING, place, targets: [target], expect: [], trust };
  const found = await lookUp(bucket, query, signal);
  showWarnings(found);
  const wheel = found.wheels[0];
  if (wheel === undefined) {
    throw noWheelError(
      `There is ${describeSearch(inputs.path, search, await nearby(inputs, signal))}; the store has none for commit ${place.commit}${target === '' ? '' : `, target ${target}`} either.`,
    );
  }
  await checkBuildWasSkipped(inputs, search, wheel, notes, signal);
  return { wheel, hasIndex: found.hasIndex };
}

/** @throws WheelStoreError if a wheel elsewhere suggests that the build ran */
async function checkBuildWasSkipped(
  inputs: StoreInputs,
  search: Search,
  stored: StoredWheel,
  { verdicts, fetched }: Notes,
  signal: AbortSignal,
): Promise<void> {
  const seen = await inspectWheels(
    await nearby(inputs, signal),
    stored,
    fetched,
    await jobStartTime(inputs.eventPath),
  );
  const signs = signsOfBuild(stored.name.project, verdicts[inputs.target], seen);
  if (signs.length === 0) return;
  const notFound = describeSearch(inputs.path, search, signs);
  throw noWheelError(`There is ${notFound}. A build seems to have run, so the stored wheel is not reused.`);
}

function nearby({ workspace, home }: StoreInputs, signal: AbortSignal): Promise<NearbyWheel[]> {
  return wheelsNearby(workspace, signal, home);
}

function noWheelError(reason: string): WheelStoreError {
  return new WheelStoreError({
    title: 'No wheel',
    reason,
    remedy: "Check that the build ran and that 'path' is where it writes the wheel.",
  });
}
