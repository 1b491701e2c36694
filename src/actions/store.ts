/** The root action: puts the one wheel that the build left into this run's slot. */
import { basename } from 'node:path';
import type { Bucket } from '../bucket/bucket.ts';
import { openBucket } from '../bucket/client.ts';
import { describeSearch, findWheels, onlyWheel, type Search } from '../disk/find-wheels.ts';
import { type Title, WheelStoreError } from '../errors.ts';
import { checkVersion, warnOfOtherCommit } from '../provenance/commits.ts';
import { checkLeftOver, jobBegan } from '../provenance/left-over.ts';
import { readStoreInputs, type StoreInputs } from '../runner/inputs.ts';
import { type Notes, notesKey, readNotes } from '../runner/job-notes.ts';
import { describeWheel, requestTracer, say, trace, warn } from '../runner/log.ts';
import { indexUrl, link, setWheelOutputs } from '../runner/outputs.ts';
import { progressOf } from '../runner/progress.ts';
import { type Report, type SizeBefore, writeSummary } from '../runner/summary.ts';
import { readableSize } from '../sizes.ts';
import { indexKey, slotFolder } from '../slots/layout.ts';
import { listCommit, newestWheel } from '../slots/listing.ts';
import { placeInSlot } from '../slots/place.ts';
import { publishIndex } from '../slots/publish.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { objectMetadata } from '../slots/trust.ts';
import { messageOf, stackOf } from '../untrusted/foreign-text.ts';
import { parseWheelFilename } from '../wheel/filename.ts';
import { type CheckedWheel, readWheel } from '../wheel/read-wheel.ts';
import { checkNotForgotten, reusableWheel } from './reuse.ts';

/**
 * Stores the wheel at `path`; where there is none because the build was skipped, hands out the stored one.
 *
 * @throws WheelStoreError
 */
export async function store(signal: AbortSignal): Promise<void> {
  const inputs = readStoreInputs();
  const search = await findWheels(inputs.path, inputs.workspace, { home: inputs.home, signal });
  const path = onlyWheel(search);
  const checked = path === undefined ? undefined : await check(path, inputs, signal);
  const notes = await readNotes(notesKey(inputs));
  if (checked === undefined) await checkNotForgotten(inputs, search, notes, signal);
  const bucket = await openBucket(inputs.bucket, requestTracer());
  try {
    if (checked === undefined) await reuse(bucket, inputs, search, notes, signal);
    else await put(bucket, inputs, checked, signal);
  } finally {
    bucket.close();
    await checked?.wheel.file.close();
  }
}

/** How long the wheel is stored already while its size is being compared with another's. */
const COMPARISON_MS = 5_000;

/** Everything that can be wrong with the wheel comes to light here, before the first request. */
async function check(path: string, inputs: StoreInputs, signal: AbortSignal): Promise<CheckedWheel> {
  const { wheel, contents } = await readWheel(path, parseWheelFilename(basename(path)), signal);
  try {
    for (const text of contents.warnings) warn(text, 'Unusual wheel');
    checkLeftOver(wheel, await jobBegan(inputs.eventPath), inputs.allowStale);
    await checkVersion(contents.version, inputs, inputs.allowStale);
    say(`Checked ${path}: ${readableSize(wheel.size)}, SHA-256 ${wheel.sha256}.`);
    return { wheel, contents };
  } catch (error) {
    await wheel.file.close();
    throw error;
  }
}

