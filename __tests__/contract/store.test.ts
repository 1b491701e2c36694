import { mkdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type FaultProxy, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, startJob } from '../../testing/job.ts';
import { shownText } from '../../testing/runner.ts';
import { makeWheel, sha256, wheelBytes } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Calls `work` with a proxy that records the requests of a step that must not send any. */
async function withCounter<Result>(work: (proxy: FaultProxy) => Promise<Result>): Promise<Result> {
  await using proxy = await startFaultProxy(bucket.endpoint);
  return await work(proxy);
}

describe('a wheel is placed into the slot of this run', () => {
  test('with outputs, metadata, cache header, log and summary', async () => {
    await using job = await startJob(bucket);
    const name = 'foo-1.0+cu121-py3-none-any.whl';
    const bytes = await readFile(await makeWheel(job.dist, name, { metadata: ['Requires-Python: >=3.9'] }));
    const result = await job.step('store', {}, { GITHUB_RUN_ATTEMPT: '2' });

    const key = `${job.prefix}/${COMMIT}/7_2/${name}`;
    const url = `${bucket.endpoint}/${bucket.name}/${job.prefix}/${COMMIT}/7_2/foo-1.0%2Bcu121-py3-none-any.whl`;
    const facts = {
      key,
      url,
      sha256: sha256(bytes),
      run: '7',
      attempt: '2',
      name,
      target: '',
      size: bytes.length,
    };
    expect({ errors: result.errors, warnings: result.warnings, code: result.code }).toEqual({
      errors: [],
      warnings: [],
      code: 0,
    });
    expect({ ...result.outputs, wheels: JSON.parse(result.outputs.wheels!) }).toEqual({
      commit: COMMIT,
      'skip-build': 'false',
      'wheel-url': url,
      'wheel-name': name,
      'wheel-key': key,
      's3-uri': `s3://${bucket.name}/${key}`,
      sha256: facts.sha256,
      size: String(bytes.length),
      requirement: `foo @ ${url}#sha256=${facts.sha256}`,
      'run-id': '7',
      'run-attempt': '2',
      'index-url': `${bucket.endpoint}/${bucket.name}/${job.prefix}/${COMMIT}/index.html`,
      wheels: [facts],
    });
    expect(await job.keys()).toEqual([key]);
    expect(await bucket.get(key)).toEqual(bytes);
    const head = await bucket.head(key);
    expect(head.CacheControl).toBe('public, max-age=31536000, immutable');
    expect(head.Metadata).toMatchObject({
      sha256: facts.sha256,
      commit: COMMIT,
      run: '7',
      attempt: '2',
      repository: 'octo/demo',
      project: 'foo',
      version: '1.0+cu121',
      'requires-python': '>=3.9',
    });
    expect(result.log).toContain(`Stored s3://${bucket.name}/${key}.`);
    for (const text of [
      name,
      facts.sha256,
      'py3-none-any',
      key,
      'run 7, attempt 2',
      `pip install "${url}"`,
    ]) {
      expect(shownText(result.summary)).toContain(text);
    }
  });

  test('with links to the server that runs the job, such as a GitHub Enterprise Server', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const server = 'https://github.example.com';
    const { summary, outputs } = await job.step('store', {}, { GITHUB_SERVER_URL: server });
    const run = `${server}/octo/demo/actions/runs/7/attempts/1`;
    expect(summary).toContain(`(${run})`);
    const page = await bucket.get(new URL(outputs['index-url']!).pathname.split('/').slice(2).join('/'));
    expect(shownText(page.toString())).toContain(`"${run}"`);
  });

  test('with a target, below the run', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const result = await job.step('store', { target: 'linux-x86_64-cp312' });
    expect(result.outputs['wheel-key']).toBe(job.key(`linux-x86_64-cp312/${W}`));
    expect(JSON.parse(result.outputs.wheels!)).toMatchObject([{ target: 'linux-x86_64-cp312' }]);
  });

  test('with an empty prefix, under a key that begins with the commit', async () => {
    await using job = await startJob(bucket);
    const commit = 'e'.repeat(64);
    await makeWheel(job.dist, W);
    const result = await job.step('store', { prefix: '', commit });
    expect(result.outputs['wheel-key']).toBe(`${commit}/7_1/${W}`);
  });

  test('in each run again, whatever other runs stored', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await job.step('store');
    const result = await job.step('store', {}, { GITHUB_RUN_ID: '8' });
    expect(result.outputs['skip-build']).toBe('false');
    expect(await job.keys()).toHaveLength(2);
  });
});

