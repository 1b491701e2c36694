import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { listingPage } from '../../testing/listing-pages.ts';
import { startLocalServer } from '../../testing/local-server.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const MIB = 1024 * 1024;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** A store that lists `count` objects in pages of 1,000, returns a head for each, and accepts every put and delete. */
async function startLister(count: number, keyOf: (index: number) => string) {
  let pages = 0;
  const respond = (incoming: IncomingMessage, response: ServerResponse) => {
    if (incoming.method === 'HEAD') return response.writeHead(200, { 'content-length': '1000' }).end();
    if (incoming.method !== 'GET') return incoming.resume().on('end', () => response.writeHead(200).end());
    pages += 1;
    const body = listingPage(incoming.url ?? '', { count, keyOf, size: 1000 });
    return response.writeHead(200, { 'content-type': 'application/xml' }).end(body);
  };
  return { ...(await startLocalServer(respond)), pages: () => pages };
}

/** A server that responds to every request with `size` bytes of XML, as fast as the client reads them. */
async function startEndless(status: number, size: number) {
  let sent = 0;
  const chunk = Buffer.alloc(64 * 1024, '<a>');
  const respond = async (_incoming: IncomingMessage, response: ServerResponse) => {
    const length = Number.isFinite(size) ? { 'content-length': String(size) } : {};
    response.writeHead(status, { 'content-type': 'application/xml', ...length });
    for (let rest = size; rest > 0 && !response.destroyed; rest -= chunk.length) {
      sent += chunk.length;
      if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    response.end();
  };
  return { ...(await startLocalServer(respond)), sent: () => sent };
}

/** A heap that is large enough for a few pages of a listing, but not for all. */
const SMALL_HEAP = { NODE_OPTIONS: '--max-old-space-size=48' };

describe('case 75: listings larger than that of any real commit', () => {
  const folder = (job: Job) => `${job.prefix}/${COMMIT}`;

  test('100,000 objects that are not wheels: the wheel among them is found, and the others are not kept', async () => {
    await using job = await startJob(bucket);
    const long = 'x'.repeat(300);
    await using lister = await startLister(100_000, (index) =>
      index === 99_999 ? `${folder(job)}/7_1/${W}` : `${folder(job)}/7_1/${long}${index}.txt`,
    );
    const result = await job.step('find', { 'endpoint-url': lister.url }, SMALL_HEAP);
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs['wheel-key']).toBe(`${folder(job)}/7_1/${W}`);
    expect(lister.pages()).toBe(100);
  });

  test('10,000 wheels of other runs: the newest is found', async () => {
    await using job = await startJob(bucket);
    await using lister = await startLister(10_000, (index) => `${folder(job)}/${index + 1}_1/${W}`);
    const result = await job.step('find', { 'endpoint-url': lister.url });
    expect(result.outputs['wheel-key']).toBe(`${folder(job)}/10000_1/${W}`);
  });

  test.each(['find', 'store'] as const)('100,000 wheels in one slot, %s: an error', async (action) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using lister = await startLister(
      100_000,
      (index) => `${folder(job)}/7_1/demo-1.${index}-py3-none-any.whl`,
    );
    const result = await job.step(action, { 'endpoint-url': lister.url }, SMALL_HEAP);
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('more than 20000 wheels')]);
    expect(lister.pages()).toBeLessThanOrEqual(25);
  });
});

describe('case 75: endless responses', () => {
  const xml = { 'content-type': 'application/xml' };

  const TOO_LARGE = 'more data than any S3 response has';
  test.each([
    ['a listing of 200 MB', 200, 200 * MIB, TOO_LARGE],
    ['an endless listing without a length', 200, Number.POSITIVE_INFINITY, TOO_LARGE],
    ['an error document of 200 MB', 403, 200 * MIB, 'not an S3 response'],
  ])('%s: an error before all of it is read', async (_title, status, size, text) => {
    await using job = await startJob(bucket);
    await using endless = await startEndless(status, size);
    const result = await job.step('find', { 'endpoint-url': endless.url }, SMALL_HEAP);
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining(text)]);
    expect(endless.sent()).toBeLessThan(100 * MIB);
  });

  test('an error document of 1 MB: a short annotation', async () => {
    await using job = await startJob(bucket);
    const body = `<Error><Code>AccessDenied</Code><Message>${'no '.repeat(350_000)}</Message></Error>`;
    await using proxy = await startFaultProxy(bucket.endpoint, () => ({ status: 403, body, headers: xml }));
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors).toHaveLength(1);
    expect(result.errors[0]!.length).toBeLessThan(2_000);
  });

  test('an index page of 80 MB is replaced without being read', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'get' ? { status: 200, body: '<a>'.repeat(20 * MIB) } : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint }, SMALL_HEAP);
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.warnings).toEqual([]);
    const page = await job.page();
    expect(page).toContain(W);
  });

  test('a continuation token that is longer than any key', async () => {
    await using job = await startJob(bucket);
    let nth = 0;
    await using proxy = await startFaultProxy(bucket.endpoint, () => {
      nth += 1;
      const token = `${nth}${'t'.repeat(MIB)}`;
      const body = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken></ListBucketResult>`;
      return { status: 200, body, headers: xml };
    });
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([expect.stringContaining('does not end')]);
    expect(proxy.requests).toHaveLength(1);
  });
});
