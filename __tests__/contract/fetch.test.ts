import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Answer, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { makeWheel, sha256, wheelBytes } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Stores a wheel with `bytes` bytes of uncompressed data, and returns its content. */
async function storeWheel(job: Job, bytes = 1000): Promise<Buffer> {
  const noise = Uint8Array.from({ length: bytes }, (_, index) => (index * 7919) % 251);
  const path = await makeWheel(job.workspace, `built/${W}`, { files: { 'demo/noise.bin': noise }, level: 0 });
  const result = await job.step('store', { path: 'built' });
  expect(result.errors).toEqual([]);
  return readFile(path);
}

describe('a fetched wheel', () => {
  test('is verified, and its path is an output', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeWheel(job);
    const result = await job.step('fetch', { path: 'new/folder' });
    const path = join(job.workspace, 'new/folder', W);
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(result.outputs).toMatchObject({
      'skip-build': 'true',
      'wheel-path': path,
      'wheel-paths': JSON.stringify([path]),
      sha256: sha256(bytes),
    });
    expect(await readFile(path)).toEqual(bytes);
    expect(await readdir(join(job.workspace, 'new/folder'))).toEqual([W]);
  });

  test('is downloaded in parallel ranges if it is large, and assembled in order', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeWheel(job, 40 * 1024 * 1024);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    expect((await readFile(join(job.dist, W))).equals(bytes)).toBe(true);
    const ranges = proxy.requests
      .filter(({ operation }) => operation === 'get')
      .map(({ headers }) => headers.range);
    expect(ranges.length).toBeGreaterThan(3);
    expect(ranges).toContain('bytes=0-8388607');
  });

  test('may be of an earlier attempt, if only the failed jobs run again', async () => {
    await using job = await startJob(bucket);
    await storeWheel(job);
    const result = await job.step('fetch', {}, { GITHUB_RUN_ATTEMPT: '2' });
    expect(result.outputs).toMatchObject({ 'run-attempt': '1', 'wheel-name': W });
  });
});

describe('nothing stored', () => {
  test('fails, and the error contains what was looked up', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('fetch');
    expect(result.code).toBe(1);
    expect(result.outputs['skip-build']).toBe('false');
    expect(result.log).toContain(`Commit ${COMMIT}.`);
    expect(result.errors[0]).toContain(
      `of commit ${COMMIT.slice(0, 7)}, from any run, under the prefix ${job.prefix}.`,
    );
  });

  test('on-missing: ignore: success', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('fetch', { 'on-missing': 'ignore' });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs).toMatchObject({ 'skip-build': 'false', 'wheel-path': '', 'wheel-paths': '[]' });
  });
});

describe('a file of that name exists already', () => {
  test('with the same bytes: nothing is downloaded', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeWheel(job);
    await mkdir(job.dist);
    await writeFile(join(job.dist, W), bytes);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.outputs['wheel-path']).toBe(join(job.dist, W));
    expect(proxy.operations()).toEqual(['list', 'head']);
  });

  test('with other bytes: replaced', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeWheel(job);
    await mkdir(job.dist);
    await writeFile(join(job.dist, W), 'old');
    expect((await job.step('fetch')).errors).toEqual([]);
    expect(await readFile(join(job.dist, W))).toEqual(bytes);
  });

  test('with other bytes, and the download is damaged: kept', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeWheel(job);
    bytes[50]! ^= 1;
    await bucket.put(job.key(W), bytes, { sha256: sha256(Buffer.from('other')) });
    await mkdir(job.dist);
    await writeFile(join(job.dist, W), 'old');
    expect((await job.step('fetch')).code).toBe(1);
    expect(await readFile(join(job.dist, W), 'utf8')).toBe('old');
    expect(await readdir(job.dist)).toEqual([W]);
  });
});

