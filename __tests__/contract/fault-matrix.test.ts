import { readdir } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import {
  type Fault,
  type Operation,
  type SeenRequest,
  s3Error,
  startFaultProxy,
} from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import type { ActionName, StepResult } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
/** How often the SDK tries a request. */
const TRIES = 5;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

const page = (body: string): Fault => ({ status: 200, body, headers: { 'content-type': 'text/html' } });
const XML = { 'content-type': 'application/xml' };

/** Transient faults: a retry succeeds. */
const transient: Record<string, Fault> = {
  '500': s3Error(500, 'InternalError'),
  '502 of a proxy': {
    status: 502,
    body: '<html>Bad gateway</html>',
    headers: { 'content-type': 'text/html' },
  },
  '503 SlowDown': s3Error(503, 'SlowDown'),
  '429': s3Error(429, 'TooManyRequestsException'),
  'a connection that is cut before the request reaches the server': { cut: 'before' },
  'a connection that is cut after the server processed the request': { cut: 'after' },
};

/** Permanent faults, what the error must match, and how often the request is tried. */
const permanent: Record<string, [fault: Fault, pattern: RegExp, tries: number]> = {
  '403': [s3Error(403, 'AccessDenied', 'Access Denied'), /s3:\w+ was refused/, 1],
  '400 ExpiredToken': [
    s3Error(400, 'ExpiredToken', 'The provided token has expired.'),
    /role-duration-seconds/,
    1,
  ],
  '403 InvalidAccessKeyId': [s3Error(403, 'InvalidAccessKeyId'), /InvalidAccessKeyId/, 1],
  '404 NoSuchBucket': [s3Error(404, 'NoSuchBucket'), /no bucket/, 1],
  '500 each time': [s3Error(500, 'InternalError'), /InternalError/, TRIES],
  '429 each time': [s3Error(429, 'TooManyRequestsException'), /TooManyRequests|429/, TRIES],
  'a connection that is always cut': [{ cut: 'before' }, /could not be reached/, TRIES],
  '400 with an unknown code': [s3Error(400, 'Strange', 'No idea.'), /Strange.*No idea\./, 1],
};

/** Runs an action through a proxy that causes `fault` in the requests for which `when` returns true. */
async function withFault(
  job: Job,
  action: ActionName,
  when: (seen: SeenRequest) => boolean,
  fault: Fault,
): Promise<{ result: StepResult; hit: number }> {
  let hit = 0;
  await using proxy = await startFaultProxy(bucket.endpoint, (seen) => {
    if (!when(seen)) return undefined;
    hit += 1;
    return fault;
  });
  const result = await job.step(action, {
    'endpoint-url': proxy.endpoint,
    ...(action === 'fetch' ? { path: 'new' } : {}),
  });
  return { result, hit };
}

/** The requests in which the faults occur. */
const requests: [name: string, action: ActionName, operation: Operation][] = [
  ['the listing of find', 'find', 'list'],
  ['the head of find', 'find', 'head'],
  ['the listing of fetch', 'fetch', 'list'],
  ['the download of fetch', 'fetch', 'get'],
  ['the listing of store', 'store', 'list'],
  ['the put of store', 'store', 'put'],
];

const isOf = (operation: Operation) => (seen: SeenRequest) =>
  seen.operation === operation && !seen.path.endsWith('.claim') && !seen.path.endsWith('index.html');

async function prepare(action: ActionName): Promise<Job> {
  const job = await startJob(bucket);
  await makeWheel(job.dist, W);
  if (action !== 'store') expect((await job.step('store', { index: 'false' })).errors).toEqual([]);
  return job;
}

