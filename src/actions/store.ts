/** The root action: stores the one wheel that the build produced in this run's slot. */
import { basename } from 'node:path';
import type { Bucket } from '../bucket/bucket.ts';
import { openBucket } from '../bucket/client.ts';
import { describeSearch, findWheels, onlyWheel, type Search } from '../disk/find-wheels.ts';
import { type Title, WheelStoreError } from '../errors.ts';
import { checkVersion, warnOfOtherCommit } from '../provenance/commits.ts';
import { checkLeftOver, jobStartTime } from '../provenance/left-over.ts';
import { readStoreInputs, type StoreInputs } from '../runner/inputs.ts';
import { type Notes, notesKey, readNotes } from '../runner/job-notes.ts';
import { describeWheel, info, requestTracer, trace, warn } from '../runner/log.ts';
import { indexUrl, linkWheels, setWheelOutputs } from '../runner/outputs.ts';
import { progressLogger } from '../runner/progress.ts';
import { type EarlierSize, type Report, writeSummary } from '../runner/summary.ts';
import { readableSize } from '../sizes.ts';
import { indexKey, slotFolder } from '../slots/layout.ts';
import { listCommit, newestWheel } from '../slots/listing.ts';
import { placeInSlot } from '../slots/place.ts';
import { correctIndex, publishIndex } from '../slots/publish.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { objectMetadata } from '../slots/trust.ts';
import { messageOf, stackOf } from '../untrusted/foreign-text.ts';
import { normaliseProject, parseWheelFilename } from '../wheel/filename.ts';
import { type CheckedWheel, readWheel } from '../wheel/read-wheel.ts';
import { checkBuildNotRequired, reusableWheel } from './reuse.ts';

/**
 * Stores the wheel at `path`. If there is no wheel because the build was skipped, reuses the stored one.
 *
 * @throws WheelStoreError if the wheel is missing or invalid, or cannot be stored
 */
export async function store(signal: AbortSignal): Promise<void> {
  const inputs = readStoreInputs();
  const search = await findWheels(inputs.path, inputs.workspace, { home: inputs.home, signal });
  const path = onlyWheel(search);
  const checked = path === undefined ? undefined : await checkWheel(path, inputs, signal);
  const notes = await readNotes(notesKey(inputs));
  if (checked === undefined) await checkBuildNotRequired(inputs, search, notes, signal);
  const bucket = await openBucket(inputs.bucket, requestTracer());
  try {
    if (checked === undefined) await reuseStored(bucket, inputs, search, notes, signal);
    else await storeWheel(bucket, inputs, checked, signal);
  } finally {
    bucket.close();
    await checked?.wheel.file.close();
  }
}

/** How long the step waits for the size of an earlier wheel. The new wheel is already stored by then. */
const COMPARISON_MS = 5_000;

/** Checks the wheel completely, before the first request is sent. */
async function checkWheel(path: string, inputs: StoreInputs, signal: AbortSignal): Promise<CheckedWheel> {
  const { wheel, contents } = await readWheel(path, parseWheelFilename(basename(path)), signal);
  try {
    for (const text of contents.warnings) warn(text, 'Unusual wheel');
    checkLeftOver(wheel, await jobStartTime(inputs.eventPath), inputs.allowStale);
    await checkVersion(contents.version, inputs, inputs.allowStale);
    info(`Checked ${path}: ${readableSize(wheel.size)}, SHA-256 ${wheel.sha256}.`);
    return { wheel, contents };
  } catch (error) {
    await wheel.file.close();
    throw error;
  }
}

async function storeWheel(
  bucket: Bucket,
  inputs: StoreInputs,
  { wheel, contents }: CheckedWheel,
  signal: AbortSignal,
): Promise<void> {
  await warnOfOtherCommit(inputs);
  const slot = { ...inputs.place, run: inputs.run, attempt: inputs.attempt, target: inputs.target };
  const showProgress = progressLogger('Uploaded');
  const placed = await placeInSlot(bucket, {
    slot,
    wheel,
    metadata: objectMetadata(slot, inputs, contents),
    signal,
    warn,
    onProgress: (bytes) => showProgress(bytes, wheel.size),
    onRemoved: (cleanUp) => withdrawFromIndex(bucket, inputs, contents.project, cleanUp),
  });
  const where = bucket.uri(placed.wheel.key);
  info(
    placed.how === 'put'
      ? `Stored ${where}.`
      : `Nothing to upload: ${where} already holds the same bytes, stored earlier in this run's slot (${slotFolder(slot)}).`,
  );
  const listed = await updateIndex(bucket, inputs, placed.wheel, signal);
  const report = await setOutputs(bucket, inputs, placed.wheel, false, listed !== undefined);
  const before = await readEarlierSize(bucket, inputs, placed.wheel, signal);
  const details = {
    inventory: contents.inventory,
    ...(before === undefined ? {} : { before }),
    ...neighbours(placed.wheel, listed),
  };
  await writeSummary({ heading: 'Wheel stored', ...report, ...details });
  await updateComment(bucket, inputs, signal);
}

