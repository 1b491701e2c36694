import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { runProgram, tool } from '../../testing/python.ts';
import { makeWheel } from '../../testing/wheels.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

/** Install `wanted` into a folder, without dependencies and without an index. */
const installers = {
  pip: (job: Job, wanted: string) =>
    runProgram(tool('python'), [
      '-m',
      'pip',
      '--isolated',
      'install',
      '--no-deps',
      '--no-index',
      '--no-cache-dir',
      '--target',
      join(job.workspace, 'pip'),
      wanted,
    ]),
  uv: (job: Job, wanted: string) =>
    runProgram(tool('uv'), [
      'pip',
      'install',
      '--no-config',
      '--no-deps',
      '--no-index',
      '--no-cache',
      '--python',
      tool('python'),
      '--target',
      join(job.workspace, 'uv'),
      wanted,
    ]),
};

describe.each(['pip', 'uv'] as const)('%s installs', (name) => {
  test.each([
    ['wheel-url', 'foo-1.0+cu121-py3-none-any.whl'],
    ['requirement', 'foo-1.0+cu121-py3-none-any.whl'],
    ['wheel-url', 'foo_bar-1!2.0rc1-1abc-py2.py3-none-any.whl'],
    ['requirement', 'foo_bar-1!2.0rc1-1abc-py2.py3-none-any.whl'],
  ])('%s of %s', async (output, filename) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, filename);
    const { outputs } = await job.step('store');
    const { code, output: printed } = await installers[name](job, outputs[output]!);
    expect(printed).toMatch(/installed/i);
    expect(code).toBe(0);
  });

  test('a presigned wheel-url', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0+cu121-py3-none-any.whl');
    const { outputs } = await job.step('store', { presign: '900' });
    expect(await installers[name](job, outputs['wheel-url']!)).toMatchObject({ code: 0 });
  });

  test('nothing if one digit of the hash is wrong', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl');
    const { outputs } = await job.step('store');
    const wrong = outputs.requirement!.replace(/(.)$/, (digit) => (digit === '0' ? '1' : '0'));
    const { code, output } = await installers[name](job, wrong);
    expect(code).not.toBe(0);
    expect(output).toMatch(/hash/i);
  });
});
