/** Two store steps that put wheels into one slot at the same time: different ones, or the same bytes, and one is cancelled. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Fault, isMarker, type SeenRequest, startFaultProxy } from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { ROUNDS } from '../../testing/random.ts';
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
  env: Readonly<Record<string, string>> = {},
): Promise<StepResult> {
  await using seen = await startFaultProxy(bucket.endpoint, rule);
  if (!isAws) return await job.step('store', { index: 'false', 'endpoint-url': seen.endpoint }, env, onStart);
  await using tls = await startTls(seen.endpoint);
  await using proxy = await startForwardProxy(tls.port);
  const tlsEnv = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NODE_EXTRA_CA_CERTS: AUTHORITY };
  return await job.step('store', { index: 'false', 'endpoint-url': '' }, { ...tlsEnv, ...env }, onStart);
}

const isOfWheel = (seen: SeenRequest, operation: string) => seen.operation === operation && !isMarker(seen);
const wheels = async (job: Job) => (await job.keys()).filter((key) => key.endsWith('.whl'));

describe.each([
  ['on AWS', true],
  ['on a custom endpoint', false],
])('%s', (_title, isAws) => {
  test('of two jobs that store different wheels at the same time, at most one succeeds, and its wheel alone is stored', async () => {
    await using one = await startJob(bucket);
    await using two = await startJob(bucket, one.prefix);
    await makeWheel(one.dist, 'foo-1.0-cp311-cp311-linux_x86_64.whl');
    await makeWheel(two.dist, 'foo-1.0-cp312-cp312-linux_x86_64.whl');
    const stored: string[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const env = { GITHUB_RUN_ID: String(round) };
      const results = await Promise.all(
        [one, two].map((job) => store(job, isAws, undefined, undefined, env)),
      );
      const winners = results.filter(({ code }) => code === 0);
      expect(winners.length).toBeLessThanOrEqual(1);
      for (const { code, errors } of results) if (code !== 0) expect(errors[0]).toContain("its own 'target'");
      stored.push(...winners.map(({ outputs }) => outputs['wheel-key']!));
    }
    expect((await one.keys()).sort()).toEqual(stored.sort());
    expect(stored).not.toEqual([]);
  });

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
        const answerAfter = () => {
          isPut.resolve();
          return ended;
        };
        return { answerAfter };
      },
      child.resolve,
    );
    await isPut.promise;
    expect(await wheels(job)).toEqual([job.key(W)]);
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
