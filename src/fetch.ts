/** The action `fetch`: downloads and verifies what is stored. */
import { resolve } from 'node:path';
import * as core from '@actions/core';
import { type FetchInputs, readFetchInputs } from './actions/inputs.ts';
import { describeWheel, note, readableSize, say, warn } from './actions/log.ts';
import { link, setWheelOutputs } from './actions/outputs.ts';
import { writeSummary } from './actions/summary.ts';
import { type Bucket, openBucket } from './bucket/client.ts';
import { WheelStoreError } from './errors.ts';
import { describeQuery, lookUp, type StoredWheel } from './lookup.ts';
import { saveWheel } from './save.ts';

/**
 * Brings the commit's wheel into the folder `path`.
 *
 * @throws WheelStoreError when nothing is stored (unless `on-missing` says to go on) or what arrives is not
 *   what was stored
 */
export async function fetch(signal: AbortSignal): Promise<void> {
  const inputs = readFetchInputs();
  const bucket = await openBucket(inputs.bucket);
  try {
    const query = { ...inputs, targets: [inputs.target] };
    const { wheels, warnings } = await lookUp(bucket, query, signal);
    for (const text of warnings) warn(text);
    if (wheels.length === 0) refuseOrGoOn(inputs, describeQuery(query));
    const paths: string[] = [];
    for (const wheel of wheels) paths.push(await bring(bucket, inputs, wheel, signal));
    const linked = await link(bucket, wheels);
    setWheelOutputs(inputs.bucket, linked, linked.length > 0);
    core.setOutput('wheel-path', paths.length === 1 ? paths[0] : '');
    core.setOutput('wheel-paths', JSON.stringify(paths));
    const heading = linked.length > 0 ? 'Wheel fetched' : 'No wheel to fetch';
    await writeSummary({ heading, inputs, wheels: linked });
  } finally {
    bucket.close();
  }
}

function refuseOrGoOn(inputs: FetchInputs, query: string): void {
  if (inputs.onMissing === 'ignore') {
    say(`Not stored: ${query}. Going on without it (on-missing: ignore).`);
    return;
  }
  throw new WheelStoreError({
    title: 'Wheel not stored',
    reason: `Not stored: ${query}.`,
    remedy:
      'Check that the job that stores it comes first (needs:) and uses the same bucket, prefix, commit and target, or set on-missing: ignore.',
  });
}

async function bring(
  bucket: Bucket,
  inputs: FetchInputs,
  wheel: StoredWheel,
  signal: AbortSignal,
): Promise<string> {
  say(`Found ${describeWheel(wheel, inputs)}.`);
  const { path, how } = await saveWheel(bucket, wheel, resolve(inputs.workspace, inputs.path), signal);
  if (wheel.sha256 === '') {
    note(
      `${wheel.name.filename} was stored without a SHA-256 (the old layout), so only its size and its zip structure could be checked.`,
    );
  }
  say(
    how === 'downloaded'
      ? `Fetched ${path}: ${readableSize(wheel.size)}${wheel.sha256 === '' ? '' : `, SHA-256 ${wheel.sha256} verified`}.`
      : `${path} was there already, with the SHA-256 of the stored wheel; nothing was downloaded.`,
  );
  return path;
}