describe.each(requests)('%s', (_name, action, operation) => {
  test.each(Object.entries(transient))('%s once: the step succeeds', async (_fault, fault) => {
    await using job = await prepare(action);
    const { result, hit } = await withFault(
      job,
      action,
      (seen) => isOf(operation)(seen) && seen.nth === 1,
      fault,
    );
    expect(hit).toBe(1);
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs).toMatchObject({
      'skip-build': action === 'store' ? 'false' : 'true',
      'wheel-name': W,
    });
    expect(await job.keys()).toEqual([job.key(W)]);
  });

  test.concurrent.each(Object.entries(permanent))(
    '%s: one error',
    async (_fault, [fault, pattern, tries]) => {
      await using job = await prepare(action);
      const { result, hit } = await withFault(job, action, isOf(operation), fault);
      const isHead = operation === 'head';
      const isMissing = isHead && 'status' in fault! && fault.status === 404;
      if (isMissing) {
        // The response to a head has no body: this 404 means that the wheel is gone.
        expect(result.outputs['skip-build']).toBe('false');
        return;
      }
      expect(result.code).toBe(1);
      expect(result.outputs['skip-build']).toBe('false');
      expect(result.errors).toHaveLength(1);
      // Without a body, it doesn't contain S3's error code either.
      if (!(isHead && 'status' in fault!)) expect(result.errors[0]).toMatch(pattern);
      expect(result.log).not.toMatch(/\n\s+at /);
      expect(hit).toBe(tries);
      expect(await readdir(job.workspace)).not.toContain('new/');
      expect(await readdir(`${job.workspace}/new`).catch(() => [])).toEqual([]);
      expect(await job.keys()).toEqual(action === 'store' ? [] : [job.key(W)]);
      expect(await bucket.openUploads()).toEqual([]);
    },
  );
});

describe('a wrong response', () => {
  const responses: [title: string, fault: Fault][] = [
    ['a web page', page('<!DOCTYPE html><html><body>Sign in</body></html>')],
    ['an empty page', page('')],
    ['broken XML', { status: 200, body: '<ListBucketResult><Contents><Key>a', headers: XML }],
    ['JSON', { status: 200, body: '{"ok":true}', headers: { 'content-type': 'application/json' } }],
    [
      'another kind of S3 response',
      {
        status: 200,
        body: '<?xml version="1.0"?><CopyObjectResult><ETag>"x"</ETag></CopyObjectResult>',
        headers: XML,
      },
    ],
    [
      'an entity bomb',
      {
        status: 200,
        headers: XML,
        body: `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "${'a'.repeat(1000)}">${Array.from({ length: 9 }, (_, level) => `<!ENTITY b${level} "${(level === 0 ? '&a;' : `&b${level - 1};`).repeat(10)}">`).join('')}]><ListBucketResult><Name>&b8;</Name></ListBucketResult>`,
      },
    ],
  ];
  test.each(responses)('%s to a listing: an error, not an empty store', async (_title, fault) => {
    await using job = await prepare('find');
    const { result } = await withFault(job, 'find', isOf('list'), fault);
    expect(result.code).toBe(1);
    expect(result.outputs).toEqual({ 'skip-build': 'false' });
    expect(result.errors).toHaveLength(1);
    expect(result.errors[0]).not.toContain('defect');
  });

  test('a page of 400,000 keys, though S3 sends at most 1,000: an error, not "not stored"', async () => {
    await using job = await prepare('find');
    const entry = '<Contents><Key>KEY</Key><Size>1</Size><ETag>"x"</ETag></Contents>';
    const filler = Array.from({ length: 400_000 }, (_, index) =>
      entry.replace('KEY', `${job.prefix}/${index}`),
    ).join('');
    const body = `<?xml version="1.0"?><ListBucketResult><Name>n</Name><IsTruncated>false</IsTruncated>${filler}</ListBucketResult>`;
    const { result } = await withFault(job, 'find', isOf('list'), { status: 200, body, headers: XML });
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('more data than any S3 response has')]);
  });
});

