/** Source distributions in the store. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { tool } from '../../testing/python.ts';
import { sdistBytes } from '../../testing/sdists.ts';
import { makeWheel, sha256 } from '../../testing/wheels.ts';

const S = 'demo-1.0.tar.gz';
const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

const keyOf = (job: Job) => `${job.prefix}/${COMMIT}/7_1/sdist/${S}`;

describe('an sdist without a SHA-256 in its metadata', () => {
  test('fetch checks the archive, with a warning', async () => {
    await using job = await startJob(bucket);
    await bucket.put(keyOf(job), sdistBytes(S));
    const fetched = await job.step('fetch', { target: 'sdist', path: 'new' });
    expect(fetched).toMatchObject({ code: 0, errors: [] });
    expect(fetched.warnings).toEqual([expect.stringContaining('has no SHA-256 in its metadata')]);
    expect(sha256(await readFile(join(job.workspace, 'new', S)))).toBe(sha256(sdistBytes(S)));
  });

  test('a damaged one: fetch fails, and nothing is left', async () => {
    await using job = await startJob(bucket);
    await bucket.put(keyOf(job), sdistBytes(S).subarray(0, -20));
    const fetched = await job.step('fetch', { target: 'sdist', path: 'new' });
    expect(fetched).toMatchObject({
      code: 1,
      errors: [expect.stringContaining('not a complete tar archive')],
    });
    await expect(readFile(join(job.workspace, 'new', S))).rejects.toThrow('ENOENT');
  });
});

test('for-python never picks it, not even if no wheel fits', async () => {
  await using job = await startJob(bucket);
  await bucket.put(keyOf(job), sdistBytes(S));
  const inputs = { target: '*', 'for-python': tool('python') };
  const alone = await job.step('find', inputs);
  expect(alone.outputs['skip-build']).toBe('false');
  const path = await makeWheel(job.workspace, W);
  await job.step('store', { target: 'any', path });
  const found = await job.step('find', inputs);
  expect(found.outputs).toMatchObject({ 'skip-build': 'true', 'wheel-name': W });
});
