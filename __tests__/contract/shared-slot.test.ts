/** Two store steps that put the same bytes into one slot, one of which is cancelled. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Fault, isMarker, type SeenRequest, startFaultProxy } from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import type { StepResult } from '../../testing/runner.ts';
import { AUTHORITY, startForwardProxy, startTls } from '../../testing/tls.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Runs a store through a proxy with `rule`, on AWS's host names or a custom endpoint. */
async function store(
  job: Job,
  isAws: boolean,
  rule: (seen: SeenRequest) => Fault = () => undefined,
  onStart?: (child: ChildProcess) => void,
): Promise<StepResult> {
  await using seen = await startFaultProxy(bucket.endpoint, rule);
  if (!isAws) return await job.step('store', { index: 'false', 'endpoint-url': seen.endpoint }, {}, onStart);
  await using tls = await startTls(seen.endpoint);
  await using proxy = await startForwardProxy(tls.port);
  const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NODE_EXTRA_CA_CERTS: AUTHORITY };
  return await job.step('store', { index: 'false', 'endpoint-url': '' }, env, onStart);
}

const isOfWheel = (seen: SeenRequest, operation: string) => seen.operation === operation && !isMarker(seen);
const wheels = async (job: Job) => (await job.keys()).filter((key) => key.endsWith('.whl'));

describe.each([
  ['on AWS', true],
  ['on a custom endpoint', false],
])('%s', (_title, isAws) => {
  test('case 58: the wheel of a cancelled step remains if another step reported it', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const child = Promise.withResolvers<ChildProcess>();
    const ended = child.promise.then((process) => once(process, 'exit'));
    const isPut = Promise.withResolvers<void>();
    const cancelled = store(
      job,
      isAws,
      (seen) => {
        if (!isOfWheel(seen, 'put')) return undefined;
        isPut.resolve();
        return { answerAfter: ended };
      },
      child.resolve,
    );
    await isPut.promise;
    while ((await wheels(job)).length === 0);
    const other = await store(job, isAws);
    expect(other.errors).toEqual([]);
    expect(other.outputs['wheel-key']).toBe(job.key(W));
    (await child.promise).kill('SIGTERM');
    expect((await cancelled).code).toBe(1);
    expect(await wheels(job)).toEqual([job.key(W)]);
  });

  test('case 58: a step that starts while the wheel is being removed stores its own', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const child = Promise.withResolvers<ChildProcess>();
    const isRemoving = Promise.withResolvers<void>();
    const mayRemove = Promise.withResolvers<void>();
    const cancelled = store(
      job,
      isAws,
      (seen) => {
        if (isOfWheel(seen, 'put')) {
          void child.promise.then((process) => process.kill('SIGTERM'));
          // Held back, so that the step can't end before the signal arrives.
          return { answerAfter: isRemoving.promise };
        }
        if (!isOfWheel(seen, 'delete')) return undefined;
        isRemoving.resolve();
        return { after: mayRemove.promise };
      },
      child.resolve,
    );
    await isRemoving.promise;
    const other = await store(job, isAws, (seen) => {
      // By now it has found the wheel and put a claim.
      if (isOfWheel(seen, 'list') && seen.nth === 3) mayRemove.resolve();
      return undefined;
    });
    expect(other.errors).toEqual([]);
    expect((await cancelled).code).toBe(1);
    expect(await job.keys()).toEqual([job.key(W)]);
  });

  test('case 58: a cancelled step that is alone leaves nothing', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const child = Promise.withResolvers<ChildProcess>();
    const ended = child.promise.then((process) => once(process, 'exit'));
    const cancelled = await store(
      job,
      isAws,
      (seen) => {
        if (!isOfWheel(seen, 'put')) return undefined;
        void child.promise.then((process) => process.kill('SIGTERM'));
        return { answerAfter: ended };
      },
      child.resolve,
    );
    expect(cancelled.code).toBe(1);
    expect(await job.keys()).toEqual([]);
  });
});