async function put(
  bucket: Bucket,
  inputs: StoreInputs,
  { wheel, contents }: CheckedWheel,
  signal: AbortSignal,
): Promise<void> {
  await warnOfOtherCommit(inputs);
  const slot = { ...inputs.place, run: inputs.run, attempt: inputs.attempt, target: inputs.target };
  const showProgress = progressOf('Uploaded');
  const placed = await placeInSlot(bucket, {
    slot,
    wheel,
    metadata: objectMetadata(slot, inputs.repository, contents),
    signal,
    warn,
    onProgress: (bytes) => showProgress(bytes, wheel.size),
  });
  const where = bucket.uri(placed.wheel.key);
  say(
    placed.how === 'put'
      ? `Stored ${where}.`
      : `Nothing to upload: ${where} already holds the same bytes, stored earlier in this run's slot (${slotFolder(slot)}).`,
  );
  const hasIndex = await updateIndex(bucket, inputs, placed.wheel, signal);
  const report = await handOver(bucket, inputs, placed.wheel, false, hasIndex);
  const before = await sizeBefore(bucket, inputs, placed.wheel, signal);
  const more = { inventory: contents.inventory, ...(before === undefined ? {} : { before }) };
  await writeSummary({ heading: 'Wheel stored', ...report, ...more });
  await comment(bucket, inputs, signal);
}

/** The build was skipped: the stored wheel is reused. */
async function reuse(
  bucket: Bucket,
  inputs: StoreInputs,
  search: Search,
  notes: Notes,
  signal: AbortSignal,
): Promise<void> {
  const { wheel, hasIndex } = await reusableWheel(bucket, inputs, search, notes, signal);
  const none = describeSearch(inputs.path, search);
  say(`There is ${none}: the build was skipped. Reusing ${describeWheel(wheel, inputs)}.`);
  const report = await handOver(bucket, inputs, wheel, true, hasIndex);
  await writeSummary({ heading: 'Build skipped, stored wheel reused', ...report });
  await comment(bucket, inputs, signal);
}

/** Sets the outputs; what comes after them is only told. */
async function handOver(
  bucket: Bucket,
  inputs: StoreInputs,
  wheel: StoredWheel,
  skipBuild: boolean,
  hasIndex: boolean,
): Promise<Pick<Report, 'inputs' | 'wheels' | 'index'>> {
  const wheels = await link(bucket, [wheel]);
  const index = await indexUrl(bucket, inputs.place, hasIndex);
  setWheelOutputs(inputs.bucket, wheels, skipBuild, index);
  say(`wheel-url: ${wheels[0]!.plainUrl}`);
  return { inputs, wheels, index };
}

/** How large the wheel was before this change, at the price of one listing. Where nobody answers, nobody asked. */
async function sizeBefore(
  bucket: Bucket,
  { place, target, earlier }: StoreInputs,
  wheel: StoredWheel,
  signal: AbortSignal,
): Promise<SizeBefore | undefined> {
  if (earlier === undefined) return undefined;
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(COMPARISON_MS)]);
    const there = { ...place, commit: earlier.commit };
    const found = newestWheel(await listCommit(bucket, there, soon), target);
    return found?.name.project === wheel.name.project ? { size: found.size, earlier } : undefined;
  } catch (error) {
    trace(`No comparison of sizes with commit ${earlier.commit}: ${messageOf(error)}`);
    return undefined;
  }
}

/** The wheel is stored by now; a page that cannot be written, or a job that is cancelled, is no reason to fail. */
async function updateIndex(
  bucket: Bucket,
  inputs: StoreInputs,
  wheel: StoredWheel,
  signal: AbortSignal,
): Promise<boolean> {
  if (!inputs.index) {
    say('The index page was not updated (index: false).');
    return false;
  }
  try {
    await publishIndex(bucket, inputs, wheel, signal);
    say(`Updated the index page: ${bucket.uri(indexKey(inputs.place))}.`);
    return true;
  } catch (error) {
    if (!(error instanceof WheelStoreError) && !signal.aborted) throw error;
    const { message, title } = error instanceof WheelStoreError ? error : (signal.reason as WheelStoreError);
    warn(`The wheel is stored, but the commit's index page could not be updated. ${message}`, title);
    return false;
  }
}

/** The wheel is stored by now; a comment that cannot be written is no reason to fail. */
async function comment(bucket: Bucket, inputs: StoreInputs, signal: AbortSignal): Promise<void> {
  if (inputs.comment === undefined) return;
  const { pullRequest } = inputs.comment;
  if (pullRequest === undefined) {
    say("No comment: this run has no pull request, and the input 'pull-request' is empty.");
    return;
  }
  try {
    // Only who asks for a comment pays for GitHub's client.
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