describe('the download is not what was stored', () => {
  test('other bytes: an error that warns against using it, and no file', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeWheel(job);
    const { Metadata } = await bucket.head(job.key(W));
    bytes[50]! ^= 1;
    await bucket.put(job.key(W), bytes, Metadata);
    const result = await job.step('fetch');
    expect(result.code).toBe(1);
    expect(result.errors[0]).toMatch(/Do not use it/);
    expect(await readdir(job.dist)).toEqual([]);
  });

  test('a connection that is cut once: the rest is requested', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeWheel(job);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
      operation === 'get' && nth === 1 ? { cutAt: 100 } : undefined,
    );
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    expect(await readFile(join(job.dist, W))).toEqual(bytes);
    const [, second] = proxy.requests.filter(({ operation }) => operation === 'get');
    expect(second?.headers.range).toBe(`bytes=100-${bytes.length - 1}`);
  });

  test('a connection that is always cut: an error, and no file', async () => {
    await using job = await startJob(bucket);
    await storeWheel(job);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'get' ? { cutAt: 0 } : undefined,
    );
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toMatch(/was interrupted/);
    expect(await readdir(job.dist)).toEqual([]);
  });

  test('an object that is replaced between two ranges: an error, and no file', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeWheel(job, 20 * 1024 * 1024);
    bytes[bytes.length - 1_000_000]! ^= 1;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
      operation === 'get' && nth === 3 ? { after: bucket.put(job.key(W), bytes) } : undefined,
    );
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.log).toMatch(/was replaced/);
    expect(await readdir(job.dist)).toEqual([]);
  });
});

describe('case 74: a response that does not match the request: an error, and no file', () => {
  const MIB = 1024 * 1024;
  type Change = (response: Answer, range: string | undefined) => Answer;
  const withHeaders = (response: Answer, headers: Answer['headers']): Answer => ({
    ...response,
    headers: { ...response.headers, ...headers },
  });
  const changes: [title: string, change: Change, pattern: RegExp][] = [
    ['another ETag', (response) => withHeaders(response, { etag: '"other"' }), /was replaced/],
    [
      'another Content-Range',
      (response) => withHeaders(response, { 'content-range': `bytes 0-${8 * MIB - 1}/${20 * MIB}` }),
      /another range/,
    ],
    [
      'another size in the Content-Range',
      (response) =>
        withHeaders(response, {
          'content-range': String(response.headers['content-range']).replace(/[0-9]+$/, '9'),
        }),
      /another range/,
    ],
    [
      'no Content-Range',
      ({ headers: { 'content-range': _, ...headers }, ...response }) => ({ ...response, headers }),
      /another range/,
    ],
  ];

  describe.each([
    ['a wheel with a SHA-256', true],
    ['a wheel of the old layout', false],
  ])('%s', (_kind, hasSha) => {
    /** Puts a wheel of about 20 MiB, which is downloaded in three ranges. */
    async function putLarge(job: Job): Promise<Buffer> {
      if (hasSha) return storeWheel(job, 20 * MIB);
      const noise = { 'demo/noise.bin': new Uint8Array(20 * MIB) };
      const bytes = Buffer.from(wheelBytes(W, { files: noise, level: 0 }));
      await bucket.put(`${job.prefix}/${COMMIT}/${W}`, bytes);
      return bytes;
    }

    test.each(changes)('%s', async (_title, change, pattern) => {
      await using job = await startJob(bucket);
      await putLarge(job);
      await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, headers }) =>
        operation === 'get' && headers.range?.startsWith('bytes=8388608-')
          ? { change: (response) => change(response, headers.range) }
          : undefined,
      );
      const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
      expect(result.code).toBe(1);
      expect(result.errors).toEqual([expect.stringMatching(pattern)]);
      expect(await readdir(job.dist)).toEqual([]);
    });

    test('the whole object instead of a range', async () => {
      await using job = await startJob(bucket);
      const bytes = await putLarge(job);
      await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, headers }) =>
        operation === 'get' && headers.range?.startsWith('bytes=8388608-')
          ? {
              change: ({ headers: { 'content-range': _, ...headers } }) => ({
                status: 200,
                headers,
                body: bytes,
              }),
            }
          : undefined,
      );
      const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
      expect(result.code).toBe(1);
      expect(result.errors).toEqual([expect.stringMatching(/another range|more bytes/)]);
      expect(await readdir(job.dist)).toEqual([]);
    });

    test('an engine that ignores If-Match, and an object that was replaced', async () => {
      await using job = await startJob(bucket);
      const bytes = await putLarge(job);
      const key = hasSha ? job.key(W) : `${job.prefix}/${COMMIT}/${W}`;
      const { Metadata } = await bucket.head(key);
      const other = Buffer.from(bytes);
      other[other.length - 1_000_000]! ^= 1;
      await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
        operation === 'get'
          ? { without: ['if-match'], ...(nth === 3 ? { after: bucket.put(key, other, Metadata) } : {}) }
          : undefined,
      );
      const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
      expect(result.code).toBe(1);
      expect(result.errors).toEqual([expect.stringMatching(/was replaced/)]);
      expect(await readdir(job.dist)).toEqual([]);
    });
  });

  test('a small wheel, which comes in one response', async () => {
    await using job = await startJob(bucket);
    await storeWheel(job);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'get' ? { change: (response) => withHeaders(response, { etag: '"other"' }) } : undefined,
    );
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([expect.stringMatching(/was replaced/)]);
    expect(await readdir(job.dist)).toEqual([]);
  });

  test.each(['W/"same"', 'same'])('an ETag that a proxy rewrote (%s) is the same', async (form) => {
    await using job = await startJob(bucket);
    await storeWheel(job);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'get'
        ? {
            change: (response) =>
              withHeaders(response, {
                etag: form.replace('same', String(response.headers.etag).replaceAll('"', '')),
              }),
          }
        : undefined,
    );
    expect((await job.step('fetch', { 'endpoint-url': proxy.endpoint })).errors).toEqual([]);
  });
});