/** What the summary shows of the commit's other projects, on which the wheel may depend. */
function neighbours(
  { name }: StoredWheel,
  listed: readonly StoredWheel[] = [],
): Pick<Report, 'projects' | 'alongside'> {
  const names = listed.map((wheel) => wheel.name);
  return {
    projects: new Set(names.map(({ project }) => project)),
    alongside: names.filter(({ project }) => project !== name.project),
  };
}

/** Reuses the stored wheel, because the build was skipped. */
async function reuseStored(
  bucket: Bucket,
  inputs: StoreInputs,
  search: Search,
  notes: Notes,
  signal: AbortSignal,
): Promise<void> {
  const { wheel, hasIndex, projects } = await reusableWheel(bucket, inputs, search, notes, signal);
  const notFound = describeSearch(inputs.path, search);
  info(`There is ${notFound}: the build was skipped. Reusing ${describeWheel(wheel, inputs)}.`);
  const report = await setOutputs(bucket, inputs, wheel, true, hasIndex);
  await writeSummary({ heading: 'Build skipped, stored wheel reused', ...report, projects });
  await updateComment(bucket, inputs, signal);
}

/** Sets the outputs. What follows (sizes, summary, comment) only informs. */
async function setOutputs(
  bucket: Bucket,
  inputs: StoreInputs,
  wheel: StoredWheel,
  skipBuild: boolean,
  hasIndex: boolean,
): Promise<Pick<Report, 'inputs' | 'wheels' | 'index'>> {
  const wheels = await linkWheels(bucket, [wheel]);
  const index = await indexUrl(bucket, inputs.place, hasIndex);
  setWheelOutputs(inputs.bucket, wheels, skipBuild, index);
  info(`wheel-url: ${wheels[0]!.plainUrl}`);
  return { inputs, wheels, index };
}

/**
 * How large the wheel was before this change. Takes one listing.
 *
 * @returns undefined if there is no such wheel, or the listing fails
 */
async function readEarlierSize(
  bucket: Bucket,
  { place, target, earlier }: StoreInputs,
  wheel: StoredWheel,
  signal: AbortSignal,
): Promise<EarlierSize | undefined> {
  if (earlier === undefined) return undefined;
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(COMPARISON_MS)]);
    const earlierPlace = { ...place, commit: earlier.commit };
    const found = newestWheel(await listCommit(bucket, earlierPlace, limited), target);
    return found?.name.project === wheel.name.project ? { size: found.size, earlier } : undefined;
  } catch (error) {
    trace(`Could not compare the size with commit ${earlier.commit}: ${messageOf(error)}`);
    return undefined;
  }
}

/**
 * The wheel is stored by now, so neither a failure to write the page nor a cancellation fails the step.
 *
 * @returns the wheels on the page; undefined if it was not updated
 */
async function updateIndex(
  bucket: Bucket,
  inputs: StoreInputs,
  wheel: StoredWheel,
  signal: AbortSignal,
): Promise<readonly StoredWheel[] | undefined> {
  if (!inputs.index) {
    info('The index page was not updated (index: false).');
    return undefined;
  }
  try {
    const listed = await publishIndex(bucket, inputs, wheel, signal);
    info(`Updated the index page: ${bucket.uri(indexKey(inputs.place))}.`);
    return listed;
  } catch (error) {
    if (!(error instanceof WheelStoreError) && !signal.aborted) throw error;
    const { message, title } = error instanceof WheelStoreError ? error : (signal.reason as WheelStoreError);
    warn(`The wheel is stored, but the commit's index page could not be updated. ${message}`, title);
    return undefined;
  }
}

/** The step fails anyway, so a failure to correct the page is only a warning. */
async function withdrawFromIndex(
  bucket: Bucket,
  inputs: StoreInputs,
  project: string,
  signal: AbortSignal,
): Promise<void> {
  if (!inputs.index) return;
  try {
    await correctIndex(bucket, inputs, normaliseProject(project), signal);
  } catch (error) {
    trace(`Could not correct the index page: ${messageOf(error)}`);
  }
}

/** The wheel is stored by now, so a failure to write the comment doesn't fail the step. */
async function updateComment(bucket: Bucket, inputs: StoreInputs, signal: AbortSignal): Promise<void> {
  if (inputs.comment === undefined) return;
  const { pullRequest } = inputs.comment;
  if (pullRequest === undefined) {
    info("No comment: this run has no pull request, and the input 'pull-request' is empty.");
    return;
  }
  try {
    // Loaded only if needed, because GitHub's client slows the start down.
    const { commentOnPullRequest } = await import('../comment/post.ts');
    await commentOnPullRequest(bucket, inputs, inputs.comment, pullRequest, signal);
  } catch (error) {
    const [title, reason]: [Title, string] =
      error instanceof WheelStoreError
        ? [error.title, error.message]
        : [
            'Bug in wheel-store-action',
            `${messageOf(error)} Please report this with the lines of the debug log.`,
          ];
    stackOf(error).forEach(trace);
    warn(
      `The wheel is stored, but the comment on pull request #${pullRequest} was not updated. ${reason}`,
      title,
    );
  }
}