describe('an endless listing', () => {
  const page = (keys: string[], next: string) =>
    `<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>${keys.map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`).join('')}</ListBucketResult>`;
  const endless: [title: string, pageOf: (nth: number) => string, most: number][] = [
    ['with the same token each time', () => page(['a'], 'same'), 2],
    ['with the same keys under new tokens', (nth) => page(['a'], String(nth)), 2],
    ['of empty pages', (nth) => page([], String(nth)), 101],
    ['with another key each time', (nth) => page([`k${nth}`], String(nth)), 1000],
  ];
  test.each(endless)('%s ends in an error', async (_title, pageOf, most) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ nth }) => ({
      status: 200,
      body: pageOf(nth),
      headers: XML,
    }));
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('does not end')]);
    expect(proxy.requests).toHaveLength(most);
  });
});

/** The wheel is already stored, so if its index page fails, the step succeeds with a warning. */
describe.each([
  ['the get of the index page', 'get'],
  ['the listing for the index page', 'list'],
  ['the put of the index page', 'put'],
] as const)('%s', (_name, operation) => {
  const isOfPage = ({ operation: met, path, nth, url }: SeenRequest) =>
    met === operation &&
    (operation === 'list' ? nth > 2 && !url.includes('delimiter') : path.endsWith('index.html'));

  test.each(Object.entries(transient))('%s once: the step succeeds', async (_fault, fault) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    let isMet = false;
    const { result } = await withFault(
      job,
      'store',
      (seen) => {
        const isNow = !isMet && isOfPage(seen);
        isMet ||= isNow;
        return isNow;
      },
      fault,
    );
    expect(isMet).toBe(true);
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    const page = await job.page();
    expect(page).toContain(`7_1/${W}#sha256=`);
  });

  test.concurrent.each(Object.entries(permanent))(
    '%s: stored, with a warning',
    async (_fault, [fault, pattern, tries]) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W);
      const { result, hit } = await withFault(job, 'store', isOfPage, fault);
      expect(result).toMatchObject({ code: 0, errors: [] });
      expect(result.outputs).toMatchObject({ 'skip-build': 'false', 'wheel-name': W });
      expect(result.warnings).toEqual([expect.stringContaining('The wheel is stored')]);
      expect(result.warnings[0]).toMatch(pattern);
      expect(result.outputs['index-url']).toBe('');
      // There are two pages, which are read and put at the same time.
      expect(hit).toBeLessThanOrEqual(operation === 'list' ? tries : 2 * tries);
      expect(await job.keys()).toEqual([job.key(W)]);
    },
  );
});

test('one page that cannot be read while the other hangs: the step ends, and sends nothing more', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  const { promise: hasHung, resolve: hangs } = Promise.withResolvers<void>();
  await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path }) => {
    if (operation !== 'get') return undefined;
    if (path.endsWith('/demo/index.html')) {
      hangs();
      return { stallAt: 0 };
    }
    return { after: hasHung, ...s3Error(403, 'AccessDenied') };
  });
  const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
  expect(result).toMatchObject({ code: 0, errors: [] });
  expect(result.warnings).toEqual([expect.stringContaining('The wheel is stored')]);
  expect(proxy.operations().filter((operation) => operation === 'get')).toHaveLength(2);
});

describe('a download with wrong content', () => {
  test.each([
    ['shorter than the wheel', (body: Buffer) => body.subarray(0, -10)],
    ['longer than the wheel', (body: Buffer) => Buffer.concat([body, Buffer.from('more')])],
    ['of the right length with other bytes', (body: Buffer) => Buffer.alloc(body.length)],
  ])('%s: no file remains', async (_title, change) => {
    await using job = await prepare('fetch');
    const { result } = await withFault(job, 'fetch', isOf('get'), {
      change: (response) => ({ ...response, body: change(response.body) }),
    });
    expect(result.code).toBe(1);
    expect(result.errors).toHaveLength(1);
    expect(await readdir(`${job.workspace}/new`)).toEqual([]);
  });
});
