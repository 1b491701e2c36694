/** Source distributions in the store. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
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

async function makeSdist(job: Job, name = S, bytes = sdistBytes(name)): Promise<void> {
  await mkdir(job.dist, { recursive: true });
  await writeFile(join(job.dist, name), bytes);
}

describe('sdist: true', () => {
  test('stores wheel and sdist, each in its slot; the outputs for a single wheel are those of the wheel', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await makeSdist(job);
    const stored = await job.step('store', { sdist: 'true' });
    expect(stored).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(await job.keys()).toEqual([job.key(W), keyOf(job)]);
    expect(stored.outputs).toMatchObject({ 'wheel-name': W, 'skip-build': 'false' });
    expect(JSON.parse(stored.outputs.wheels!)).toMatchObject([
      { target: '', name: W },
      { target: 'sdist', name: S, sha256: sha256(sdistBytes(S)) },
    ]);
    expect(stored.log).not.toContain('Also at');
    const head = await bucket.head(keyOf(job));
    expect(head).toMatchObject({
      ContentType: 'application/gzip',
      Metadata: { project: 'demo', version: '1.0', 'requires-python': '>=3.9' },
    });
    const page = await job.page();
    expect(page).toContain(`7_1/sdist/${S}#sha256=${sha256(sdistBytes(S))}`);
    const all = await job.step('fetch', { target: '*', path: 'release' });
    expect(JSON.parse(all.outputs['wheel-paths']!)).toHaveLength(2);
    expect(all.outputs['wheel-path']).toMatch(new RegExp(`/release/${W}$`));
    const named = await job.step('fetch', { target: 'sdist', path: 'source', version: 'v1.0' });
    expect(named.outputs).toMatchObject({ 'wheel-name': S, 'skip-build': 'true' });
  });

  test('without it, the sdist is named in the log, and not stored', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await makeSdist(job);
    const stored = await job.step('store');
    expect(stored.log).toContain(`Also at 'path', not stored: ${S}.`);
    expect(await job.keys()).toEqual([job.key(W)]);
  });

  test("with target: '*', and with expect", async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await makeSdist(job);
    const inputs = { target: '*', sdist: 'true', expect: 'py3-none-any,sdist' };
    const stored = await job.step('store', inputs);
    expect(stored).toMatchObject({ code: 0, errors: [] });
    const found = await job.step('find', { target: 'py3-none-any,sdist' });
    expect(found.outputs).toMatchObject({ 'skip-build': 'true', 'wheel-name': W });
  });

  test('the build was skipped: both are reused, or neither', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await job.step('store', {}, { GITHUB_RUN_ID: '5' });
    await using other = await startJob(bucket, job.prefix);
    const without = await other.step('store', { sdist: 'true' });
    expect(without).toMatchObject({ code: 1, errors: [expect.stringContaining('target sdist either')] });
    await makeSdist(job);
    await job.step('store', { sdist: 'true' }, { GITHUB_RUN_ID: '6' });
    const reused = await other.step('store', { sdist: 'true' });
    expect(reused).toMatchObject({ code: 0, errors: [] });
    expect(reused.outputs).toMatchObject({ 'skip-build': 'true', 'wheel-name': W, 'run-id': '6' });
    expect(JSON.parse(reused.outputs.wheels!)).toHaveLength(2);
  });

  test('target: sdist stores the sdist alone, and finds it when the build was skipped', async () => {
    await using job = await startJob(bucket);
    await makeSdist(job);
    const stored = await job.step('store', { target: 'sdist' });
    expect(stored).toMatchObject({ code: 0, errors: [] });
    expect(stored.outputs['wheel-name']).toBe(S);
    expect(await job.keys()).toEqual([keyOf(job)]);
    await using other = await startJob(bucket, job.prefix);
    const reused = await other.step('store', { target: 'sdist' });
    expect(reused.outputs).toMatchObject({ 'skip-build': 'true', 'wheel-name': S });
  });

  const rejected: [title: string, files: Record<string, Buffer | undefined>, message: string][] = [
    ['a wheel, but no sdist', {}, 'no source distribution'],
    ['two sdists', { [S]: undefined, 'demo-2.0.tar.gz': undefined }, 'There are 2 files that end in .tar.gz'],
    ['another archive', { 'docs.tar.gz': undefined }, 'is not the filename of a source distribution'],
    ['a damaged sdist', { [S]: Buffer.from('<html>') }, 'not a complete tar archive'],
    ['an sdist with an entry outside', { [S]: sdistBytes(S, [{ name: '../evil' }]) }, 'leaves its folder'],
    ['an sdist whose PKG-INFO differs', { [S]: sdistBytes('demo-2.0.tar.gz') }, 'in its PKG-INFO'],
  ];
  test.each(rejected)('%s: an error, and nothing is sent', async (_title, files, message) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    for (const [name, bytes] of Object.entries(files)) await makeSdist(job, name, bytes ?? sdistBytes(name));
    const result = await job.step('store', { sdist: 'true', 'endpoint-url': 'http://127.0.0.1:9' });
    expect(result).toMatchObject({ code: 1, errors: [expect.stringContaining(message)] });
  });

  test('an exclusion leaves an archive out', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await makeSdist(job);
    await makeSdist(job, 'docs.tar.gz', sdistBytes(S));
    const path = 'dist/*\n!dist/docs*';
    const stored = await job.step('store', { sdist: 'true', path });
    expect(stored).toMatchObject({ code: 0, errors: [] });
    expect(await job.keys()).toEqual([job.key(W), keyOf(job)]);
  });
});

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
