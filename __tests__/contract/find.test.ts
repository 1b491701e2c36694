import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { listingPage } from '../../testing/listing-pages.ts';
import { runStep, shownText } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Puts an object under a wheel's key without the action. A look-up doesn't read its bytes. */
const place = (job: Job, path: string, body = 'wheel', metadata = {}) =>
  bucket.put(`${job.prefix}/${COMMIT}/${path}`, body, metadata);

/** A target's wheel of run 0, which comes before every other key of the commit. */
const fillerPath = (index: number) => `0_1/t${String(index).padStart(4, '0')}/${W}`;

describe('a look-up', () => {
  test('returns all outputs of the store step, and changes nothing', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const stored = await job.step('store');
    const before = await job.keys();
    const found = await job.step('find');
    expect(found.errors).toEqual([]);
    expect(found.code).toBe(0);
    expect(found.outputs).toEqual({ ...stored.outputs, 'skip-build': 'true', 'missing-targets': '[]' });
    expect(await job.keys()).toEqual(before);
    expect(shownText(found.summary)).toContain(W);
  });

  test('if nothing is stored: build, and no error', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('find');
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(result.outputs).toMatchObject({
      'skip-build': 'false',
      'wheel-url': '',
      'run-id': '',
      wheels: '[]',
    });
    expect(result.log).toContain(
      `of commit ${COMMIT.slice(0, 7)}, from any run, under the prefix ${job.prefix}.`,
    );
  });

  test('sends one list and one head', async () => {
    await using job = await startJob(bucket);
    await place(job, `7_1/${W}`);
    await using proxy = await startFaultProxy(bucket.endpoint);
    await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(proxy.operations()).toEqual(['list', 'head']);
  });
});

describe('of several wheels, the newest by number is found', () => {
  const cases: [title: string, stored: string[], found: string][] = [
    ['the highest attempt', ['100_2', '100_9', '100_10'], '100_10'],
    // A listing returns them in this order, so the first one is wrong.
    ['the later attempt', ['100_1', '100_2'], '100_2'],
    ['the highest run', ['99_3', '100_1'], '100_1'],
    ['run ids beyond 2^53', ['9007199254740993_1', '9007199254740992_1'], '9007199254740993_1'],
    ['an earlier attempt of this run', ['7_1'], '7_1'],
  ];
  test.each(cases)('%s', async (_title, stored, found) => {
    await using job = await startJob(bucket);
    for (const slot of stored) await place(job, `${slot}/${W}`);
    const result = await job.step('find', {}, { GITHUB_RUN_ATTEMPT: '2' });
    expect(`${result.outputs['run-id']}_${result.outputs['run-attempt']}`).toBe(found);
    expect(result.outputs['skip-build']).toBe('true');
  });

  test('the log names the attempt that stored it, and the current one', async () => {
    await using job = await startJob(bucket);
    await place(job, `7_1/${W}`);
    const result = await job.step('find', {}, { GITHUB_RUN_ATTEMPT: '2' });
    expect(result.log).toMatch(/this run’s attempt 1|this run's attempt 1 \(this is attempt 2\)/);
  });

  test('the old flat layout comes last', async () => {
    await using job = await startJob(bucket);
    await place(job, 'old-1.0-py3-none-any.whl');
    expect((await job.step('find')).outputs).toMatchObject({
      'wheel-name': 'old-1.0-py3-none-any.whl',
      'run-id': '',
    });
    await place(job, `5_1/${W}`);
    expect((await job.step('find')).outputs).toMatchObject({ 'wheel-name': W, 'run-id': '5' });
  });
});

describe('what does not count', () => {
  const cases: [title: string, path: string, body: string][] = [
    ['an empty object', `7_1/${W}`, ''],
    ['a wheel of a target, if no target is requested', `7_1/linux/${W}`, 'wheel'],
    ['an invalid filename', '7_1/demo-latest-py3-none-any.whl', 'wheel'],
    ['a run with a leading zero', `07_1/${W}`, 'wheel'],
    ['a folder that is not a run', `latest/${W}`, 'wheel'],
    ['case 71: a run id of 30 digits', `${'9'.repeat(30)}_1/${W}`, 'wheel'],
    ['case 71: an attempt beyond 2^63', `7_9223372036854775808/${W}`, 'wheel'],
    ['deeper folders', `7_1/a/b/${W}`, 'wheel'],
    ['index pages', 'index.html', '<html>'],
  ];
  test.each(cases)('%s', async (_title, path, body) => {
    await using job = await startJob(bucket);
    await place(job, path, body);
    expect((await job.step('find')).outputs['skip-build']).toBe('false');
  });

  test('a longer commit that begins with this one', async () => {
    await using job = await startJob(bucket);
    await bucket.put(`${job.prefix}/${COMMIT}${'b'.repeat(24)}/7_1/${W}`, 'wheel');
    expect((await job.step('find')).outputs['skip-build']).toBe('false');
  });

  test('a slot with two wheels; a warning names both', async () => {
    await using job = await startJob(bucket);
    await place(job, `8_1/${W}`);
    await place(job, '8_1/demo-2.0-py3-none-any.whl');
    await place(job, `7_1/${W}`);
    const result = await job.step('find');
    expect(result.outputs['run-id']).toBe('7');
    expect(result.warnings[0]).toMatch(/demo-1\.0-py3-none-any\.whl.*demo-2\.0-py3-none-any\.whl/);
  });

  test('a wheel that a life-cycle rule deletes between list and head', async () => {
    await using job = await startJob(bucket);
    await place(job, `7_1/${W}`);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'head' ? { status: 404 } : undefined,
    );
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs['skip-build']).toBe('false');
  });
});

