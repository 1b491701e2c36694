import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, startJob, storeNoise } from '../../testing/job.ts';
import { makeWheel, sha256, wheelBytes } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('a fetched wheel', () => {
  test('is verified, and its path is an output', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeNoise(job);
    const result = await job.step('fetch', { path: 'new/folder' });
    const path = join(job.workspace, 'new/folder', W);
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(result.outputs).toMatchObject({
      'skip-build': 'true',
      'wheel-path': path,
      'wheel-paths': JSON.stringify([path]),
      sha256: sha256(bytes),
    });
    expect(await readFile(path)).toEqual(bytes);
    expect(await readdir(join(job.workspace, 'new/folder'))).toEqual([W]);
  });

  test('is downloaded in parallel ranges if it is large, and assembled in order', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeNoise(job, 40 * 1024 * 1024);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    expect((await readFile(join(job.dist, W))).equals(bytes)).toBe(true);
    const ranges = proxy.requests
      .filter(({ operation }) => operation === 'get')
      .map(({ headers }) => headers.range);
    expect(ranges.length).toBeGreaterThan(3);
    expect(ranges).toContain('bytes=0-8388607');
  });

  test('may be of an earlier attempt, if only the failed jobs run again', async () => {
    await using job = await startJob(bucket);
    await storeNoise(job);
    const result = await job.step('fetch', {}, { GITHUB_RUN_ATTEMPT: '2' });
    expect(result.outputs).toMatchObject({ 'run-attempt': '1', 'wheel-name': W });
  });
});

describe('nothing stored', () => {
  test('fails, and the error contains what was looked up', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('fetch');
    expect(result.code).toBe(1);
    expect(result.outputs['skip-build']).toBe('false');
    expect(result.log).toContain(`Commit ${COMMIT}.`);
    expect(result.errors[0]).toContain(
      `of commit ${COMMIT.slice(0, 7)}, from any run, under the prefix ${job.prefix}.`,
    );
  });

  test('on-missing: ignore: success', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('fetch', { 'on-missing': 'ignore' });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs).toMatchObject({ 'skip-build': 'false', 'wheel-path': '', 'wheel-paths': '[]' });
  });
});

describe('a file of that name exists already', () => {
  test('with the same bytes: nothing is downloaded', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeNoise(job);
    await mkdir(job.dist);
    await writeFile(join(job.dist, W), bytes);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.outputs['wheel-path']).toBe(join(job.dist, W));
    expect(proxy.operations()).toEqual(['list', 'head']);
  });

  test('with other bytes: replaced', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeNoise(job);
    await mkdir(job.dist);
    await writeFile(join(job.dist, W), 'old');
    expect((await job.step('fetch')).errors).toEqual([]);
    expect(await readFile(join(job.dist, W))).toEqual(bytes);
  });

  test('with other bytes, and the download is damaged: kept', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeNoise(job);
    bytes[50]! ^= 1;
    await bucket.put(job.key(W), bytes, { sha256: sha256(Buffer.from('other')) });
    await mkdir(job.dist);
    await writeFile(join(job.dist, W), 'old');
    expect((await job.step('fetch')).code).toBe(1);
    expect(await readFile(join(job.dist, W), 'utf8')).toBe('old');
    expect(await readdir(job.dist)).toEqual([W]);
  });
});

describe('the disk', () => {
  test('has less free space than the wheel needs: an error with both sizes, and no download', async () => {
    await using job = await startJob(bucket);
    await storeNoise(job);
    const size = 2 ** 52;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'head'
        ? {
            change: (response) => ({
              ...response,
              headers: { ...response.headers, 'content-length': String(size) },
            }),
          }
        : undefined,
    );
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toMatch(new RegExp(`${size} bytes.*\\d+ bytes free`));
    expect(proxy.operations()).toEqual(['list', 'head']);
  });

  test('path is a file: an error', async () => {
    await using job = await startJob(bucket);
    await storeNoise(job);
    await writeFile(join(job.workspace, 'file'), '');
    const result = await job.step('fetch', { path: 'file' });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain(join(job.workspace, 'file'));
  });
});

describe('the old layout has no SHA-256', () => {
  test('size and zip are checked, with a notice', async () => {
    await using job = await startJob(bucket);
    await bucket.put(`${job.prefix}/${COMMIT}/${W}`, wheelBytes(W));
    const result = await job.step('fetch');
    expect(result.errors).toEqual([]);
    expect(result.commands.filter(({ name }) => name === 'notice')[0]?.message).toMatch(/without a SHA-256/);
    expect(result.outputs).toMatchObject({ sha256: '', requirement: expect.not.stringContaining('#') });
    expect(await readdir(job.dist)).toEqual([W]);
  });

  test('a broken wheel is refused', async () => {
    await using job = await startJob(bucket);
    await bucket.put(`${job.prefix}/${COMMIT}/${W}`, wheelBytes(W).subarray(0, 300));
    const result = await job.step('fetch');
    expect(result.code).toBe(1);
    expect(await readdir(job.dist)).toEqual([]);
  });
});

test('case 54: ~ is the home folder', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  expect((await job.step('store')).errors).toEqual([]);
  const home = join(job.workspace, 'home');
  const fetched = await job.step('fetch', { path: '~/w' }, { HOME: home, USERPROFILE: home });
  expect(fetched.errors).toEqual([]);
  expect(fetched.outputs['wheel-path']).toBe(join(home, 'w', W));
});

test('case 54: the home folder of another user is refused', async () => {
  await using job = await startJob(bucket);
  const fetched = await job.step('fetch', { path: '~other/w' });
  expect(fetched.code).toBe(1);
  expect(fetched.errors[0]).toContain("'path'");
});
