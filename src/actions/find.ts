/** The action `find`: looks up the wheels of a commit. It changes nothing in the store. */
import * as core from '@actions/core';
import type { Bucket } from '../bucket/bucket.ts';
import { openBucket } from '../bucket/client.ts';
import { WheelStoreError } from '../errors.ts';
import { warnOfOtherHead } from '../provenance/commits.ts';
import { type FindInputs, readFindInputs } from '../runner/inputs.ts';
import { notesKey, noteVerdicts, type Verdict } from '../runner/job-notes.ts';
import { describeWheel, info, infoGroup, requestTracer, warn } from '../runner/log.ts';
import { indexUrl, linkWheels, setWheelOutputs } from '../runner/outputs.ts';
import { countWheels, writeSummary } from '../runner/summary.ts';
import { isComplete } from '../slots/lookup.ts';
import { lookUpWheels } from './look-up.ts';

const BUILD_NEEDED = 'Build needed';

/**
 * Decides whether the build can be skipped because the commit's wheel is stored.
 *
 * @throws WheelStoreError if the store cannot be read, unless `on-error` is `build`
 */
export async function find(signal: AbortSignal): Promise<void> {
  const inputs = readFindInputs();
  // In case this step ends early: the build is needed until the look-up finds the wheel.
  await noteVerdicts(notesKey(inputs), verdicts(inputs, []));
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
  const skipBuild = isComplete(found);
  const wheels = await linkWheels(bucket, found.wheels);
  infoGroup(
    `Found ${wheels.length} wheels`,
    wheels.map((wheel) => `Found ${describeWheel(wheel, inputs)}.`),
  );
  info(skipBuild ? 'The build can be skipped.' : `Not stored: ${found.notStored}. The build is needed.`);
  const index = await indexUrl(bucket, inputs.place, found.hasIndex);
  setWheelOutputs(inputs.bucket, wheels, skipBuild, index);
  core.setOutput('missing-targets', JSON.stringify(found.missing));
  await noteVerdicts(notesKey(inputs), verdicts(inputs, found.wheels));
  const report = { inputs, wheels, index, projects: found.projects };
  await writeSummary(
    skipBuild
      ? { heading: `${countWheels(wheels)} found, the build can be skipped`, ...report }
      : { heading: BUILD_NEEDED, reason: `Not stored: ${found.notStored}.`, ...report },
  );
}

/** Whether the build of each target can be skipped, for a store step of this job. */
function verdicts(
  { targets, forPython }: FindInputs,
  found: readonly { readonly target: string }[],
): Record<string, Verdict> {
  const stored = new Set(found.map(({ target }) => target));
  // With for-python, one wheel is enough for all targets.
  const canSkip = (target: string) => stored.has(target) || (forPython !== undefined && stored.size > 0);
  const wanted = targets === '*' ? [...stored] : targets;
  return Object.fromEntries(wanted.map((target) => [target, canSkip(target) ? 'skip' : 'build']));
}

/** Sets outputs and summary without a look-up: every requested target has to be built. */
async function finishWithBuild(inputs: FindInputs, reason: string): Promise<void> {
  setWheelOutputs(inputs.bucket, [], false, undefined);
  core.setOutput('missing-targets', JSON.stringify(inputs.targets === '*' ? [] : inputs.targets));
  await writeSummary({ heading: BUILD_NEEDED, reason, inputs, wheels: [], index: undefined });
}