describe('scope', () => {
  const cases: [scope: string, found: string][] = [
    ['commit', '9_1'],
    ['run', '7_2'],
    ['attempt', '7_1'],
  ];
  test.each(cases)('%s', async (scope, found) => {
    await using job = await startJob(bucket);
    for (const slot of ['9_1', '7_2', '7_1']) await place(job, `${slot}/${W}`);
    const result = await job.step('find', { scope });
    expect(result.outputs['wheel-key']).toBe(`${job.prefix}/${COMMIT}/${found}/${W}`);
  });

  test('run does not fall back to the flat layout', async () => {
    await using job = await startJob(bucket);
    await place(job, W);
    expect((await job.step('find', { scope: 'run' })).outputs['skip-build']).toBe('false');
  });
});

test('several wheels in the flat layout are an error that lists them', async () => {
  await using job = await startJob(bucket);
  const names = ['foo-1.0-cp39-abi3-macosx_11_0_arm64.whl', 'foo-1.0-cp39-abi3-manylinux_2_34_x86_64.whl'];
  for (const name of names) await place(job, name);
  const result = await job.step('find');
  expect(result.code).toBe(1);
  for (const name of names) expect(result.errors[0]).toContain(name);
});

describe('a match on the last page of a long listing: one list per page, and one head', () => {
  test('10,001 keys on eleven pages', async () => {
    await using job = await startJob(bucket);
    await place(job, `7_1/${W}`);
    const paths = [...Array.from({ length: 10_000 }, (_, index) => fillerPath(index)), `7_1/${W}`];
    const listing = {
      count: paths.length,
      keyOf: (index: number) => `${job.prefix}/${COMMIT}/${paths[index]}`,
      size: 'wheel'.length,
    };
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, url }) =>
      operation === 'list'
        ? { status: 200, body: listingPage(url, listing), headers: { 'content-type': 'application/xml' } }
        : undefined,
    );
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.outputs['run-id']).toBe('7');
    expect(proxy.operations()).toEqual([...new Array(11).fill('list'), 'head']);
  });

  test('1,001 keys on two pages of the real server', async () => {
    await using job = await startJob(bucket);
    for (let start = 0; start < 1000; start += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => place(job, fillerPath(start + index))));
    }
    await place(job, `7_1/${W}`);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.outputs['run-id']).toBe('7');
    expect(proxy.operations()).toEqual(['list', 'list', 'head']);
  });
});

describe('a failed look-up does not mean "not stored"', () => {
  test('403: an error that names the permission and the bucket', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () =>
      s3Error(403, 'AccessDenied', 'Access Denied'),
    );
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.outputs).toEqual({ 'skip-build': 'false' });
    expect(result.errors[0]).toContain('s3:ListBucket');
    expect(result.errors[0]).toContain(bucket.name);
    expect(proxy.requests).toHaveLength(1);
  });

  test('403 with on-error: build: a warning, and the build is needed', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => s3Error(403, 'AccessDenied'));
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint, 'on-error': 'build' });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs).toMatchObject({ 'skip-build': 'false', 'wheel-url': '' });
    expect(result.warnings[0]).toContain('s3:ListBucket');
  });

  test('on-error: build does not apply to bad input', async () => {
    await using job = await startJob(bucket);
    expect((await job.step('find', { commit: 'main', 'on-error': 'build' })).code).toBe(1);
  });

  test('list allowed, but not head: the error names s3:GetObject', async () => {
    await using job = await startJob(bucket);
    await place(job, `7_1/${W}`);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'head' ? { status: 403 } : undefined,
    );
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('s3:GetObject');
  });

  test('a listing that repeats its token: an error', async () => {
    await using job = await startJob(bucket);
    const page = `<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken><Contents><Key>k</Key><Size>1</Size></Contents></ListBucketResult>`;
    await using proxy = await startFaultProxy(bucket.endpoint, () => ({
      status: 200,
      body: page,
      headers: { 'content-type': 'application/xml' },
    }));
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('does not end');
    expect(proxy.requests.length).toBeLessThan(5);
  });
});

describe('the commit', () => {
  test('is logged, with a warning if it is github.sha and another commit is checked out', async () => {
    await using job = await startJob(bucket);
    await mkdir(join(job.workspace, '.git'));
    await writeFile(join(job.workspace, '.git/HEAD'), `${'d'.repeat(40)}\n`);
    const env = { GITHUB_SHA: COMMIT, GITHUB_EVENT_NAME: 'pull_request' };
    const result = await job.step('find', {}, env);
    expect(result.log).toContain(`Commit ${COMMIT}.`);
    expect(result.warnings[0]).toContain('d'.repeat(40));
    const other = await job.step('find', {}, { ...env, GITHUB_SHA: 'e'.repeat(40) });
    expect(other.warnings).toEqual([]);
  });

  test('defaults to github.sha', async () => {
    await using job = await startJob(bucket);
    await place(job, `7_1/${W}`);
    const result = await runStep({
      action: 'find',
      workspace: job.workspace,
      inputs: { ...bucket.inputs, prefix: job.prefix },
      env: { ...bucket.env, GITHUB_SHA: COMMIT },
    });
    expect(result.errors).toEqual([]);
    expect(result.outputs['skip-build']).toBe('true');
  });
});
