import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { tool } from '../../testing/python.ts';
import { makeWheel, wheelBytes } from '../../testing/wheels.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Puts valid wheels of targets into the store without the action. */
async function placeTargets(job: Job, wheels: Record<string, string>, run = '7_1'): Promise<void> {
  for (const [target, filename] of Object.entries(wheels)) {
    await bucket.put(`${job.prefix}/${COMMIT}/${run}/${target}/${filename}`, wheelBytes(filename));
  }
}
const pythons = (...minors: number[]) =>
  Object.fromEntries(
    minors.map((minor) => [`cp3${minor}`, `foo-1.0-cp3${minor}-cp3${minor}-linux_x86_64.whl`]),
  );

describe('find with several targets', () => {
  test('three of five are stored: missing-targets contains the other two', async () => {
    await using job = await startJob(bucket);
    await placeTargets(job, pythons(10, 12, 13));
    const { outputs, log } = await job.step('find', { target: 'cp310, cp311\ncp312\n cp313,cp314,' });
    expect(outputs['missing-targets']).toBe('["cp311","cp314"]');
    expect(outputs).toMatchObject({ 'skip-build': 'false', 'wheel-url': '', sha256: '' });
    const wheels = JSON.parse(outputs.wheels!) as { target: string; run: string; name: string }[];
    expect(wheels.map(({ target }) => target)).toEqual(['cp310', 'cp312', 'cp313']);
    expect(log).toMatch(/Not stored: target cp311, target cp314/);
  });

  test('all are stored: missing-targets is empty', async () => {
    await using job = await startJob(bucket);
    await placeTargets(job, pythons(10, 12));
    const { outputs } = await job.step('find', { target: 'cp312,cp310' });
    expect(outputs).toMatchObject({ 'skip-build': 'true', 'missing-targets': '[]' });
  });

  test('* means every stored target, including the one without a name', async () => {
    await using job = await startJob(bucket);
    expect((await job.step('find', { target: '*' })).outputs).toMatchObject({
      'skip-build': 'false',
      'missing-targets': '[]',
    });
    await placeTargets(job, pythons(10, 12));
    await bucket.put(`${job.prefix}/${COMMIT}/7_1/bar-1.0-py3-none-any.whl`, 'wheel');
    const { outputs } = await job.step('find', { target: '*' });
    expect(outputs).toMatchObject({ 'skip-build': 'true', 'missing-targets': '[]' });
    expect((JSON.parse(outputs.wheels!) as { target: string }[]).map(({ target }) => target)).toEqual([
      '',
      'cp310',
      'cp312',
    ]);
  });

  test('the newest wheel of each target is found', async () => {
    await using job = await startJob(bucket);
    await placeTargets(job, pythons(10, 12), '7_1');
    await placeTargets(job, pythons(12), '7_2');
    const { outputs } = await job.step('find', { target: 'cp310,cp312' });
    const attempts = (JSON.parse(outputs.wheels!) as { attempt: string }[]).map(({ attempt }) => attempt);
    expect(attempts).toEqual(['1', '2']);
  });

  test.each([['a/b'], ['a,..'], ['*,a']])('%p is refused', async (target) => {
    await using job = await startJob(bucket);
    const result = await job.step('find', { target });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain("'target'");
  });
});

describe('find without a look-up', () => {
  test('rebuild: true: the build is needed, and nothing is sent', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('find', { rebuild: 'true', target: 'a,b', 'endpoint-url': proxy.endpoint });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs).toMatchObject({
      'skip-build': 'false',
      'missing-targets': '["a","b"]',
      'wheel-url': '',
    });
    expect(result.log).toContain('rebuild');
    expect(proxy.requests).toEqual([]);
  });

  test('on-error: build after a failure: every target is missing', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => s3Error(403, 'AccessDenied'));
    const result = await job.step('find', {
      'on-error': 'build',
      target: 'a,b',
      'endpoint-url': proxy.endpoint,
    });
    expect(result.outputs).toMatchObject({ 'skip-build': 'false', 'missing-targets': '["a","b"]' });
  });
});

describe('wait', () => {
  test('a wheel that is stored meanwhile is fetched', async () => {
    await using job = await startJob(bucket);
    // The wheel is stored after the first look-up has found nothing.
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
      operation === 'list' && nth === 2 ? { after: placeTargets(job, pythons(12)) } : undefined,
    );
    const result = await job.step('fetch', { wait: '60', target: 'cp312', 'endpoint-url': proxy.endpoint });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.log).toContain('Looking again for up to 60 seconds');
    expect(await readdir(job.dist)).toEqual(['foo-1.0-cp312-cp312-linux_x86_64.whl']);
  });

  test('a wheel that is never stored: an error with the time waited', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('fetch', { wait: '2' });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toMatch(/after [23] seconds of waiting/);
  });

  test('find waits for all targets, and then returns the missing ones', async () => {
    await using job = await startJob(bucket);
    await placeTargets(job, pythons(12));
    const result = await job.step('find', { wait: '1', target: 'cp312,cp313' });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs).toMatchObject({ 'skip-build': 'false', 'missing-targets': '["cp313"]' });
  });

  test('a refusal ends the wait at once', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => s3Error(403, 'AccessDenied'));
    const result = await job.step('find', { wait: '600', 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(proxy.requests).toHaveLength(1);
  });

  test('a cancelled step stops waiting at once', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('find', { wait: '600' }, {}, (child) => {
      child.stdout!.on('data', (chunk: Buffer) => {
        if (chunk.includes('Looking again for up to 600 seconds')) child.kill('SIGTERM');
      });
    });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('SIGTERM');
  });

  test.each([['-1'], ['soon'], ['1.5']])('wait: %s is refused', async (wait) => {
    await using job = await startJob(bucket);
    expect((await job.step('find', { wait })).errors[0]).toContain("'wait'");
  });
});

