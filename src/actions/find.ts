/** The action `find`: looks up the wheels of a commit. It changes nothing in the store. */
import * as core from '@actions/core';
import type { Bucket } from '../bucket/bucket.ts';
import { openBucket } from '../bucket/client.ts';
import { WheelStoreError } from '../errors.ts';
import { warnOfOtherHead } from '../provenance/commits.ts';
import { type FindInputs, readFindInputs } from '../runner/inputs.ts';
import { notesKey, noteVerdicts, type Verdict } from '../runner/job-notes.ts';
import { info, requestTracer, warn } from '../runner/log.ts';
import { indexUrl, linkWheels, setWheelOutputs } from '../runner/outputs.ts';
import { countWheels, writeSummary } from '../runner/summary.ts';
import { isComplete } from '../slots/lookup.ts';
import { lookUpWheels, shownTargets } from './look-up.ts';

const BUILD_NEEDED = 'Build needed';

/**
 * Decides whether the build can be skipped because the commit's wheel is stored.
 *
 * @throws WheelStoreError if the store cannot be read, unless `on-error` is `build`
 */
export async function find(signal: AbortSignal): Promise<void> {
  const inputs = readFindInputs();
  // In case this step ends early: the build is needed until the look-up finds the wheel.
  await noteVerdicts(notesKey(inputs), verdicts(inputs, [], false));
  if (inputs.rebuild) {
    info('Not looked up, because rebuild is true. The build is needed.');
    return finishWithBuild(inputs, 'Not looked up: rebuild is true.');
  }
  const bucket = await openBucket(inputs.bucket, requestTracer());
  try {
    await lookUpAndReport(bucket, inputs, signal);
  } catch (error) {
    if (inputs.onError !== 'build' || signal.aborted || !(error instanceof WheelStoreError)) throw error;
    warn(`${error.message} The build is needed (on-error: build).`, error.title);
    await finishWithBuild(inputs, `The look-up failed (on-error: build). ${error.message}`);
  } finally {
    bucket.close();
  }
}

async function lookUpAndReport(bucket: Bucket, inputs: FindInputs, signal: AbortSignal): Promise<void> {
  await warnOfOtherHead(inputs);
  const found = await lookUpWheels(bucket, inputs, signal);
  const answered = { ...inputs, place: found.place };
  const skipBuild = isComplete(found);
  const wheels = await linkWheels(bucket, found.wheels);
  info(skipBuild ? 'The build can be skipped.' : `${found.notStored} The build is needed.`);
  const index = await indexUrl(bucket, found.place, found.hasIndex);
  setWheelOutputs(answered, wheels, skipBuild, index);
  core.setOutput('missing-targets', JSON.stringify(found.missing));
  await noteVerdicts(notesKey(answered), verdicts(inputs, found.wheels, skipBuild));
  const outcome = skipBuild
    ? { heading: `${countWheels(wheels)} found, the build can be skipped` }
    : { heading: BUILD_NEEDED, reason: found.notStored };
  await writeSummary({ ...outcome, inputs: answered, wheels, index, requested: shownTargets(inputs) });
}

/** Whether the build of each target can be skipped, for a store step of this job. */
function verdicts(
  { targets, expect, forPython }: FindInputs,
  found: readonly { readonly target: string }[],
  isComplete: boolean,
): Record<string, Verdict> {
  const stored = new Set(found.map(({ target }) => target));
  // With for-python, one wheel of each project is enough for all targets.
  const canSkip = (target: string) => (forPython === undefined ? stored.has(target) : isComplete);
  const wanted = targets === '*' ? [...stored, ...expect] : targets;
  return Object.fromEntries(wanted.map((target) => [target, canSkip(target) ? 'skip' : 'build']));
}

/** Sets outputs and summary without a look-up: every requested target has to be built. */
async function finishWithBuild(inputs: FindInputs, reason: string): Promise<void> {
  setWheelOutputs(inputs, [], false, undefined);
  core.setOutput('missing-targets', JSON.stringify(inputs.targets === '*' ? inputs.expect : inputs.targets));
  await writeSummary({ heading: BUILD_NEEDED, reason, inputs, wheels: [], index: undefined });
}
