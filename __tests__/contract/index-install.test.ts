import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { runProgram, tool } from '../../testing/python.ts';
import { startStaticServer } from '../../testing/static-server.ts';
import { makeWheel, wheelBytes } from '../../testing/wheels.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

describe('pip and uv install from the index page', () => {
  /** Stores two wheels of one project, of which the interpreter can install one. Returns the URL of the index page. */
  async function storeTwo(job: Job): Promise<string> {
    await makeWheel(job.workspace, 'any/foo-1.0-py3-none-any.whl');
    await makeWheel(job.workspace, 'win/foo-1.0-cp39-abi3-win_arm64.whl');
    await job.step('store', { path: 'win', target: 'win' });
    return (await job.step('store', { path: 'any', target: 'any' })).outputs['index-url']!;
  }
  const pip = (job: Job, ...args: string[]) =>
    runProgram(tool('python'), [
      '-m',
      'pip',
      '--isolated',
      'install',
      '--no-cache-dir',
      '--target',
      join(job.workspace, 'pip'),
      ...args,
      'foo',
    ]);
  const uv = (job: Job, ...args: string[]) =>
    runProgram(tool('uv'), [
      'pip',
      'install',
      '--no-config',
      '--no-cache',
      '--python',
      tool('python'),
      '--target',
      join(job.workspace, 'uv'),
      ...args,
      'foo',
    ]);

  test('--find-links', async () => {
    await using job = await startJob(bucket);
    const url = await storeTwo(job);
    expect(await pip(job, '--no-index', '--find-links', url)).toMatchObject({ code: 0 });
    expect(await uv(job, '--no-index', '--find-links', url)).toMatchObject({ code: 0 });
  });

  test.each([
    'refs/heads/foo-99.0-py3-none-any.whl',
    'refs/tags/x/foo-99.0.tar.gz',
    'refs/heads/foo-99.0.ZIP',
  ])('not a branch with the name of a package: %s', async (ref) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl');
    const url = (await job.step('store', {}, { GITHUB_REF: ref })).outputs['index-url']!;
    expect(await job.page()).toContain(ref.replace(/^refs\/[a-z]*\//, ''));
    for (const installed of [
      await pip(job, '--no-index', '--find-links', url),
      await uv(job, '--no-index', '--find-links', url),
    ]) {
      expect(installed).toMatchObject({ code: 0 });
      expect(installed.output).toMatch(/foo(-|==)1\.0/);
    }
  });

  test('--extra-index-url and --index behind a server that maps folders to index.html', async () => {
    await using job = await startJob(bucket);
    await storeTwo(job);
    await using server = await startStaticServer(`${bucket.endpoint}/${bucket.name}`);
    const index = `${server.url}/${job.prefix}/${COMMIT}/`;
    // The other index doesn't exist, so that the wheel can't come from PyPI.
    expect(await pip(job, '--index-url', index)).toMatchObject({ code: 0 });
    expect(
      await pip(job, '--upgrade', '--extra-index-url', index, '--index-url', `${server.url}/none/`),
    ).toMatchObject({ code: 0 });
    expect(await uv(job, '--default-index', index)).toMatchObject({ code: 0 });
    expect(
      await uv(job, '--reinstall', '--index', index, '--default-index', `${server.url}/none/`),
    ).toMatchObject({ code: 0 });
  });

  test('but not a wheel whose bytes were changed', async () => {
    await using job = await startJob(bucket);
    const url = await storeTwo(job);
    const key = `${job.prefix}/${COMMIT}/7_1/any/foo-1.0-py3-none-any.whl`;
    await bucket.put(key, wheelBytes('foo-1.0-py3-none-any.whl', { metadata: ['Summary: other'] }));
    for (const installed of [
      await pip(job, '--no-index', '--find-links', url),
      await uv(job, '--no-index', '--find-links', url),
    ]) {
      expect(installed.code).not.toBe(0);
      expect(installed.output).toMatch(/hash/i);
    }
  });
});