describe('path', () => {
  const cases: [title: string, file: string, path: string][] = [
    ['a file', `out/${W}`, `out/${W}`],
    ['a folder', `out/${W}`, 'out'],
    ['a folder with a slash', `out/${W}`, 'out/'],
    ['a glob', `target/wheels/${W}`, 'target/wheels/*.whl'],
    ['a deep glob', `dist/a/b/${W}`, 'dist/**/*.whl'],
    ['a folder whose name looks like a glob', `out[1]/${W}`, 'out[1]'],
    ['empty, which means dist', `dist/${W}`, ''],
  ];
  test.each(cases)('%s', async (_title, file, path) => {
    await using job = await startJob(bucket);
    await makeWheel(job.workspace, file);
    const result = await job.step('store', { path });
    expect(result.errors).toEqual([]);
    expect(result.outputs['wheel-name']).toBe(W);
  });

  test('an absolute glob', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.workspace, `elsewhere/${W}`);
    const result = await job.step('store', { path: join(job.workspace, 'elsewhere', '*.whl') });
    expect(result.outputs['wheel-name']).toBe(W);
  });

  test('other files, folders, dotfiles and dangling links beside the wheel are ignored', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await writeFile(join(job.dist, 'demo-1.0.tar.gz'), 'sdist');
    await writeFile(join(job.dist, '.hidden-1.0-py3-none-any.whl'), 'x');
    await mkdir(join(job.dist, 'folder-1.0-py3-none-any.whl'));
    await symlink('nowhere', join(job.dist, 'dangling-1.0-py3-none-any.whl'));
    const result = await job.step('store');
    expect(result.errors).toEqual([]);
    expect(result.outputs['wheel-name']).toBe(W);
  });

  test('two wheels are an error that lists both, and nothing is sent', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'a-1.0-py3-none-any.whl');
    await makeWheel(job.dist, 'a-1.1-py3-none-any.whl');
    const { result, requests } = await withCounter(async ({ endpoint, requests }) => ({
      result: await job.step('store', { 'endpoint-url': endpoint }),
      requests,
    }));
    expect(result.code).toBe(1);
    expect(result.outputs).toEqual({ 'skip-build': 'false' });
    expect(result.errors[0]).toContain('a-1.0-py3-none-any.whl, a-1.1-py3-none-any.whl');
    expect(requests).toEqual([]);
  });

  test('no wheel and none stored: an error with the pattern, the folder and its files', async () => {
    await using job = await startJob(bucket);
    await mkdir(job.dist);
    await writeFile(join(job.dist, 'demo-1.0.tar.gz'), 'sdist');
    const result = await job.step('store', { path: 'dist/*.whl' });
    expect(result.code).toBe(1);
    expect(result.outputs['skip-build']).toBe('false');
    expect(result.errors).toHaveLength(1);
    for (const text of ['dist/*.whl', job.dist, 'demo-1.0.tar.gz', COMMIT])
      expect(result.errors[0]).toContain(text);
  });

  test('no wheel, but one is stored for the commit: it is reused', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const stored = await job.step('store');
    await rm(job.dist, { recursive: true });
    const again = await job.step(
      'store',
      { path: 'nothing-here' },
      { GITHUB_RUN_ID: '9', GITHUB_RUN_ATTEMPT: '3' },
    );
    expect(again.errors).toEqual([]);
    expect(again.outputs).toEqual({ ...stored.outputs, 'skip-build': 'true' });
    expect(again.log).toContain('stored by run 7, attempt 1');
    expect(shownText(again.summary)).toContain('run 7, attempt 1');
  });
});

