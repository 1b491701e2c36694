/** The root action: stores the wheels that the build produced, each in a slot of this run. */
import { basename } from 'node:path';
import type { Bucket } from '../bucket/bucket.ts';
import { openBucket } from '../bucket/client.ts';
import { describeOthers, describeSearch } from '../disk/describe-search.ts';
import { findWheels, onlyWheel, type Search } from '../disk/find-wheels.ts';
import { checkVersion, warnOfOtherCommit, warnOfOtherTag } from '../provenance/commits.ts';
import { checkLeftOver, jobStartTime } from '../provenance/left-over.ts';
import { readStoreInputs, type StoreInputs } from '../runner/inputs.ts';
import { type Notes, notesKey, readNotes } from '../runner/job-notes.ts';
import { describeWheel, info, requestTracer, trace, warn } from '../runner/log.ts';
import { indexUrl, linkWheels, setWheelOutputs } from '../runner/outputs.ts';
import { ALL_TARGETS } from '../runner/selection-inputs.ts';
import { countWheels, type EarlierSize, type Report, writeSummary } from '../runner/summary.ts';
import { readableSize } from '../sizes.ts';
import { SDIST_TARGET } from '../slots/layout.ts';
import { listCommit, newestWheel } from '../slots/listing.ts';
import { checkExpected, nameTargets, type TargetedWheel } from '../slots/own-targets.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { messageOf } from '../untrusted/foreign-text.ts';
import { parseWheelFilename, type WheelName } from '../wheel/filename.ts';
import { readWheel } from '../wheel/read-wheel.ts';
import { updateComment, updateIndex } from './announce.ts';
import { describeResult, explainFailed, putWheels, type ReadyWheel } from './put-wheels.ts';
import { checkBuildNotRequired, reusableWheels } from './reuse.ts';
import { onlySdist } from './sdist.ts';

/**
 * Stores the wheel at `path`, or with `target: "*"` all wheels there, each in its own slot. If there is no wheel
 * because the build was skipped, reuses what is stored.
 *
 * @throws WheelStoreError if a wheel is missing or invalid, or cannot be stored
 */
export async function store(signal: AbortSignal): Promise<void> {
  const inputs = readStoreInputs();
  const search = await findWheels(inputs.path, inputs.workspace, { home: inputs.home, signal });
  const wheels = wheelsToStore(inputs, search);
  const others = describeOthers(
    search,
    wheels.map(({ name }) => name.filename),
  );
  if (others !== undefined) info(others);
  const ready = await checkWheels(wheels, inputs, signal);
  try {
    const notes = await readNotes(notesKey(inputs));
    if (ready.length === 0) await checkBuildNotRequired(inputs, search, notes, signal);
    const bucket = await openBucket(inputs.bucket, requestTracer());
    try {
      if (ready.length === 0) await reuseStored(bucket, inputs, search, notes, signal);
      else await storeWheels(bucket, inputs, ready, signal);
    } finally {
      bucket.close();
    }
  } finally {
    await closeAll(ready);
  }
}

/** How long the step waits for the size of an earlier wheel. The new wheel is already stored by then. */
const COMPARISON_MS = 5_000;

/** @throws WheelStoreError if there are several wheels for one slot, or an expected one is missing */
function wheelsToStore(inputs: StoreInputs, search: Search): TargetedWheel[] {
  const { target, expect } = inputs;
  const sdist = inputs.sdist ? onlySdist(search, inputs) : [];
  if (target === SDIST_TARGET) {
    for (const wheel of search.wheels) info(`${wheel} is not stored: target is ${SDIST_TARGET}.`);
    return sdist;
  }
  if (target !== ALL_TARGETS) {
    const path = onlyWheel(search);
    const wheel = path === undefined ? [] : [{ path, name: parseWheelFilename(basename(path)), target }];
    return [...wheel, ...sdist];
  }
  const wheels = [...nameTargets(search.wheels), ...sdist];
  if (wheels.length > 0) checkExpected(wheels, expect);
  for (const { path, target: own } of wheels) info(`${path} has the target ${own}.`);
  return wheels;
}

/** Checks all wheels completely, one after another, before the first request is sent. */
async function checkWheels(
  wheels: readonly TargetedWheel[],
  inputs: StoreInputs,
  signal: AbortSignal,
): Promise<ReadyWheel[]> {
  const ready: ReadyWheel[] = [];
  try {
    for (const wheel of wheels) ready.push(await checkWheel(wheel, inputs, signal));
    return ready;
  } catch (error) {
    await closeAll(ready);
    throw error;
  }
}

async function closeAll(ready: readonly ReadyWheel[]): Promise<void> {
  await Promise.all(ready.map(({ wheel }) => wheel.file.close()));
}

async function checkWheel(
  { path, name, target }: TargetedWheel,
  inputs: StoreInputs,
  signal: AbortSignal,
): Promise<ReadyWheel> {
  const { wheel, contents } = await readAny(path, name, target, signal);
  try {
    for (const text of contents.warnings) warn(text, 'Unusual wheel');
    checkLeftOver(wheel, await jobStartTime(inputs.eventPath), inputs.allowStale);
    await checkVersion(contents.version, inputs, inputs.allowStale);
    warnOfOtherTag(contents.version, inputs);
    info(`Checked ${path}: ${readableSize(wheel.size)}, SHA-256 ${wheel.sha256}.`);
    return { wheel, contents, target };
  } catch (error) {
    await wheel.file.close();
    throw error;
  }
}