describe('the disk', () => {
  test('has less free space than the wheel needs: an error with both sizes, and no download', async () => {
    await using job = await startJob(bucket);
    await storeWheel(job);
    const size = 2 ** 52;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'head'
        ? {
            change: (response) => ({
              ...response,
              headers: { ...response.headers, 'content-length': String(size) },
            }),
          }
        : undefined,
    );
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toMatch(new RegExp(`${size} bytes.*\\d+ bytes free`));
    expect(proxy.operations()).toEqual(['list', 'head']);
  });

  test('path is a file: an error', async () => {
    await using job = await startJob(bucket);
    await storeWheel(job);
    await writeFile(join(job.workspace, 'file'), '');
    const result = await job.step('fetch', { path: 'file' });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain(join(job.workspace, 'file'));
  });
});

describe('the old layout has no SHA-256', () => {
  test('size and zip are checked, with a notice', async () => {
    await using job = await startJob(bucket);
    await bucket.put(`${job.prefix}/${COMMIT}/${W}`, wheelBytes(W));
    const result = await job.step('fetch');
    expect(result.errors).toEqual([]);
    expect(result.commands.filter(({ name }) => name === 'notice')[0]?.message).toMatch(/without a SHA-256/);
    expect(result.outputs).toMatchObject({ sha256: '', requirement: expect.not.stringContaining('#') });
    expect(await readdir(job.dist)).toEqual([W]);
  });

  test('a broken wheel is refused', async () => {
    await using job = await startJob(bucket);
    await bucket.put(`${job.prefix}/${COMMIT}/${W}`, wheelBytes(W).subarray(0, 300));
    const result = await job.step('fetch');
    expect(result.code).toBe(1);
    expect(await readdir(job.dist)).toEqual([]);
  });
});

test('case 54: ~ is the home folder', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  expect((await job.step('store')).errors).toEqual([]);
  const home = join(job.workspace, 'home');
  const fetched = await job.step('fetch', { path: '~/w' }, { HOME: home, USERPROFILE: home });
  expect(fetched.errors).toEqual([]);
  expect(fetched.outputs['wheel-path']).toBe(join(home, 'w', W));
});

test('case 54: the home folder of another user is refused', async () => {
  await using job = await startJob(bucket);
  const fetched = await job.step('fetch', { path: '~other/w' });
  expect(fetched.code).toBe(1);
  expect(fetched.errors[0]).toContain("'path'");
});