describe('fetch with several targets', () => {
  test('writes all into one folder, each verified', async () => {
    await using job = await startJob(bucket);
    const wheels = pythons(10, 11, 12, 13);
    await placeTargets(job, wheels);
    const result = await job.step('fetch', { target: '*' });
    expect(result.errors).toEqual([]);
    expect((await readdir(job.dist)).sort()).toEqual(Object.values(wheels).sort());
    const paths = JSON.parse(result.outputs['wheel-paths']!) as string[];
    expect(paths).toEqual(Object.values(wheels).map((name) => join(job.dist, name)));
    for (const path of paths)
      expect(await readFile(path)).toEqual(Buffer.from(wheelBytes(path.split('/').at(-1)!)));
    expect(result.outputs).toMatchObject({ 'wheel-path': '', 'skip-build': 'true' });
  });

  test('all or none: if one fails, the folder is unchanged', async () => {
    await using job = await startJob(bucket);
    await placeTargets(job, pythons(10, 11, 12));
    await mkdir(job.dist);
    await writeFile(join(job.dist, 'foo-1.0-cp310-cp310-linux_x86_64.whl'), 'old');
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path }) =>
      operation === 'get' && path.includes('cp312') ? s3Error(403, 'AccessDenied') : undefined,
    );
    const result = await job.step('fetch', { target: '*', 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(await readdir(job.dist)).toEqual(['foo-1.0-cp310-cp310-linux_x86_64.whl']);
    expect(await readFile(join(job.dist, 'foo-1.0-cp310-cp310-linux_x86_64.whl'), 'utf8')).toBe('old');
  });

  test('one is missing: nothing is fetched; with on-missing: ignore, the others are', async () => {
    await using job = await startJob(bucket);
    await placeTargets(job, pythons(10));
    const refused = await job.step('fetch', { target: 'cp310,cp311' });
    expect(refused.code).toBe(1);
    expect(refused.errors[0]).toContain('cp311');
    expect(await readdir(job.workspace)).toEqual([]);
    const ignored = await job.step('fetch', { target: 'cp310,cp311', 'on-missing': 'ignore' });
    expect(ignored.outputs).toMatchObject({
      'skip-build': 'false',
      'wheel-name': 'foo-1.0-cp310-cp310-linux_x86_64.whl',
    });
    expect(await readdir(job.dist)).toHaveLength(1);
  });

  test('two wheels of one name are refused before anything is written', async () => {
    await using job = await startJob(bucket);
    await placeTargets(job, { a: 'foo-1.0-py3-none-any.whl', b: 'foo-1.0-py3-none-any.whl' });
    const result = await job.step('fetch', { target: 'a,b' });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toMatch(/a and b/);
    expect(await readdir(job.workspace)).toEqual([]);
  });
});

describe('for-python', () => {
  const python = tool('python');

  test('of all targets, the one that the interpreter can install', async () => {
    await using job = await startJob(bucket);
    await placeTargets(job, {
      any: 'foo-1.0-py3-none-any.whl',
      abi3: 'foo-1.0-cp39-abi3-any.whl',
      windows: 'foo-1.0-cp39-abi3-win_amd64.whl',
      none: 'foo-1.0-py2-none-any.whl',
    });
    const result = await job.step('find', { target: '*', 'for-python': python });
    expect(result.errors).toEqual([]);
    expect(result.outputs).toMatchObject({ 'skip-build': 'true', 'wheel-name': 'foo-1.0-py3-none-any.whl' });
    const fetched = await job.step('fetch', { target: '*', 'for-python': python });
    expect(await readdir(job.dist)).toEqual(['foo-1.0-py3-none-any.whl']);
    expect(fetched.outputs['wheel-path']).toBe(join(job.dist, 'foo-1.0-py3-none-any.whl'));
  });

  test('in the old flat layout, the one that the interpreter can install', async () => {
    await using job = await startJob(bucket);
    for (const name of ['foo-1.0-cp39-abi3-win_arm64.whl', 'foo-1.0-py3-none-any.whl']) {
      await bucket.put(`${job.prefix}/${COMMIT}/${name}`, 'wheel');
    }
    const result = await job.step('find', { 'for-python': python });
    expect(result.outputs).toMatchObject({ 'skip-build': 'true', 'wheel-name': 'foo-1.0-py3-none-any.whl' });
  });

  test('a wheel that Requires-Python excludes is not found', async () => {
    await using job = await startJob(bucket);
    const key = `${job.prefix}/${COMMIT}/7_1/foo-2.0-py3-none-any.whl`;
    await bucket.put(key, 'wheel', { 'requires-python': '<3' });
    const result = await job.step('find', { 'for-python': python });
    expect(result.outputs['skip-build']).toBe('false');
    expect(result.log).toContain('foo-2.0-py3-none-any.whl');
  });

  test('an interpreter that does not exist: an error before anything is sent', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('find', {
      'for-python': 'python-of-nobody',
      'endpoint-url': proxy.endpoint,
    });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('python-of-nobody');
    expect(proxy.requests).toEqual([]);
  });
});

test('the summary of several wheels is one table', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, 'foo-1.0-cp312-cp312-linux_x86_64.whl');
  await placeTargets(job, pythons(10, 11));
  const { summary } = await job.step('find', { target: '*' });
  expect(summary.match(/^\| :-- /gm)).toHaveLength(1);
  expect(summary.match(/<a href=/g)).toHaveLength(2);
});
