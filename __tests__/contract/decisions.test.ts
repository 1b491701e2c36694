/** Decisions that matter only at a certain moment. Each of them could once be undone without a failing test. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { isMarker, type SeenRequest, s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, startJob } from '../../testing/job.ts';
import { makeWheel, sha256, wheelBytes } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

const isPutOfWheel = (seen: SeenRequest) =>
  seen.operation === 'put' && seen.path.endsWith('.whl') && !isMarker(seen);

describe('store looks again after its put', () => {
  test('another wheel was put into the slot meanwhile: an error, and its own wheel is removed', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const rival = job.key('demo-2.0-py3-none-any.whl');
    await using proxy = await startFaultProxy(bucket.endpoint, (seen) =>
      isPutOfWheel(seen) ? { answerAfter: bucket.put(rival, 'wheel') } : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('demo-2.0-py3-none-any.whl');
    expect(await job.keys()).toEqual([rival]);
  });

  test('that look is refused: an error, and its own wheel is removed', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
      operation === 'list' && nth === 2 ? s3Error(403, 'AccessDenied') : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.errors[0]).toContain('s3:ListBucket');
    expect(await job.keys()).toEqual([]);
  });

  test('other bytes are there after the put: an error, and they remain', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const others = wheelBytes(W, { metadata: ['Summary: another'] });
    await using proxy = await startFaultProxy(bucket.endpoint, (seen) =>
      isPutOfWheel(seen) ? { answerAfter: bucket.put(job.key(W), others) } : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(Buffer.compare(await bucket.get(job.key(W)), others)).toBe(0);
  });
});

test('a failed step does not remove an object that another step put at the same key', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  const bytes = wheelBytes(W);
  const metadata = { sha256: sha256(bytes), 'put-id': 'of-another-step' };
  let put: Promise<void> | undefined;
  await using proxy = await startFaultProxy(bucket.endpoint, (seen) => {
    if (seen.operation === 'head' && put !== undefined) return { after: put };
    if (!isPutOfWheel(seen)) return undefined;
    put ??= bucket.put(job.key(W), bytes, metadata);
    return s3Error(500, 'InternalError');
  });
  const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
  await put;
  expect(result.code).toBe(1);
  expect((await bucket.head(job.key(W))).Metadata).toMatchObject(metadata);
});

test('an index page is replaced only if it is still the one that was read', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  expect((await job.step('store', { target: 'a' })).errors).toEqual([]);
  await using proxy = await startFaultProxy(bucket.endpoint);
  expect((await job.step('store', { target: 'b', 'endpoint-url': proxy.endpoint })).errors).toEqual([]);
  const puts = proxy.requests.filter(
    ({ operation, path }) => operation === 'put' && path.endsWith(`/${COMMIT}/index.html`),
  );
  expect(puts).toHaveLength(1);
  expect(puts[0]?.headers['if-match']).toMatch(/^"?[0-9a-f]{32}/);
});

test('the signature and session token of a presigned URL are masked, plain and URL-encoded', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  await job.step('store');
  const session = 'session/token+of=this==';
  // The test server doesn't support session tokens, so the proxy removes them.
  await using proxy = await startFaultProxy(bucket.endpoint, () => ({ without: ['x-amz-security-token'] }));
  const inputs = { presign: '900', 'endpoint-url': proxy.endpoint };
  const result = await job.step('find', inputs, { AWS_SESSION_TOKEN: session });
  expect(result.errors).toEqual([]);
  const url = new URL(result.outputs['wheel-url']!);
  expect(url.searchParams.get('X-Amz-Security-Token')).toBe(session);
  const masked = result.commands.filter(({ name }) => name === 'add-mask').map(({ message }) => message);
  const signature = url.searchParams.get('X-Amz-Signature');
  expect(masked).toEqual(expect.arrayContaining([signature, session, encodeURIComponent(session)]));
});

test('the process that talks to the Actions cache gets neither AWS credentials nor inputs', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  await job.step('store');
  const report = join(job.workspace, 'names.json');
  const spy = join(job.workspace, 'spy.cjs');
  await writeFile(
    spy,
    `if (process.argv[1]?.endsWith('cache.js')) require('node:fs').writeFileSync(${JSON.stringify(report)}, JSON.stringify(Object.keys(process.env)));`,
  );
  const env = { NODE_OPTIONS: `--require "${spy.replaceAll('\\', '/')}"` };
  const result = await job.step('fetch', { path: 'new', cache: 'true' }, env);
  expect(result.errors).toEqual([]);
  const names: string[] = JSON.parse(await readFile(report, 'utf8'));
  expect(names).toContain('GITHUB_RUN_ID');
  expect(names.filter((name) => /^(AWS|INPUT)_/i.test(name))).toEqual([]);
});

test('a file of the same name and size with other bytes is replaced', async () => {
  await using job = await startJob(bucket);
  const bytes = await readFile(await makeWheel(job.dist, W));
  await job.step('store');
  const path = join(job.workspace, 'new', W);
  await mkdir(dirname(path));
  await writeFile(path, Buffer.alloc(bytes.length));
  const result = await job.step('fetch', { path: 'new' });
  expect(result.errors).toEqual([]);
  expect(await readFile(path)).toEqual(bytes);
});
