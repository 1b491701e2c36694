/** The action `find`: looks a commit up and changes nothing. */
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
 * Says whether the build can be skipped because the commit's wheel is stored.
 *
 * @throws WheelStoreError when the store gives no answer, unless `on-error` says to build then
 */
export async function find(signal: AbortSignal): Promise<void> {
  const inputs = readFindInputs();
  // What ends this step before its answer leaves the build to be done.
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
    await finishWithBuild(inputs, `The store gave no answer (on-error: build). ${error.message}`);
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
  await writeSummary(
    skipBuild
      ? { heading: `${countWheels(wheels)} found, the build can be skipped`, inputs, wheels, index }
      : { heading: BUILD_NEEDED, reason: `Not stored: ${found.notStored}.`, inputs, wheels, index },
  );
}

/** By target: whether its build can be skipped, for a store step of this job. */
function verdicts(
  { targets, forPython }: FindInputs,
  found: readonly { readonly target: string }[],
): Record<string, Verdict> {
  const stored = new Set(found.map(({ target }) => target));
  // With for-python one wheel answers for all targets.
  const canSkip = (target: string) => stored.has(target) || (forPython !== undefined && stored.size > 0);
  const wanted = targets === '*' ? [...stored] : targets;
  return Object.fromEntries(wanted.map((target) => [target, canSkip(target) ? 'skip' : 'build']));
}

/** The answer without a look-up: everything that was asked for has to be built. */
async function finishWithBuild(inputs: FindInputs, reason: string): Promise<void> {
  setWheelOutputs(inputs.bucket, [], false, undefined);
  core.setOutput('missing-targets', JSON.stringify(inputs.targets === '*' ? [] : inputs.targets));
  await writeSummary({ heading: BUILD_NEEDED, reason, inputs, wheels: [], index: undefined });
}
