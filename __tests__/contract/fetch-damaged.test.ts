/** Downloads whose content or headers are not those of the stored wheel. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Answer, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob, storeNoise } from '../../testing/job.ts';
import { wheelBytes } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('the download is not what was stored', () => {
  test('other bytes: an error that warns against using it, and no file', async () => {
    await using job = await startJob(bucket);
    const bytes = await storeNoise(job);
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
    const bytes = await storeNoise(job);
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
    await storeNoise(job);
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
    const bytes = await storeNoise(job, 20 * 1024 * 1024);
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
      if (hasSha) return storeNoise(job, 20 * MIB);
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
    await storeNoise(job);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'get' ? { change: (response) => withHeaders(response, { etag: '"other"' }) } : undefined,
    );
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([expect.stringMatching(/was replaced/)]);
    expect(await readdir(job.dist)).toEqual([]);
  });

  test.each(['W/"same"', 'same'])('an ETag that a proxy rewrote (%s) is the same', async (form) => {
    await using job = await startJob(bucket);
    await storeNoise(job);
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