describe('an invalid wheel is refused before anything is sent', () => {
  const html = Buffer.from('<!DOCTYPE html><html><body>Not found</body></html>');
  const whole = wheelBytes(W);
  const cases: [title: string, filename: string, bytes: Uint8Array, pattern: RegExp][] = [
    ['empty', W, new Uint8Array(0), /empty/],
    ['cut off in the middle', W, whole.subarray(0, whole.length / 2), /cut off|zip/],
    ['HTML', W, html, /HTML|web page/],
    [
      'another version in METADATA',
      'foo-9.9.dev0-py3-none-any.whl',
      wheelBytes('foo-9.9.dev0-py3-none-any.whl', { version: '1.0' }),
      /1\.0/,
    ],
    ['another project in METADATA', W, wheelBytes(W, { project: 'other' }), /other/],
    ['an invalid filename', 'demo-latest-py3-none-any.whl', whole, /latest/],
    ['a suffix in upper case', 'demo-1.0-py3-none-any.WHL', whole, /lower case/],
  ];
  test.each(cases)('%s', async (_title, filename, bytes, pattern) => {
    await using job = await startJob(bucket);
    await mkdir(job.dist);
    await writeFile(join(job.dist, filename), bytes);
    const { result, requests } = await withCounter(async ({ endpoint, requests }) => ({
      result: await job.step('store', { 'endpoint-url': endpoint }),
      requests,
    }));
    expect(result.code).toBe(1);
    expect(result.errors).toHaveLength(1);
    expect(result.errors[0]).toMatch(pattern);
    expect(requests).toEqual([]);
  });

  test('another local version in METADATA is only a warning', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0+cu1-py3-none-any.whl', { version: '1.0' });
    const result = await job.step('store');
    expect(result.errors).toEqual([]);
    expect(result.warnings.join()).toMatch(/1\.0\+cu1.*"1\.0"/);
    expect(await job.keys()).toHaveLength(1);
  });

  test('a project in another spelling is the same project', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo_bar-1.0-py3-none-any.whl', { project: 'Foo.Bar' });
    const result = await job.step('store');
    expect(result.errors).toEqual([]);
    expect(result.outputs.requirement).toMatch(/^foo-bar @ /);
  });
});

describe('sends only the necessary requests', () => {
  test('list, put, list, and for the index one look before the puts and one after', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint);
    await job.step('store', { 'endpoint-url': proxy.endpoint });
    const index = ['get', 'get', 'list', 'put', 'put', 'get', 'get', 'list'];
    expect(proxy.operations()).toEqual(['list', 'put', 'list', ...index]);
    const put = proxy.requests.find(({ path }) => path.endsWith('.whl'))!;
    expect(put.headers['if-none-match']).toBe('*');
    expect(put.headers['content-length']).toBe(String(put.bytes));
    expect(Object.keys(put.headers).filter((name) => name.startsWith('x-amz-checksum'))).toEqual([]);
    expect(put.headers['content-encoding']).toBeUndefined();
  });

  test('with checksums only if the environment requires them', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const env = { AWS_REQUEST_CHECKSUM_CALCULATION: 'WHEN_SUPPORTED' };
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint }, env);
    expect(result.errors).toEqual([]);
    const put = proxy.requests.find(({ path }) => path.endsWith('.whl'))!;
    expect(put.headers['x-amz-checksum-crc32']).toBeDefined();
  });
});

test('a wheel that changes while it is read is not stored', async () => {
  await using job = await startJob(bucket);
  const path = await makeWheel(job.dist, W);
  // The first list waits until the wheel has changed, between the check and the upload.
  await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
    operation === 'list' && nth === 1 ? { after: truncate(path, 100) } : undefined,
  );
  const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
  expect(result.code).toBe(1);
  expect(result.errors[0]).toMatch(/while it was being/);
  expect(await job.keys()).toEqual([]);
});
