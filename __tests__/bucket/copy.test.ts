import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Bucket } from '../../src/bucket/bucket.ts';
import { openBucket } from '../../src/bucket/client.ts';
import { type Copy, copyObject } from '../../src/bucket/copy.ts';
import { WheelStoreError } from '../../src/errors.ts';
import { SETTINGS } from '../../testing/answering-bucket.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Fault, type SeenRequest, s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { type S3Server, startS3Server } from '../../testing/s3-server.ts';

const MIB = 1024 * 1024;
const SMALL = randomBytes(1000);
/** Above the limit of a single put: three parts. */
const LARGE = randomBytes(20 * MIB);
const IN_STORE = { outcome: 'created', proof: 'etag', route: 'in the store' };
const THROUGH_MEMORY = { outcome: 'created', proof: 'sha256', route: 'through memory' };
const TAKEN = { outcome: 'taken' };
const NOT_IMPLEMENTED = s3Error(501, 'NotImplemented');

let server: S3Server;
let here: TestBucket;
let there: TestBucket;
beforeAll(async () => {
  // The server of all tests, except in a run of the unit tests only.
  server = await startS3Server();
  process.env.WHEEL_STORE_TEST_ENDPOINT = server.endpoint;
  process.env.WHEEL_STORE_TEST_REGION = server.region;
  process.env.WHEEL_STORE_TEST_ACCESS_KEY_ID = server.accessKeyId;
  process.env.WHEEL_STORE_TEST_SECRET_ACCESS_KEY = server.secretAccessKey;
  [here, there] = await Promise.all([makeBucket(), makeBucket()]);
  Object.assign(process.env, here.env);
});
afterAll(() => server.stop());

/** What a test changes. */
interface Case {
  readonly to?: TestBucket;
  readonly endpoint?: string;
  readonly body?: Buffer;
  readonly from?: string;
  readonly over?: Partial<Copy>;
  /** Whether the bucket claims to be AWS. */
  readonly isAws?: boolean;
}

/** Puts a source, and copies it to a key that no other test uses. */
async function run({ to = there, endpoint = here.endpoint, body = SMALL, isAws, ...rest }: Case = {}) {
  const [key, from] = [`copies/${randomUUID()}+1 x.whl`, rest.from ?? `sources/${randomUUID()}+1 x.whl`];
  const putId = randomUUID();
  await here.put(from, body, { 'put-id': 'of the source', old: 'yes' });
  const { ETag = '' } = await here.head(from);
  const settings = {
    ...SETTINGS,
    endpoint,
    region: server.region,
    anonymous: false,
    hasEnvironmentKeys: true,
  };
  const open = async (name: string): Promise<Bucket> => {
    const bucket = await openBucket({ ...settings, name });
    return isAws === true ? { ...bucket, honoursConditions: true } : bucket;
  };
  const [source, destination] = await Promise.all([open(here.name), open(to.name)]);
  const warnings: string[] = [];
  const copy: Copy = {
    from: source,
    source: { key: from, size: body.length, etag: ETag, lastModified: undefined },
    sha256: createHash('sha256').update(body).digest('hex'),
    key,
    contentType: 'application/zip',
    cacheControl: 'no-cache',
    metadata: { 'put-id': putId, sha256: 'new' },
    signal: new AbortController().signal,
    warn: (text) => warnings.push(text),
    ...rest.over,
  };
  const close = () => [source, destination].map((bucket) => bucket.close());
  const result = await copyObject(destination, copy)
    .finally(close)
    .catch((error: unknown) => ({ error }));
  return { result, key: copy.key, putId, warnings };
}

type Rule = (seen: SeenRequest) => Fault;

/** The same through a proxy that injects faults. */
async function runWith(rule: Rule, over: Case = {}) {
  await using proxy = await startFaultProxy(here.endpoint, rule);
  return { ...(await run({ ...over, endpoint: proxy.endpoint })), requests: proxy.requests };
}

