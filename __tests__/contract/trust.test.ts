/** The checks of a stored wheel: its metadata against its key, its SHA-256, the run that stored it. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { makeWheel, sha256, wheelBytes } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const BYTES = Buffer.from(wheelBytes(W));
const OTHER = Buffer.from(wheelBytes(W, { metadata: ['Summary: another'] }));
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Puts a wheel as a store step of that run does, except for the changes in `metadata`. */
async function place(
  job: Job,
  slot: string,
  bytes: Buffer,
  metadata: Record<string, string | undefined> = {},
) {
  const [run = '', attempt = ''] = slot.split('_');
  const all = {
    commit: COMMIT,
    run,
    attempt,
    repository: 'octo/demo',
    project: 'demo',
    version: '1.0',
    sha256: sha256(bytes),
    ...metadata,
  };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  await bucket.put(`${job.prefix}/${COMMIT}/${slot}/${W}`, bytes, Object.fromEntries(given));
}

describe('case 71: metadata that contradicts the key', () => {
  const cases: [what: string, metadata: Record<string, string>][] = [
    ['another commit', { commit: 'b'.repeat(40) }],
    ['another run', { run: '6' }],
    ['another attempt', { attempt: '2' }],
    ['another repository', { repository: 'mallory/demo' }],
    ['another project', { project: 'other' }],
    ['another version', { version: '2.0' }],
  ];
  test.each(cases)('%s: find and fetch use the older wheel, with a warning', async (_what, metadata) => {
    await using job = await startJob(bucket);
    await place(job, '7_1', BYTES);
    await place(job, '9_1', OTHER, metadata);
    for (const action of ['find', 'fetch'] as const) {
      const result = await job.step(action);
      expect(result).toMatchObject({ code: 0, errors: [] });
      expect(result.outputs['run-id']).toBe('7');
      expect(result.warnings.join()).toContain(`/9_1/${W}`);
      expect(result.warnings.join()).toContain(Object.values(metadata)[0]);
    }
  });

  test('no other wheel is stored: build, and fetch fails', async () => {
    await using job = await startJob(bucket);
    await place(job, '9_1', OTHER, { run: '6' });
    expect((await job.step('find')).outputs['skip-build']).toBe('false');
    expect((await job.step('fetch')).code).toBe(1);
  });

  test('with for-python, the older wheel of the target is used too', async () => {
    await using job = await startJob(bucket);
    await place(job, '7_1', BYTES);
    await place(job, '9_1', OTHER, { commit: 'b'.repeat(40) });
    const result = await job.step('find', { 'for-python': 'python3' });
    expect(result.outputs['run-id']).toBe('7');
  });

  test('the index page links the older wheel', async () => {
    await using job = await startJob(bucket);
    await place(job, '9_1/other', BYTES);
    await bucket.put(`${job.prefix}/${COMMIT}/8_1/other/${W}`, BYTES, {
      commit: COMMIT,
      sha256: sha256(BYTES),
    });
    await makeWheel(job.dist, W);
    expect((await job.step('store')).errors).toEqual([]);
    const page = await job.page();
    expect(page).toContain(`href="8_1/other/${W}#`);
    expect(page).not.toContain('href="9_1/other/');
  });

  test('the input repository allows another repository, or any', async () => {
    await using job = await startJob(bucket);
    await place(job, '9_1', OTHER, { repository: 'Up/Stream' });
    for (const repository of ['up/stream', '*']) {
      expect((await job.step('find', { repository })).outputs['run-id']).toBe('9');
    }
    expect((await job.step('find', { repository: 'up' })).code).toBe(1);
  });
});

describe('case 55: a wheel in a slot without a SHA-256', () => {
  test('is used with a warning, and not treated as the old layout', async () => {
    await using job = await startJob(bucket);
    await place(job, '7_1', BYTES, { sha256: undefined });
    for (const action of ['find', 'fetch'] as const) {
      const result = await job.step(action);
      expect(result.outputs['run-id']).toBe('7');
      expect(result.warnings[0]).toContain('cannot be verified');
      expect(result.log).not.toContain('old layout');
    }
  });

  test('is ignored with require-sha256', async () => {
    await using job = await startJob(bucket);
    await place(job, '7_1', BYTES);
    await place(job, '9_1', OTHER, { sha256: undefined });
    const result = await job.step('fetch', { 'require-sha256': 'true' });
    expect(result.outputs['run-id']).toBe('7');
    expect(result.warnings[0]).toContain('/9_1/');
  });
});

test('case 56: a second wheel in the newest slot: a warning names both, and the older one that is used', async () => {
  await using job = await startJob(bucket);
  await place(job, '7_1', BYTES);
  await place(job, '9_1', OTHER);
  await bucket.put(`${job.prefix}/${COMMIT}/9_1/demo-2.0-py3-none-any.whl`, 'added');
  const result = await job.step('fetch');
  expect(result.outputs['run-id']).toBe('7');
  expect(result.warnings[0]).toContain(`9_1/${W}`);
  expect(result.warnings[0]).toContain('9_1/demo-2.0-py3-none-any.whl');
  expect(result.warnings[0]).toContain(`7_1/${W}`);
});

describe('run-id', () => {
  test('finds the wheel of that run’s newest attempt', async () => {
    await using job = await startJob(bucket);
    for (const slot of ['5_1', '5_2', '9_1']) await place(job, slot, BYTES);
    const result = await job.step('fetch', { 'run-id': '5' });
    expect(result.outputs).toMatchObject({ 'run-id': '5', 'run-attempt': '2' });
    const none = await job.step('fetch', { 'run-id': '6' });
    expect(none.code).toBe(1);
    expect(none.errors[0]).toContain('run 6');
  });

  test.each([['abc'], ['07'], ['9223372036854775808']])('%s is bad input', async (id) => {
    await using job = await startJob(bucket);
    expect((await job.step('find', { 'run-id': id })).errors[0]).toContain("'run-id'");
  });

  test('cannot be combined with a scope other than commit', async () => {
    await using job = await startJob(bucket);
    expect((await job.step('find', { 'run-id': '5', scope: 'run' })).code).toBe(1);
  });
});

describe('sha256', () => {
  test('finds that wheel, whichever run stored it', async () => {
    await using job = await startJob(bucket);
    await place(job, '7_1', BYTES);
    await place(job, '9_1', OTHER);
    const result = await job.step('fetch', { sha256: `sha256:${sha256(BYTES).toUpperCase()}` });
    expect(result.outputs['run-id']).toBe('7');
    expect(result.warnings[0]).toContain(sha256(OTHER));
  });

  test('excludes any other wheel, and the error names the requested hash', async () => {
    await using job = await startJob(bucket);
    await place(job, '7_1', OTHER);
    expect((await job.step('find', { sha256: sha256(BYTES) })).outputs['skip-build']).toBe('false');
    const fetched = await job.step('fetch', { sha256: sha256(BYTES) });
    expect(fetched.code).toBe(1);
    expect(fetched.errors[0]).toContain(sha256(BYTES));
  });

  test('is computed if the wheel was stored without one', async () => {
    await using job = await startJob(bucket);
    await bucket.put(`${job.prefix}/${COMMIT}/${W}`, BYTES);
    expect((await job.step('fetch', { sha256: sha256(BYTES) })).outputs.sha256).toBe(sha256(BYTES));
    expect((await job.step('fetch', { sha256: sha256(OTHER) })).code).toBe(1);
  });

  test('that is invalid is bad input', async () => {
    await using job = await startJob(bucket);
    expect((await job.step('find', { sha256: 'abc' })).errors[0]).toContain("'sha256'");
  });
});
