/** The table in the job summary of a look-up of several targets. */
import { beforeAll, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { shownText } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

const store = async (job: Job, target: string, run: string) => {
  const path = await makeWheel(job.workspace, `${target}/demo-1.0-py3-none-any.whl`);
  return job.step('store', { target, path }, { GITHUB_RUN_ID: run });
};
const NAMES = 'cp312-linux_x86_64,cp313-linux_x86_64,cp312-win_amd64,cp313-win_amd64';

/** The summary without links and the formatting of code. */
const plain = (summary: string) =>
  shownText(summary)
    .replace(/<\/?code>/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');

test('find and a failed fetch show what is stored, by which run, and what is missing', async () => {
  await using job = await startJob(bucket);
  await store(job, 'cp312-linux_x86_64', '7');
  await store(job, 'cp313-linux_x86_64', '8');
  await store(job, 'cp312-win_amd64', '8');
  const grid = [
    '|  | cp312 | cp313 |',
    '| :-- | :-- | :-- |',
    '| linux_x86_64 | run 7, attempt 1 | run 8, attempt 1 |',
    '| win_amd64 | run 8, attempt 1 | **missing** |',
  ].join('\n');
  for (const inputs of [{ target: NAMES }, { target: '*', expect: NAMES }]) {
    const found = await job.step('find', inputs);
    expect(plain(found.summary)).toContain(grid);
    const fetched = await job.step('fetch', { ...inputs, path: 'new' });
    expect(fetched.code).toBe(1);
    expect(plain(fetched.summary)).toContain('### Nothing fetched');
    expect(plain(fetched.summary)).toContain(grid);
  }
});

test('one target, all that are stored, or the choice of an interpreter: no table', async () => {
  await using job = await startJob(bucket);
  await store(job, 'cp312-win32', '7');
  for (const inputs of [{ target: 'cp312-win32' }, { target: '*' }]) {
    const { summary } = await job.step('find', inputs);
    expect(plain(summary)).toContain('cp312-win32');
    expect(plain(summary)).not.toContain('| Target | Stored by |');
  }
});
