import { readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { ROUNDS, seeded } from '../../testing/random.ts';
import type { ActionName, StepResult } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const LARGE = { files: { 'demo/noise.bin': new Uint8Array(40 * 1024 * 1024) }, level: 0 } as const;
const MOMENTS = ROUNDS * 2;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Runs a step and sends it a signal after `moment` milliseconds. */
async function runInterrupted(
  job: Job,
  action: ActionName,
  inputs: Record<string, string>,
  signal: NodeJS.Signals,
  moment: number,
): Promise<StepResult> {
  return job.step(action, inputs, {}, (child) => {
    void delay(moment).then(() => child.kill(signal));
  });
}

/**
 * Whether the step had finished its work: it succeeded, or the signal arrived just before the process exited, when Node
 * had removed the signal handlers.
 */
function isDone({ code, signal, outputs }: StepResult): boolean {
  return code === 0 || (signal !== null && outputs['wheel-url'] !== undefined);
}

/** How long the step takes without a signal, in milliseconds. The signals are sent within this time. */
async function duration(step: () => Promise<StepResult>): Promise<number> {
  const started = performance.now();
  expect((await step()).errors).toEqual([]);
  return performance.now() - started;
}

describe.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)('%s at random moments', (signal) => {
  test('during a store: a failed step leaves no object and no open upload; after SIGKILL the next run succeeds', async () => {
    const random = seeded(signal.length * 1000 + signal.charCodeAt(3));
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, LARGE);
    const whole = await duration(() => job.step('store', { index: 'false' }, { GITHUB_RUN_ID: '1' }));
    const faults: string[] = [];
    let stored = 0;
    for (let index = 0; index < MOMENTS; index += 1) {
      await using attempt = await startJob(bucket);
      await makeWheel(attempt.dist, W, LARGE);
      const moment = random() * whole;
      const result = await runInterrupted(attempt, 'store', { index: 'false' }, signal, moment);
      const keys = await attempt.keys();
      const uploads = (await bucket.openUploads()).filter((key) => key.startsWith(attempt.prefix));
      stored += isDone(result) ? 1 : 0;
      if (signal === 'SIGKILL') {
        const again = await attempt.step('store', { index: 'false' });
        if (again.code !== 0) faults.push(`the next run failed: ${again.errors.join()}`);
      } else {
        const expected = isDone(result) ? [attempt.key(W)] : [];
        if (String(keys) !== String(expected))
          faults.push(`exit ${result.code} at ${moment} ms left ${keys.join()}`);
        if (uploads.length > 0) faults.push(`an open upload, at ${moment} ms`);
      }
    }
    process.stdout.write(
      `cancellation: ${MOMENTS} × ${signal} during a store, ${stored} had finished, ${faults.length} wrong\n`,
    );
    expect(faults).toEqual([]);
  }, 1_800_000);

  test('during a fetch: no temporary file, and no incomplete wheel', async () => {
    const random = seeded(signal.length * 2000 + signal.charCodeAt(3));
    await using job = await startJob(bucket);
    await makeWheel(job.workspace, `built/${W}`, LARGE);
    expect((await job.step('store', { path: 'built', index: 'false' })).errors).toEqual([]);
    const whole = await duration(() => job.step('fetch', { path: 'whole' }));
    const faults: string[] = [];
    let fetched = 0;
    for (let index = 0; index < MOMENTS; index += 1) {
      const path = `fetched-${index}`;
      const moment = random() * whole;
      const result = await runInterrupted(job, 'fetch', { path }, signal, moment);
      const names = await readdir(`${job.workspace}/${path}`).catch(() => []);
      fetched += isDone(result) ? 1 : 0;
      if (signal === 'SIGKILL') {
        const again = await job.step('fetch', { path });
        if (again.code !== 0) faults.push(`the next run failed: ${again.errors.join()}`);
      } else if (String(names) !== (isDone(result) ? W : '')) {
        faults.push(`exit ${result.code} at ${moment} ms left ${names.join()}`);
      }
    }
    process.stdout.write(
      `cancellation: ${MOMENTS} × ${signal} during a fetch, ${fetched} had finished, ${faults.length} wrong\n`,
    );
    expect(faults).toEqual([]);
  }, 1_800_000);
});
