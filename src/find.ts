/** The action `find`: looks a commit up and changes nothing. */
import { warnOfOtherHead } from './actions/commits.ts';
import { type FindInputs, readFindInputs } from './actions/inputs.ts';
import { describeWheel, say, warn } from './actions/log.ts';
import { link, setWheelOutputs } from './actions/outputs.ts';
import { writeSummary } from './actions/summary.ts';
import { type Bucket, openBucket } from './bucket/client.ts';
import { WheelStoreError } from './errors.ts';
import { describeQuery, lookUp } from './lookup.ts';

/**
 * Says whether the build can be skipped because the commit's wheel is stored.
 *
 * @throws WheelStoreError when the store gives no answer, unless `on-error` says to build then
 */
export async function find(signal: AbortSignal): Promise<void> {
  const inputs = readFindInputs();
  const bucket = await openBucket(inputs.bucket);
  try {
    await answer(bucket, inputs, signal);
  } catch (error) {
    if (inputs.onError !== 'build' || signal.aborted || !(error instanceof WheelStoreError)) throw error;
    warn(`${error.message} Because of on-error: build, the answer is to build.`, error.title);
    setWheelOutputs(inputs.bucket, [], false);
  } finally {
    bucket.close();
  }
}

async function answer(bucket: Bucket, inputs: FindInputs, signal: AbortSignal): Promise<void> {
  await warnOfOtherHead(inputs);
  const query = { ...inputs, targets: [inputs.target] };
  const { wheels, warnings } = await lookUp(bucket, query, signal);
  for (const text of warnings) warn(text);
  const linked = await link(bucket, wheels);
  const skipBuild = linked.length > 0;
  for (const wheel of linked) say(`Found ${describeWheel(wheel, inputs)}: the build can be skipped.`);
  if (!skipBuild) say(`Not stored: ${describeQuery(query)}. The build is needed.`);
  setWheelOutputs(inputs.bucket, linked, skipBuild);
  const heading = skipBuild ? 'Wheel found' : 'No wheel stored yet, build needed';
  await writeSummary({
    heading,
    inputs,
    wheels: linked,
    build: 'can be skipped: this commit’s wheel is stored',
  });
}
