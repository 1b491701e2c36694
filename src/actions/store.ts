/** The root action: puts the one wheel that the build left into this run's slot. */
import { basename } from 'node:path';
import type { Bucket } from '../bucket/bucket.ts';
import { openBucket } from '../bucket/client.ts';
import { describeSearch, findWheels, onlyWheel, type Search } from '../disk/find-wheels.ts';
import { type NearbyWheel, wheelsNearby } from '../disk/nearby.ts';
import { WheelStoreError } from '../errors.ts';
import { checkVersion, warnOfOtherCommit } from '../provenance/commits.ts';
import { checkLeftOver, jobBegan } from '../provenance/left-over.ts';
import { seeWheels, signsOfBuild } from '../provenance/skipped-build.ts';
import { readStoreInputs, type StoreInputs } from '../runner/inputs.ts';
import { notedPlace, readNotes, type Verdict } from '../runner/job-notes.ts';
import { describeWheel, readableSize, requestTracer, say, trace, warn } from '../runner/log.ts';
import { indexUrl, link, setWheelOutputs } from '../runner/outputs.ts';
import { progressOf } from '../runner/progress.ts';
import { type Report, type SizeBefore, writeSummary } from '../runner/summary.ts';
import { indexKey, slotFolder } from '../slots/layout.ts';
import { listCommit, newestWheel } from '../slots/listing.ts';
import { lookUp, type Query } from '../slots/lookup.ts';
import { placeInSlot } from '../slots/place.ts';
import { publishIndex } from '../slots/publish.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { stackOf, wordsOf } from '../untrusted/foreign-text.ts';
import type { WheelContents } from '../wheel/archive.ts';
import { parseWheelFilename } from '../wheel/filename.ts';
import { type CheckedWheel, readWheel } from '../wheel/read-wheel.ts';
import { showWarnings } from './ask.ts';

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
  const notes = await readNotes(notedPlace(inputs));
  const verdict = notes.verdicts[inputs.target];
  if (checked === undefined && verdict === 'build') throw await forgotten(inputs, search, signal);
  const bucket = await openBucket(inputs.bucket, requestTracer());
  try {
    if (checked === undefined)
      await reuse(bucket, inputs, search, { verdict, fetched: notes.fetched }, signal);
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
    metadata: describe(inputs, contents),
    signal,
    warn,
    onProgress: (bytes) => showProgress(bytes, wheel.size),
  });
  const where = `s3://${inputs.bucket.name}/${placed.wheel.key}`;
  say(
    placed.how === 'put'
      ? `Stored ${where}.`
      : `Nothing to upload: ${where} already holds these very bytes, stored earlier in this run's slot (${slotFolder(slot)}).`,
  );
  const hasIndex = await updateIndex(bucket, inputs, placed.wheel, signal);
  const report = await handOver(bucket, inputs, placed.wheel, false, hasIndex);
  const before = await sizeBefore(bucket, inputs, placed.wheel, signal);
  const more = { inventory: contents.inventory, ...(before === undefined ? {} : { before }) };
  await writeSummary({ heading: 'Wheel stored', ...report, ...more });
  await comment(bucket, inputs, signal);
}

/** What earlier steps of the job said. */
interface Hints {
  readonly verdict: Verdict | undefined;
  readonly fetched: readonly string[];
}

/** Reuses the stored wheel if the build was skipped; docs/slots.md tells how that is decided. */
async function reuse(
  bucket: Bucket,
  inputs: StoreInputs,
  search: Search,
  hints: Hints,
  signal: AbortSignal,
): Promise<void> {
  const { place, target } = inputs;
  const trust = { repository: inputs.repository, sha256: [], requireSha256: false };
  const query: Query = { place, targets: [target], only: {}, trust };
  const answer = await lookUp(bucket, query, signal);
  showWarnings(answer);
  const stored = answer.wheels[0];
  if (stored === undefined) {
    throw noWheel(
      `There is ${describeSearch(inputs.path, search, await nearby(inputs, signal))}; the store has none for commit ${place.commit}${target === '' ? '' : `, target ${target}`} either.`,
    );
  }
  await checkSkipped(inputs, search, stored, hints, signal);
  const none = describeSearch(inputs.path, search);
  say(`There is ${none}: the build was skipped. Reusing ${describeWheel(stored, inputs)}.`);
  const report = await handOver(bucket, inputs, stored, true, answer.hasIndex);
  await writeSummary({ heading: 'Build skipped, the stored wheel is handed out', ...report });
  await comment(bucket, inputs, signal);
}

/** @throws WheelStoreError if a wheel elsewhere suggests that the build ran */
async function checkSkipped(
  inputs: StoreInputs,
  search: Search,
  stored: StoredWheel,
  { verdict, fetched }: Hints,
  signal: AbortSignal,
): Promise<void> {
  const seen = await seeWheels(
    await nearby(inputs, signal),
    stored,
    fetched,
    await jobBegan(inputs.eventPath),
  );
  const signs = signsOfBuild(stored.name.project, verdict, seen);
  if (signs.length === 0) return;
  const none = describeSearch(inputs.path, search, signs);
  throw noWheel(`There is ${none}. A build seems to have run, so the stored wheel is not reused.`);
}

/** A find step of this job said that the build is needed, and no wheel came of it. */
async function forgotten(inputs: StoreInputs, search: Search, signal: AbortSignal): Promise<WheelStoreError> {
  const none = describeSearch(inputs.path, search, await nearby(inputs, signal));
  return noWheel(`A find step of this job said that the build is needed, but there is ${none}.`);
}

function nearby({ workspace, home }: StoreInputs, signal: AbortSignal): Promise<NearbyWheel[]> {
  return wheelsNearby(workspace, signal, home);
}

function noWheel(reason: string): WheelStoreError {
  return new WheelStoreError({
    title: 'No wheel',
    reason,
    remedy: "Check that the build ran and that 'path' is where it leaves its wheel.",
  });
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
    trace(`No comparison of sizes with commit ${earlier.commit}: ${wordsOf(error)}`);
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
    say('The index page was left as it is (index: false).');
    return false;
  }
  try {
    await publishIndex(bucket, inputs, wheel, signal);
    say(`The index page shows it: s3://${inputs.bucket.name}/${indexKey(inputs.place)}.`);
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
    say("No comment: this run is of no pull request, and the input 'pull-request' names none.");
    return;
  }
  try {
    // Only who asks for a comment pays for GitHub's client.
    const { commentOnPullRequest } = await import('../comment/post.ts');
    await commentOnPullRequest(bucket, inputs, inputs.comment, pullRequest, signal);
  } catch (error) {
    const [title, reason] =
      error instanceof WheelStoreError
        ? [error.title, error.message]
        : [
            'Defect in wheel-store-action',
            `${wordsOf(error)} Please report this with the lines of the debug log.`,
          ];
    stackOf(error).forEach(trace);
    warn(
      `The wheel is stored, but the comment on pull request #${pullRequest} was not updated. ${reason}`,
      title,
    );
  }
}

/** Object metadata travels in HTTP headers, which hold printable ASCII; what is not is left out. */
function describe(inputs: StoreInputs, contents: WheelContents): Record<string, string> {
  const metadata: Record<string, string> = {
    commit: inputs.place.commit,
    run: inputs.run,
    attempt: inputs.attempt,
    repository: inputs.repository ?? '',
    project: contents.project,
    version: contents.version,
    'requires-python': contents.requiresPython ?? '',
  };
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => /^[\x21-\x7e][\x20-\x7e]{0,255}$/.test(value)),
  );
}
