/** A store step that finds no wheel at `path`: was the build skipped, or did it leave its wheel somewhere else? */
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const REBUILT = { metadata: ['Summary: built again'] };
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Stores a wheel of the commit in an earlier run, and gives the job a folder for temporary files. */
async function begin(job: Job): Promise<Record<string, string>> {
  await makeWheel(job.dist, W);
  expect((await job.step('store', {}, { GITHUB_RUN_ID: '6' })).errors).toEqual([]);
  await rm(job.dist, { recursive: true });
  const temp = join(job.workspace, '_temp');
  await mkdir(temp);
  return { RUNNER_TEMP: temp };
}

describe('case 53: the stored wheel is not reused', () => {
  test.each([['wheelhouse'], ['dist/sub'], ['target/wheels'], ['python/build/out']])(
    'if the build left its wheel in %s',
    async (folder) => {
      await using job = await startJob(bucket);
      const env = await begin(job);
      const path = await makeWheel(join(job.workspace, folder), W, REBUILT);
      const result = await job.step('store', {}, env);
      expect(result.code).toBe(1);
      expect(result.errors[0]).toContain(path);
      expect(result.outputs).toEqual({ 'skip-build': 'false' });
    },
  );

  test('if it left the same bytes there, and no find step allowed skipping the build', async () => {
    await using job = await startJob(bucket);
    const env = await begin(job);
    await makeWheel(join(job.workspace, 'wheelhouse'), W);
    expect((await job.step('store', {}, env)).code).toBe(1);
    expect((await job.step('find', {}, env)).outputs['skip-build']).toBe('true');
    expect((await job.step('store', {}, env)).outputs['skip-build']).toBe('true');
  });

  test('if it left another wheel, even if a find step allowed skipping the build', async () => {
    await using job = await startJob(bucket);
    const env = await begin(job);
    await job.step('find', {}, env);
    await makeWheel(join(job.workspace, 'wheelhouse'), W, REBUILT);
    expect((await job.step('store', {}, env)).code).toBe(1);
  });

  test('if find required the build because of rebuild: true; nothing is sent', async () => {
    await using job = await startJob(bucket);
    const env = await begin(job);
    await job.step('find', { rebuild: 'true' }, env);
    await using proxy = await startFaultProxy(bucket.endpoint);
    // The note is for one store, so the store step must use the endpoint of the find step.
    expect((await job.step('store', {}, env)).errors[0]).toContain('A find step of this job said');
    await job.step('find', { rebuild: 'true', 'endpoint-url': proxy.endpoint }, env);
    await job.step('store', { 'endpoint-url': proxy.endpoint }, env);
    expect(proxy.requests).toEqual([]);
  });

  test('if find failed and required the build because of on-error: build', async () => {
    await using job = await startJob(bucket);
    const env = await begin(job);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ nth }) =>
      nth === 1 ? { status: 403 } : undefined,
    );
    const inputs = { 'endpoint-url': proxy.endpoint };
    expect((await job.step('find', { ...inputs, 'on-error': 'build' }, env)).code).toBe(0);
    expect((await job.step('store', inputs, env)).code).toBe(1);
  });

  test('for a target that find did not find, even if find found another target', async () => {
    await using job = await startJob(bucket);
    const env = await begin(job);
    await makeWheel(job.dist, W);
    await job.step('store', { target: 'a' }, { GITHUB_RUN_ID: '6' });
    await rm(job.dist, { recursive: true });
    await job.step('find', { target: 'a,b' }, env);
    expect((await job.step('store', { target: 'a' }, env)).outputs['skip-build']).toBe('true');
    expect((await job.step('store', { target: 'b' }, env)).errors[0]).toContain('A find step');
  });
});

describe('case 53: the stored wheel is reused', () => {
  test('if nothing is there, with and without a find step', async () => {
    await using job = await startJob(bucket);
    const env = await begin(job);
    expect((await job.step('store', {}, env)).outputs['skip-build']).toBe('true');
    await job.step('find', {}, env);
    expect((await job.step('store', {}, env)).outputs['skip-build']).toBe('true');
  });

  test('if a fetch step of the job wrote the wheel that is there', async () => {
    await using job = await startJob(bucket);
    const env = await begin(job);
    expect((await job.step('fetch', { path: 'wheelhouse' }, env)).errors).toEqual([]);
    expect((await job.step('store', {}, env)).outputs['skip-build']).toBe('true');
  });

  test('if only other projects’ wheels are there', async () => {
    await using job = await startJob(bucket);
    const env = await begin(job);
    await makeWheel(join(job.workspace, 'vendor'), 'six-1.0-py3-none-any.whl');
    expect((await job.step('store', {}, env)).outputs['skip-build']).toBe('true');
  });

  test('if an earlier job left a wheel there', async () => {
    await using job = await startJob(bucket);
    const env = await begin(job);
    await makeWheel(join(job.workspace, 'build'), W, REBUILT);
    const event = join(job.workspace, '_temp/event.json');
    await writeFile(event, '{}');
    const later = new Date(Date.now() + 3_600_000);
    for (const path of [event, join(job.workspace, '_temp')]) await utimes(path, later, later);
    const result = await job.step('store', {}, { ...env, GITHUB_EVENT_PATH: event });
    expect(result.outputs['skip-build']).toBe('true');
  });
});