const isCopy = ({ headers }: SeenRequest) => headers['x-amz-copy-source'] !== undefined;
const refuseCopies: Rule = (seen) => (isCopy(seen) ? NOT_IMPLEMENTED : undefined);

async function expectCopy(key: string, body: Buffer, putId: string, bucket = there) {
  expect((await bucket.get(key)).equals(body)).toBe(true);
  expect(await bucket.head(key)).toMatchObject({
    ContentType: 'application/zip',
    CacheControl: 'no-cache',
    Metadata: { 'put-id': putId, sha256: 'new' },
  });
  expect((await bucket.head(key)).Metadata).not.toHaveProperty('old');
}

async function expectNothing({ key, warnings }: { key: string; warnings: string[] }) {
  expect(await there.keys(key)).toEqual([]);
  expect(await there.openUploads()).toEqual([]);
  expect(warnings).toEqual([]);
}

describe('the store copies', () => {
  test('into another bucket, with other metadata', async () => {
    const { result, key, putId } = await run();
    expect(result).toEqual(IN_STORE);
    await expectCopy(key, SMALL, putId);
  });

  test('within one bucket', async () => {
    const { result, key, putId } = await run({ to: here });
    expect(result).toEqual(IN_STORE);
    await expectCopy(key, SMALL, putId, here);
  });

  test('in parts, if the object is too large for one request', async () => {
    const over = { maxSingleBytes: 8 * MIB };
    const { result, key, putId, requests } = await runWith(() => undefined, { body: LARGE, over });
    expect(result).toEqual({ ...IN_STORE, proof: 'size' });
    await expectCopy(key, LARGE, putId);
    const ranges = requests.map(({ headers }) => headers['x-amz-copy-source-range']);
    expect(ranges.filter((range) => range !== undefined).sort()).toEqual([
      'bytes=0-8388607',
      'bytes=16777216-20971519',
      'bytes=8388608-16777215',
    ]);
  });

  test('an object without an ETag in the listing', async () => {
    const source = { key: `sources/${randomUUID()}`, size: SMALL.length, etag: '', lastModified: undefined };
    const { result, key, putId } = await run({ from: source.key, over: { source } });
    expect(result).toEqual({ ...IN_STORE, proof: 'size' });
    await expectCopy(key, SMALL, putId);
  });

  test('and computes the SHA-256, on AWS', async () => {
    const { result, requests } = await runWith(withChecksum(SMALL), { isAws: true });
    expect(result).toEqual({ ...IN_STORE, proof: 'sha256' });
    expect(requests.map(({ operation }) => operation)).toEqual(['put']);
    expect(requests[0]!.headers['x-amz-checksum-algorithm']).toBe('SHA256');
  });

  test('but the SHA-256 is another: removed', async () => {
    const done = await runWith(withChecksum(LARGE), { isAws: true });
    expect(done.result).toMatchObject({ error: { title: 'Checksum mismatch' } });
    await expectNothing(done);
  });

  test('but the size is another: removed', async () => {
    const done = await runWith(({ operation, nth }) =>
      operation === 'head' && nth === 2 ? { change: withLength('999') } : undefined,
    );
    expect(done.result).toMatchObject({ error: { title: 'Checksum mismatch' } });
    await expectNothing(done);
  });
});

/** Adds the SHA-256 of `body` to the response to a copy, as AWS does. */
function withChecksum(body: Buffer): Rule {
  const checksum = createHash('sha256').update(body).digest('base64');
  const change = (document: string) =>
    document.replace('</ETag>', `</ETag><ChecksumSHA256>${checksum}</ChecksumSHA256>`);
  return (seen) =>
    isCopy(seen)
      ? { change: (answer) => ({ ...answer, body: Buffer.from(change(answer.body.toString())) }) }
      : undefined;
}

