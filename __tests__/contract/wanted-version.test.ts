/** The input `version`, and the warning of store about a tag with another version. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { makeWheel } from '../../testing/wheels.ts';

const DEV = 'demo-1.0.1.dev1+gaaaaaaa-py3-none-any.whl';
const TAGGED = 'demo-1.0.1-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

async function store(job: Job, name: string, run: string): Promise<void> {
  const path = await makeWheel(job.workspace, `${run}/${name}`);
  const { errors } = await job.step('store', { path }, { GITHUB_RUN_ID: run });
  expect(errors).toEqual([]);
}

test('a tag on a commit of main, whose wheel has a development version: build, and fetch refuses', async () => {
  await using job = await startJob(bucket);
  await store(job, DEV, '5');
  const found = await job.step('find', { version: 'v1.0.1' });
  expect(found).toMatchObject({ code: 0, errors: [] });
  expect(found.outputs).toMatchObject({ 'skip-build': 'false', 'missing-targets': '[""]', 'wheel-url': '' });
  expect(found.log).toContain('version 1.0.1, of commit aaaaaaa');
  expect(found.log).toContain('; stored is 1.0.1.dev1+gaaaaaaa. The build is needed.');
  expect(found.summary).toContain('1.0.1.dev1+gaaaaaaa');
  const fetched = await job.step('fetch', { version: 'v1.0.1', path: 'new' });
  expect(fetched).toMatchObject({
    code: 1,
    errors: [expect.stringContaining('Build and store that version')],
  });
});

test('the wheel of the right version is used, although a later run stored another', async () => {
  await using job = await startJob(bucket);
  await store(job, TAGGED, '5');
  await store(job, DEV, '6');
  expect((await job.step('find')).outputs['wheel-name']).toBe(DEV);
  const fetched = await job.step('fetch', { version: 'v1.0.1', path: 'new' });
  expect(fetched).toMatchObject({ code: 0, errors: [], warnings: [] });
  expect(fetched.outputs['wheel-name']).toBe(TAGGED);
});

test.each([
  ['1.0.1', true],
  ['V1.0.1', true],
  ['1.0.1.0', true],
  ['v1.0.01', true],
  ['1.0.1+local', false],
  ['1.0', false],
  ['1!1.0.1', false],
])('the wheel of 1.0.1 for version %s: %p', async (version, isFound) => {
  await using job = await startJob(bucket);
  await store(job, TAGGED, '5');
  expect((await job.step('find', { version })).outputs['skip-build']).toBe(String(isFound));
});

test.each(['main', 'v', 'release-1.0', '1.0 1.1', 'latest'])('%j is rejected', async (version) => {
  await using job = await startJob(bucket);
  const result = await job.step('find', { version, 'endpoint-url': 'http://127.0.0.1:9' });
  expect(result).toMatchObject({ code: 1, errors: [expect.stringContaining('is not a version')] });
});

describe('a wheel stored in the run of a version tag', () => {
  const tagged = (tag: string) => ({
    GITHUB_SHA: COMMIT,
    GITHUB_REF_TYPE: 'tag',
    GITHUB_REF_NAME: tag,
    GITHUB_REF: `refs/tags/${tag}`,
  });
  const cases: [tag: string, name: string, isWarned: boolean][] = [
    ['v1.0.1', DEV, true],
    ['v1.0.1', TAGGED, false],
    ['v1.0.1', 'demo-1.0.1+cu121-py3-none-any.whl', false],
    ['v2.0', TAGGED, true],
    ['nightly', TAGGED, false],
  ];
  test.each(cases)('tag %s, %s: warning %p', async (tag, name, isWarned) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, name);
    const result = await job.step('store', {}, tagged(tag));
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.warnings).toEqual(isWarned ? [expect.stringContaining(`for the tag ${tag}.`)] : []);
  });

  test('the run of a branch, and another commit: no warning', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, TAGGED);
    const branch = await job.step('store', {}, { ...tagged('v2.0'), GITHUB_REF_TYPE: 'branch' });
    const other = await job.step('store', { target: 'x' }, { ...tagged('v2.0'), GITHUB_SHA: 'b'.repeat(40) });
    expect([...branch.warnings, ...other.warnings]).toEqual([]);
  });
});
