/** The action `fetch`: downloads and verifies stored wheels. */
import { resolve } from 'node:path';
import * as core from '@actions/core';
import type { Bucket } from '../bucket/bucket.ts';
import { openBucket } from '../bucket/client.ts';
import type { ActionsCache } from '../cache/cache.ts';
import { type FetchInputs, readFetchInputs } from '../runner/inputs.ts';
import { noteFetched, notesKey } from '../runner/job-notes.ts';
import { info, infoGroup, notice, requestTracer, trace } from '../runner/log.ts';
import { indexUrl, type LinkedWheel, linkWheels, onlyWheelOf, setWheelOutputs } from '../runner/outputs.ts';
import { progressLogger } from '../runner/progress.ts';
import { countWheels, writeSummary } from '../runner/summary.ts';
import { readableSize } from '../sizes.ts';
import { downloadWheels, type FetchedWheel } from '../slots/download.ts';
import { isComplete } from '../slots/lookup.ts';
import { type LookUpOutcome, lookUpWheels, notStoredError, shownTargets } from './look-up.ts';

/**
 * Downloads the commit's wheels into the folder `path`: all that were requested, or none.
 *
 * @throws WheelStoreError if one is not stored (unless `on-missing` is `ignore`), or a download doesn't match the
 *   stored wheel
 */
export async function fetch(signal: AbortSignal): Promise<void> {
  const inputs = readFetchInputs();
  info(`Commit ${inputs.place.commit}.`);
  const bucket = await openBucket(inputs.bucket, requestTracer());
  try {
    const found = await lookUpWheels(bucket, inputs, signal);
    if (!isComplete(found)) await failUnlessIgnored(bucket, inputs, found);
    const cache = await openCacheIfWanted(inputs);
    const folder = resolve(inputs.workspace, inputs.path);
    const onProgress = progressLogger('Downloaded');
    const fetched = await downloadWheels(bucket, found.wheels, { folder, signal, cache, onProgress, trace });
    fetched.forEach(noticeIfUnverified);
    await noteFetched(
      notesKey(inputs),
      fetched.map(({ path }) => path),
    );
    infoGroup(`Fetched ${fetched.length} wheels into ${folder}`, fetched.map(describeFetched));
    await setOutputsAndSummary(bucket, inputs, found, fetched);
    // The outputs are set, so neither a failure nor a cancellation from here on fails the step.
    await cache?.save(fetched, signal);
  } finally {
    bucket.close();
  }
}

async function openCacheIfWanted({ cache }: FetchInputs): Promise<ActionsCache | undefined> {
  if (cache === undefined) return undefined;
  // Loaded only if needed, because it slows the start down.
  const { openCache } = await import('../cache/cache.ts');
  return openCache(cache);
}

async function failUnlessIgnored(bucket: Bucket, inputs: FetchInputs, found: LookUpOutcome): Promise<void> {
  if (inputs.onMissing === 'ignore') {
    info(`${found.notStored} Continuing without it (on-missing: ignore).`);
    return;
  }
  const wheels = await linkWheels(bucket, found.wheels);
  await writeReport(
    inputs,
    found,
    'Nothing fetched',
    wheels,
    await indexUrl(bucket, found.place, found.hasIndex),
  );
  throw notStoredError(found);
}

function noticeIfUnverified({ wheel: { sha256, name, run } }: FetchedWheel): void {
  // For a wheel in a slot, the look-up has already warned about this.
  if (sha256 !== undefined || run !== undefined) return;
  notice(
    `${name.filename} was stored without a SHA-256 (the old layout), so only its size and its zip structure could be checked.`,
    'Unknown SHA-256',
  );
}

function describeFetched({ wheel: { sha256, size }, path, how }: FetchedWheel): string {
  if (how === 'was-there') {
    return `${path} is already there, with the SHA-256 of the stored wheel; nothing was downloaded.`;
  }
  const source = how === 'from-cache' ? ' from the Actions cache' : '';
  return `Fetched ${path}${source}: ${readableSize(size)}${sha256 === undefined ? '' : `, SHA-256 ${sha256} verified`}.`;
}

async function setOutputsAndSummary(
  bucket: Bucket,
  inputs: FetchInputs,
  found: LookUpOutcome,
  fetched: readonly FetchedWheel[],
): Promise<void> {
  const wheels = await linkWheels(bucket, found.wheels);
  const paths = fetched.map(({ path }) => path);
  const index = await indexUrl(bucket, found.place, found.hasIndex);
  setWheelOutputs({ ...inputs, place: found.place }, wheels, isComplete(found), index);
  const only = onlyWheelOf(found.wheels);
  core.setOutput('wheel-path', fetched.find(({ wheel }) => wheel.key === only?.key)?.path ?? '');
  core.setOutput('wheel-paths', JSON.stringify(paths));
  const heading = wheels.length > 0 ? `${countWheels(wheels)} fetched` : 'No wheel to fetch';
  await writeReport(inputs, found, heading, wheels, index);
}

async function writeReport(
  inputs: FetchInputs,
  found: LookUpOutcome,
  heading: string,
  wheels: readonly LinkedWheel[],
  index: string | undefined,
): Promise<void> {
  await writeSummary({
    heading,
    inputs: { ...inputs, place: found.place },
    wheels,
    index,
    projects: found.commitProjects,
    requested: shownTargets(inputs),
    ...(isComplete(found) ? {} : { reason: found.notStored }),
  });
}