function withLength(length: string) {
  return (answer: Parameters<Extract<Fault, { change: unknown }>['change']>[0]) => ({
    ...answer,
    headers: { ...answer.headers, 'content-length': length },
  });
}

describe('there already is an object with the key', () => {
  const SHORTCUT: Rule = ({ operation, nth }) =>
    operation === 'head' && nth === 1 ? s3Error(404, 'NotFound') : undefined;
  const both =
    (first: Rule): Rule =>
    (seen) =>
      SHORTCUT(seen) ?? first(seen);

  test.each<[title: string, rule: Rule, body: Buffer, maxSingleBytes: number]>([
    ['in one request', () => undefined, SMALL, MIB],
    ['in one request, put after we looked', SHORTCUT, SMALL, MIB],
    ['in parts, put after we looked', SHORTCUT, LARGE, 8 * MIB],
    ['through memory, put after we looked', both(refuseCopies), SMALL, MIB],
    ['through memory in parts, put after we looked', both(refuseCopies), LARGE, 8 * MIB],
  ])('%s: taken, and unchanged', async (_title, rule, body, maxSingleBytes) => {
    const key = `taken/${randomUUID()}`;
    await there.put(key, 'theirs', { 'put-id': 'theirs' });
    const { result, warnings } = await runWith(rule, { body, over: { key, maxSingleBytes } });
    expect(result).toEqual(TAKEN);
    expect((await there.get(key)).toString()).toBe('theirs');
    expect(await there.openUploads()).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test('put between the copy and the check, in a store without conditions: taken, and unchanged', async () => {
    const key = `taken/${randomUUID()}`;
    const overwrite = async () => there.put(key, 'theirs', { 'put-id': 'theirs' });
    const { result } = await runWith((seen) => (isCopy(seen) ? { answerAfter: overwrite } : undefined), {
      over: { key },
    });
    expect(result).toEqual(TAKEN);
    expect((await there.get(key)).toString()).toBe('theirs');
  });
});

describe('the source', () => {
  test.each<[title: string, rule: Rule, body: Buffer, maxSingleBytes: number]>([
    ['in one request', () => undefined, SMALL, MIB],
    ['in parts', () => undefined, LARGE, 8 * MIB],
    ['through memory', refuseCopies, SMALL, MIB],
    ['through memory in parts', refuseCopies, LARGE, 8 * MIB],
  ])('was replaced, %s: nothing is left', async (_title, rule, body, maxSingleBytes) => {
    const key = `sources/${randomUUID()}`;
    const source = {
      key,
      size: body.length,
      etag: '"0123456789abcdef0123456789abcdef"',
      lastModified: undefined,
    };
    const done = await runWith(rule, { from: key, body, over: { source, maxSingleBytes } });
    expect(done.result).toMatchObject({ error: { title: 'Wheel changed in the store' } });
    await expectNothing(done);
  });

  test('was deleted: nothing is left', async () => {
    const source = { key: 'none', size: SMALL.length, etag: '', lastModified: undefined };
    const done = await run({ over: { source } });
    expect(done.result).toMatchObject({ error: { title: 'Wheel changed in the store' } });
    await expectNothing(done);
  });

  test('has an ETag that the store does not recognize: through memory', async () => {
    const mismatch = s3Error(412, 'PreconditionFailed');
    const { result, key, putId } = await runWith((seen) => (isCopy(seen) ? mismatch : undefined));
    expect(result).toEqual(THROUGH_MEMORY);
    await expectCopy(key, SMALL, putId);
  });
});

describe('the store does not copy', () => {
  test.each<[title: string, body: Buffer, maxSingleBytes: number]>([
    ['an empty object', Buffer.alloc(0), MIB],
    ['a small object', SMALL, MIB],
    ['a large object', LARGE, 32 * MIB],
    ['a large object in parts', LARGE, 8 * MIB],
  ])('%s: through memory', async (_title, body, maxSingleBytes) => {
    const { result, key, putId } = await runWith(refuseCopies, { body, over: { maxSingleBytes } });
    expect(result).toEqual(THROUGH_MEMORY);
    await expectCopy(key, body, putId);
    expect(await there.openUploads()).toEqual([]);
  });

  test.each([
    [405, 'MethodNotAllowed', ''],
    [400, 'InvalidRequest', 'Unsupported header x-amz-copy-source'],
  ])('and says so with %d %s: through memory', async (status, code, message) => {
    const refusal = s3Error(status, code, message);
    const { result, key, putId } = await runWith((seen) => (isCopy(seen) ? refusal : undefined));
    expect(result).toEqual(THROUGH_MEMORY);
    await expectCopy(key, SMALL, putId);
  });

  test.each([
    ['a small object', SMALL],
    ['a large object', LARGE],
  ])('%s with another SHA-256: nothing is left', async (_title, body) => {
    const done = await runWith(refuseCopies, { body, over: { sha256: '0'.repeat(64) } });
    expect(done.result).toMatchObject({ error: { title: 'Checksum mismatch' } });
    await expectNothing(done);
  });

  test('a range breaks off: resumed', async () => {
    const { result, key, putId, requests } = await runWith(
      (seen) =>
        refuseCopies(seen) ?? (seen.operation === 'get' && seen.nth === 2 ? { cutAt: 3 * MIB } : undefined),
      { body: LARGE },
    );
    expect(result).toEqual(THROUGH_MEMORY);
    await expectCopy(key, LARGE, putId);
    expect(requests.filter(({ operation }) => operation === 'get')).toHaveLength(4);
  });

  test('and keeps the metadata of the source: overwritten through memory', async () => {
    const { result, key, putId } = await runWith((seen) =>
      isCopy(seen) ? { without: ['x-amz-metadata-directive'] } : undefined,
    );
    expect(result).toEqual(THROUGH_MEMORY);
    await expectCopy(key, SMALL, putId);
  });
});

describe('the store rejects conditions', () => {
  const REFUSE: Rule = ({ headers }) =>
    headers['if-none-match'] === undefined ? undefined : NOT_IMPLEMENTED;

  test.each<[title: string, rule: Rule, result: object]>([
    ['copied without them', REFUSE, IN_STORE],
    ['copied through memory without them', (seen) => REFUSE(seen) ?? refuseCopies(seen), THROUGH_MEMORY],
  ])('%s', async (_title, rule, expected) => {
    const { result, key, putId } = await runWith(rule);
    expect(result).toEqual(expected);
    await expectCopy(key, SMALL, putId);
  });

  test('there is an object by then: taken', async () => {
    const key = `taken/${randomUUID()}`;
    const put = there.put(key, 'theirs', { 'put-id': 'theirs' });
    const { result } = await runWith(
      (seen) =>
        seen.operation === 'head' && seen.nth === 1
          ? { ...s3Error(404, 'NotFound'), after: put }
          : REFUSE(seen),
      { over: { key } },
    );
    expect(result).toEqual(TAKEN);
    expect((await there.get(key)).toString()).toBe('theirs');
  });
});

describe('a request for a copy', () => {
  test.each([['before'], ['after']] as const)('is cut %s the store processed it: copied', async (cut) => {
    const { result, key, putId } = await runWith((seen) =>
      isCopy(seen) && seen.nth === 1 ? { cut } : undefined,
    );
    expect(result).toEqual(IN_STORE);
    await expectCopy(key, SMALL, putId);
  });

  test('the completion of a copy in parts loses its response: copied', async () => {
    const { result, key, putId } = await runWith(
      ({ operation, nth }) => (operation === 'complete' && nth === 1 ? { cut: 'after' } : undefined),
      { body: LARGE, over: { maxSingleBytes: 8 * MIB } },
    );
    expect(result).toEqual({ ...IN_STORE, proof: 'size' });
    await expectCopy(key, LARGE, putId);
    expect(await there.openUploads()).toEqual([]);
  });

  test.each<[title: string, fault: Fault, isAws?: boolean]>([
    ['fails each time', s3Error(500, 'InternalError')],
    ['fails after a status of 200', s3Error(200, 'InternalError')],
    ['fails after a status of 200, with whitespace after the document', lateError(), true],
    ['loses each response', { cut: 'after' }],
  ])('%s: nothing is left', async (_title, fault, isAws = false) => {
    const done = await runWith((seen) => (isCopy(seen) ? fault : undefined), { isAws });
    expect(done.result).toMatchObject({ error: expect.any(WheelStoreError) });
    await expectNothing(done);
  });

  test('fails each time for a part: nothing is left', async () => {
    const done = await runWith(
      (seen) => (isCopy(seen) && seen.nth > 1 ? s3Error(500, 'InternalError') : undefined),
      { body: LARGE, over: { maxSingleBytes: 8 * MIB } },
    );
    expect(done.result).toMatchObject({ error: { title: 'Store is failing' } });
    await expectNothing(done);
  });

  test('conflicts with another: retried', async () => {
    const { result, key, putId } = await runWith((seen) =>
      isCopy(seen) && seen.nth === 1 ? s3Error(409, 'ConditionalRequestConflict') : undefined,
    );
    expect(result).toEqual(IN_STORE);
    await expectCopy(key, SMALL, putId);
  });

  test('is denied: the remedy names both permissions, and nothing is cleaned up', async () => {
    const from = `sources/${randomUUID()}`;
    const { result, requests } = await runWith(
      (seen) => (isCopy(seen) ? s3Error(403, 'AccessDenied', 'Access Denied') : undefined),
      { from },
    );
    const remedy = expect.stringMatching(
      `^Allow s3:PutObject on .* The copy needs s3:GetObject on s3://${here.name}/${from} as well\\.$`,
    );
    expect(result).toMatchObject({ error: { title: 'Access denied', remedy } });
    expect(requests.map(({ operation }) => operation)).toEqual(['head', 'put']);
  });

  test('succeeds, but neither the check nor the clean-up: a warning', async () => {
    const { result, key, warnings } = await runWith(({ operation, nth }) =>
      operation === 'head' && nth > 1 ? { status: 403 } : undefined,
    );
    expect(result).toMatchObject({ error: { title: 'Access denied' } });
    expect(warnings).toEqual([expect.stringContaining(`The copy that this step put at ${key} could not be`)]);
  });
});

function lateError(): Fault {
  const error = s3Error(200, 'InternalError');
  return { ...error, body: `${error.body}\n                 ` };
}

describe('the job is cancelled', () => {
  const never = new Promise<never>(() => undefined);

  test.each<[title: string, body: Buffer, rule: (cancel: () => Promise<void>) => Rule]>([
    [
      'while the store copies',
      SMALL,
      (cancel) => (seen) => (isCopy(seen) ? { answerAfter: cancel } : undefined),
    ],
    [
      'while the store copies, which it never reports',
      SMALL,
      (cancel) => (seen) => (isCopy(seen) ? { answerAfter: () => cancel().then(() => never) } : undefined),
    ],
    [
      'while the store copies parts',
      LARGE,
      (cancel) => (seen) => (isCopy(seen) && seen.nth === 2 ? { answerAfter: cancel } : undefined),
    ],
    [
      'while parts are sent',
      LARGE,
      (cancel) => (seen) =>
        refuseCopies(seen) ?? (seen.bytes === 4 * MIB ? { answerAfter: cancel } : undefined),
    ],
  ])('%s: nothing is left', async (_title, body, rule) => {
    const job = new AbortController();
    const cancel = async () => job.abort();
    const over = { maxSingleBytes: 8 * MIB, signal: job.signal };
    const done = await runWith(rule(cancel), { body, over });
    expect(done.result).toMatchObject({ error: { name: 'AbortError' } });
    await expectNothing(done);
  });
});