async function readAny(
  path: string,
  name: WheelName,
  target: string,
  signal: AbortSignal,
): Promise<Pick<ReadyWheel, 'wheel' | 'contents'>> {
  if (target !== SDIST_TARGET) return readWheel(path, name, signal);
  // Loaded only if needed, because few steps store an sdist.
  const { readSdist } = await import('../wheel/sdist.ts');
  return readSdist(path, name, signal);
}

async function storeWheels(
  bucket: Bucket,
  inputs: StoreInputs,
  ready: readonly ReadyWheel[],
  signal: AbortSignal,
): Promise<void> {
  await warnOfOtherCommit(inputs);
  const result = await putWheels(bucket, inputs, ready, signal);
  const { stored, failed } = result;
  if (stored.length > 0) {
    const listed = await updateIndex(bucket, inputs, stored, signal);
    const report = await setOutputs(bucket, inputs, stored, false, listed !== undefined);
    const details = ready.length > 1 ? {} : await detailsOf(bucket, inputs, ready[0]!, stored[0]!, signal);
    const reason = failed.length === 0 ? {} : { reason: describeResult(result) };
    const count = failed.length === 0 ? countWheels(stored) : `${stored.length} of ${ready.length} wheels`;
    const around = neighbours(stored, listed);
    await writeSummary({ heading: `${count} stored`, ...report, ...details, ...around, ...reason });
    await updateComment(bucket, inputs, stored, signal);
  }
  if (failed.length > 0) throw explainFailed(result);
}

/** What the summary shows of a single wheel. */
async function detailsOf(
  bucket: Bucket,
  inputs: StoreInputs,
  { contents }: ReadyWheel,
  stored: StoredWheel,
  signal: AbortSignal,
): Promise<Pick<Report, 'inventory' | 'before'>> {
  const before = await readEarlierSize(bucket, inputs, stored, signal);
  const { inventory } = contents;
  return {
    ...(inventory === undefined ? {} : { inventory }),
    ...(before === undefined ? {} : { before }),
  };
}

/** What the summary shows of the commit's other projects, on which the wheels may depend. */
function neighbours(
  stored: readonly StoredWheel[],
  listed: readonly StoredWheel[] = [],
): Pick<Report, 'projects' | 'alongside'> {
  const own = new Set(stored.map(({ name }) => name.project));
  const names = listed.map(({ name }) => name);
  return {
    projects: new Set(names.map(({ project }) => project)),
    alongside: names.filter(({ project }) => !own.has(project)),
  };
}

/** Reuses the stored wheels, because the build was skipped. */
async function reuseStored(
  bucket: Bucket,
  inputs: StoreInputs,
  search: Search,
  notes: Notes,
  signal: AbortSignal,
): Promise<void> {
  const { wheels, hasIndex, commitProjects } = await reusableWheels(bucket, inputs, search, notes, signal);
  const notFound = describeSearch(inputs.path, search);
  const reused = wheels.map((wheel) => describeWheel(wheel, inputs)).join('; ');
  info(`There is ${notFound}: the build was skipped. Reusing ${reused}.`);
  const report = await setOutputs(bucket, inputs, wheels, true, hasIndex);
  const what = wheels.length === 1 ? 'stored wheel' : `${wheels.length} stored wheels`;
  await writeSummary({ heading: `Build skipped, ${what} reused`, ...report, projects: commitProjects });
  await updateComment(bucket, inputs, wheels, signal);
}

/** Sets the outputs. What follows (sizes, summary, comment) only informs. */
async function setOutputs(
  bucket: Bucket,
  inputs: StoreInputs,
  stored: readonly StoredWheel[],
  skipBuild: boolean,
  hasIndex: boolean,
): Promise<Pick<Report, 'inputs' | 'wheels' | 'index'>> {
  const wheels = await linkWheels(bucket, stored);
  const index = await indexUrl(bucket, inputs.place, hasIndex);
  setWheelOutputs(inputs, wheels, skipBuild, index);
  if (wheels.length === 1) info(`wheel-url: ${wheels[0]!.plainUrl}`);
  return { inputs, wheels, index };
}

/**
 * How large the wheel was before this change. Takes one listing.
 *
 * @returns undefined if there is no such wheel, or the listing fails
 */
async function readEarlierSize(
  bucket: Bucket,
  { place, earlier }: StoreInputs,
  wheel: StoredWheel,
  signal: AbortSignal,
): Promise<EarlierSize | undefined> {
  if (earlier === undefined) return undefined;
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(COMPARISON_MS)]);
    const earlierPlace = { ...place, commit: earlier.commit };
    const found = newestWheel(await listCommit(bucket, earlierPlace, limited), wheel.target);
    return found?.name.project === wheel.name.project ? { size: found.size, earlier } : undefined;
  } catch (error) {
    trace(`Could not compare the size with commit ${earlier.commit}: ${messageOf(error)}`);
    return undefined;
  }
}
