/** `target: "*"` takes what is stored; with `expect`, all of the named targets must be. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { makeWheel } from '../../testing/wheels.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

const store = async (job: Job, target: string) =>
  job.step('store', {
    target,
    path: await makeWheel(job.workspace, `${target}/demo-1.0-py3-none-${target}.whl`),
  });

describe('the first wheel of a matrix is stored', () => {
  test('without expect: it is found, and the log says what that means', async () => {
    await using job = await startJob(bucket);
    await store(job, 'win32');
    const found = await job.step('find', { target: '*' });
    expect(found).toMatchObject({ code: 0, warnings: [] });
    expect(found.log).toContain('cannot know what is still being built');
    expect(found.outputs).toMatchObject({ 'skip-build': 'true', 'missing-targets': '[]' });
  });

  test('with wait, but without expect: a warning', async () => {
    await using job = await startJob(bucket);
    await store(job, 'win32');
    const found = await job.step('find', { target: '*', wait: '60' });
    expect(found.warnings).toEqual([expect.stringContaining('waits for the first wheel only')]);
  });

  test('with expect: not complete; fetch fails, and names the missing target', async () => {
    await using job = await startJob(bucket);
    await store(job, 'win32');
    const inputs = { target: '*', expect: 'any, win32' };
    const found = await job.step('find', inputs);
    expect(found.outputs).toMatchObject({ 'skip-build': 'false', 'missing-targets': '["any"]' });
    const fetched = await job.step('fetch', { ...inputs, path: 'new' });
    expect(fetched).toMatchObject({ code: 1, errors: [expect.stringContaining('target any of commit')] });
  });

  test('with expect and wait: waits for all of them', async () => {
    await using job = await startJob(bucket);
    await store(job, 'win32');
    let isStored: Promise<unknown> | undefined;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) => {
      if (operation === 'list' && nth === 2) isStored = store(job, 'any');
      return isStored === undefined ? undefined : { after: isStored };
    });
    const found = await job.step('find', {
      target: '*',
      expect: 'any,win32',
      wait: '60',
      'endpoint-url': proxy.endpoint,
    });
    expect(found).toMatchObject({ code: 0, warnings: [] });
    expect(JSON.parse(found.outputs.wheels!)).toHaveLength(2);
    expect(found.outputs).toMatchObject({ 'skip-build': 'true', 'missing-targets': '[]' });
  });

  test('wheels beyond those that are expected are taken as well', async () => {
    await using job = await startJob(bucket);
    await store(job, 'win32');
    await store(job, 'any');
    const found = await job.step('find', { target: '*', expect: 'any' });
    expect(JSON.parse(found.outputs.wheels!)).toHaveLength(2);
  });

  test('rebuild: the expected targets are missing', async () => {
    await using job = await startJob(bucket);
    const found = await job.step('find', { target: '*', expect: 'any,win32', rebuild: 'true' });
    expect(found.outputs['missing-targets']).toBe('["any","win32"]');
  });
});

test.each([
  [{ target: 'any', expect: 'any' }, "'target' is not *"],
  [{ expect: 'any' }, "'target' is not *"],
  [{ target: '*', expect: 'a/b' }, "The input 'expect'"],
  [{ target: '*', expect: '*' }, "The input 'expect'"],
])('%j is rejected', async (inputs, message) => {
  await using job = await startJob(bucket);
  const result = await job.step('find', { ...inputs, 'endpoint-url': 'http://127.0.0.1:9' });
  expect(result).toMatchObject({ code: 1, errors: [expect.stringContaining(message)] });
});
