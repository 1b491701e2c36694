/** Puts checked wheels into their slots, several side by side. One that fails leaves the others as they are. */
import type { Bucket } from '../bucket/bucket.ts';
import type { OpenWheel } from '../disk/open-wheel.ts';
import { type Warn, WheelStoreError } from '../errors.ts';
import type { StoreInputs } from '../runner/inputs.ts';
import { info, trace, warn } from '../runner/log.ts';
import { progressLogger } from '../runner/progress.ts';
import { slotFolder } from '../slots/layout.ts';
import { placeInSlot } from '../slots/place.ts';
import { correctIndex } from '../slots/publish.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { objectMetadata } from '../slots/trust.ts';
import { messageOf } from '../untrusted/foreign-text.ts';
import { firstOf } from '../untrusted/quote.ts';
import type { WheelContents } from '../wheel/archive.ts';
import { normaliseProject } from '../wheel/filename.ts';

/** A checked wheel or sdist, and the target of its slot. */
export interface ReadyWheel {
  readonly wheel: OpenWheel;
  /** An sdist has no inventory. */
  readonly contents: Omit<WheelContents, 'tags' | 'inventory'> & Partial<Pick<WheelContents, 'inventory'>>;
  readonly target: string;
}

/** A wheel that was not stored, and why. */
export interface FailedWheel {
  readonly ready: ReadyWheel;
  readonly error: unknown;
}

/** The result for each wheel, in the order of the wheels. */
export interface PutResult {
  readonly stored: readonly StoredWheel[];
  readonly failed: readonly FailedWheel[];
}

/** Enough to hide the latency of small wheels. What large ones need of memory is limited by `sendBuffers`. */
const WHEELS_AT_ONCE = 4;
/** How many wheels one error lists. */
const MAX_LISTED = 20;

/**
 * Puts each wheel into its slot of this run. A failed wheel doesn't keep the others from being stored. Once the signal
 * aborts, no other wheel is begun, and those that are not complete are removed.
 */
export async function putWheels(
  bucket: Bucket,
  inputs: StoreInputs,
  wheels: readonly ReadyWheel[],
  signal: AbortSignal,
): Promise<PutResult> {
  const stored: StoredWheel[] = [];
  const failed: FailedWheel[] = [];
  const progressOf = totalProgress(wheels);
  const warnOnce = withoutRepeats(warn);
  const put = async (index: number, ready: ReadyWheel) => {
    try {
      signal.throwIfAborted();
      stored[index] = await putWheel(bucket, inputs, ready, signal, warnOnce, progressOf(index));
    } catch (error) {
      failed[index] = { ready, error };
      if (wheels.length > 1) info(`Not stored: ${ready.wheel.filename}. ${messageOf(error)}`);
    }
  };
  // All workers take from the same iterator.
  const queue = wheels.entries();
  const work = async () => {
    for (const [index, ready] of queue) await put(index, ready);
  };
  await Promise.all(Array.from({ length: WHEELS_AT_ONCE }, work));
  // Without the holes.
  return { stored: stored.filter(() => true), failed: failed.filter(() => true) };
}

async function putWheel(
  bucket: Bucket,
  inputs: StoreInputs,
  { wheel, contents, target }: ReadyWheel,
  signal: AbortSignal,
  warnOnce: Warn,
  onProgress: (bytes: number) => void,
): Promise<StoredWheel> {
  const slot = { ...inputs.place, run: inputs.run, attempt: inputs.attempt, target };
  const placed = await placeInSlot(bucket, {
    slot,
    wheel,
    metadata: objectMetadata(slot, inputs.repository, contents),
    signal,
    warn: warnOnce,
    onProgress,
    onRemoved: (cleanUp) => withdrawFromIndex(bucket, inputs, contents.project, cleanUp),
  });
  onProgress(wheel.size);
  const where = bucket.uri(placed.wheel.key);
  info(
    placed.how === 'put'
      ? `Stored ${where}.`
      : `Nothing to upload: ${where} already holds the same bytes, stored earlier in this run's slot (${slotFolder(slot)}).`,
  );
  return placed.wheel;
}

/** Logs the progress of all uploads together. */
function totalProgress(wheels: readonly ReadyWheel[]): (index: number) => (bytes: number) => void {
  const showProgress = progressLogger('Uploaded');
  const total = wheels.reduce((sum, { wheel }) => sum + wheel.size, 0);
  const sent = wheels.map(() => 0);
  return (index) => (bytes) => {
    sent[index] = bytes;
    showProgress(
      sent.reduce((sum, each) => sum + each, 0),
      total,
    );
  };
}

/** Several wheels can have the same warning, such as one about the store. */
function withoutRepeats(show: Warn): Warn {
  const shown = new Set<string>();
  return (text, title) => {
    if (!shown.has(text)) show(text, title);
    shown.add(text);
  };
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

/**
 * The error for wheels that were not stored.
 *
 * @param failed - at least one
 * @returns the wheel's own error if there is only one wheel, or if it is not a WheelStoreError, which is a bug
 */
export function explainFailed({ stored, failed }: PutResult): unknown {
  const errors = failed.map(({ error }) => error);
  const [first] = errors;
  const bug = errors.find((error) => !(error instanceof WheelStoreError));
  if (bug !== undefined) return bug;
  if (!(first instanceof WheelStoreError) || stored.length + failed.length === 1) return first;
  const remedy =
    stored.length === 0
      ? first.remedy
      : `${first.remedy} What is stored stays; a find step with these targets lists the others in missing-targets.`;
  return new WheelStoreError(
    {
      title: 'Not all wheels stored',
      reason: `${describeResult({ stored, failed })} ${first.reason}`,
      remedy,
    },
    { cause: first },
  );
}

/** Which wheels are stored and which are not, and the kind of each error: two sentences. */
export function describeResult({ stored, failed }: PutResult): string {
  const names = stored.map(({ name }) => name.filename);
  const others = failed.map(({ ready, error }) => {
    const kind = error instanceof WheelStoreError ? ` (${error.title})` : '';
    return `${ready.wheel.filename}${kind}`;
  });
  const kept = names.length === 0 ? 'No wheel is stored.' : `Stored: ${firstOf(names, MAX_LISTED)}.`;
  return `${kept} Not stored: ${firstOf(others, MAX_LISTED)}.`;
}
