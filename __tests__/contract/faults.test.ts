import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ACTION_NAMES } from '../../scripts/actions.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type SeenRequest, s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import type { ActionName, StepResult } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const LARGE = { files: { 'demo/noise.bin': new Uint8Array(40 * 1024 * 1024) }, level: 0 } as const;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('store, when the put', () => {
  test('gets 503 once: stored', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path, nth }) =>
      operation === 'put' && path.endsWith('.whl') && nth === 1 ? s3Error(503, 'SlowDown') : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    expect(await job.keys()).toEqual([job.key(W)]);
  });

  test('gets 503 each time: five tries, and SlowDown in the error', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path }) =>
      operation === 'put' && path.endsWith('.whl')
        ? s3Error(503, 'SlowDown', 'Please reduce your request rate.')
        : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toMatch(/SlowDown/);
    expect(proxy.operations().filter((operation) => operation === 'put')).toHaveLength(5);
    expect(await job.keys()).toEqual([]);
  });

  test.each([['before'], ['after']] as const)(
    'loses its connection %s the server processed it: stored',
    async (cut) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W);
      await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path, nth }) =>
        operation === 'put' && path.endsWith('.whl') && nth === 1 ? { cut } : undefined,
      );
      const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
      expect(result.errors).toEqual([]);
      expect(result.outputs['skip-build']).toBe('false');
      expect(await job.keys()).toEqual([job.key(W)]);
    },
  );

  test('gets a conflict (409): tried again', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path, nth }) =>
      operation === 'put' && path.endsWith('.whl') && nth <= 2
        ? s3Error(409, 'ConditionalRequestConflict')
        : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    expect(await job.keys()).toEqual([job.key(W)]);
  });

  test('is refused (403): the error names s3:PutObject and the wheel’s key', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'put' ? s3Error(403, 'AccessDenied', 'Access Denied') : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('s3:PutObject');
    expect(result.errors[0]).toContain(job.key(W));
  });

  test('fails because the credentials expired: the error names role-duration-seconds', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, LARGE);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
      operation === 'part' && nth === 3
        ? s3Error(400, 'ExpiredToken', 'The provided token has expired.')
        : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('role-duration-seconds');
    expect(await bucket.openUploads()).toEqual([]);
  });

  test('is refused by KMS: the error contains S3’s message', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const message = 'User: arn:aws:sts::1:role is not authorized to perform: kms:GenerateDataKey';
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'put' ? s3Error(403, 'AccessDenied', message) : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.errors[0]).toContain(message);
  });

  test('is refused because of If-None-Match (501): list, put without it, list again, and a warning', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, headers }) =>
      operation === 'put' && headers['if-none-match'] !== undefined
        ? s3Error(501, 'NotImplemented')
        : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    expect(result.warnings[0]).toContain('If-None-Match');
    expect(proxy.operations().slice(0, 5)).toEqual(['list', 'put', 'list', 'put', 'list']);
    expect(await job.keys()).toEqual([job.key(W)]);
  });

  test('and everything else gets 403 without a body: no UnknownError', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => ({ status: 403 }));
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.errors[0]).not.toContain('UnknownError');
  });
});

describe('a store that ignores If-None-Match', () => {
  /** Both jobs list before either puts. The first finishes before the second puts. */
  test.each([
    ['the same name', 'demo-1.0-py3-none-any.whl'],
    ['different names', 'demo-2.0-py3-none-any.whl'],
  ])('two jobs with different bytes, %s: one succeeds, and its bytes are stored', async (_title, second) => {
    await using one = await startJob(bucket);
    await using two = await startJob(bucket, one.prefix);
    await makeWheel(one.dist, W, { metadata: ['Summary: one'] });
    await makeWheel(two.dist, second, { metadata: ['Summary: two'] });
    const firstIsDone = Promise.withResolvers<void>();
    await using proxyOne = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'put' ? { without: ['if-none-match'] } : undefined,
    );
    await using proxyTwo = await startFaultProxy(bucket.endpoint, ({ operation, path }) =>
      operation === 'put' && path.endsWith('.whl')
        ? { without: ['if-none-match'], after: firstIsDone.promise }
        : undefined,
    );
    const running = two.step('store', { 'endpoint-url': proxyTwo.endpoint });
    const first = await one.step('store', { 'endpoint-url': proxyOne.endpoint });
    firstIsDone.resolve();
    const results = [first, await running];
    const winners = results.filter(({ code }) => code === 0);
    expect(winners).toHaveLength(1);
    const keys = await one.keys();
    expect(keys).toEqual(winners.map(({ outputs }) => outputs['wheel-key']));
    for (const { outputs } of winners) {
      expect((await bucket.head(outputs['wheel-key']!)).Metadata?.sha256).toBe(outputs.sha256);
    }
  });
});

describe('large wheels', () => {
  test('are uploaded in parts, with If-None-Match on completion, and downloaded unchanged', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, LARGE);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    const parts = proxy.requests.filter(({ operation }) => operation === 'part');
    expect(parts.length).toBeGreaterThan(4);
    // Without TLS the signature protects the body.
    for (const { headers } of parts) expect(headers['x-amz-content-sha256']).toMatch(/^[0-9a-f]{64}$/);
    expect(proxy.requests.find(({ operation }) => operation === 'complete')?.headers['if-none-match']).toBe(
      '*',
    );
    expect(await bucket.openUploads()).toEqual([]);
    const fetched = await job.step('fetch', { path: 'new' });
    expect(fetched.outputs.sha256).toBe(result.outputs.sha256);
  });

  test('a completion whose response is lost is recognised as done', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, LARGE);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
      operation === 'complete' && nth === 1 ? { cut: 'after' } : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    expect(result.outputs['skip-build']).toBe('false');
    expect(await job.keys()).toEqual([job.key(W)]);
    expect(await bucket.openUploads()).toEqual([]);
  });

  test.each([['part'], ['complete']] as const)(
    'a %s that always fails leaves no object and no parts',
    async (failing) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W, LARGE);
      await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
        operation === failing ? s3Error(500, 'InternalError') : undefined,
      );
      const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
      expect(result.code).toBe(1);
      expect(await job.keys()).toEqual([]);
      expect(await bucket.openUploads()).toEqual([]);
    },
  );
});

/**
 * Runs a step, and sends it a signal when the proxy sees a certain request. The step gets no response to this request.
 *
 * @param reaches - whether the request reaches the server
 */
async function cancelledAt(
  job: Job,
  [action, inputs]: [ActionName, Record<string, string>?],
  signal: NodeJS.Signals,
  isTrigger: (seen: SeenRequest) => boolean,
  reaches = false,
): Promise<StepResult> {
  const child = Promise.withResolvers<ChildProcess>();
  const exited = child.promise.then((process) => once(process, 'exit'));
  await using proxy = await startFaultProxy(bucket.endpoint, (seen) => {
    if (!isTrigger(seen)) return undefined;
    void child.promise.then((process) => process.kill(signal));
    return reaches ? { answerAfter: exited } : { after: exited };
  });
  return await job.step(action, { 'endpoint-url': proxy.endpoint, ...inputs }, {}, child.resolve);
}

describe('a cancelled job', () => {
  test.each([['SIGINT'], ['SIGTERM']] as const)(
    '%s during an upload leaves no object and no parts',
    async (signal) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W, LARGE);
      const result = await cancelledAt(
        job,
        ['store'],
        signal,
        ({ operation, nth }) => operation === 'part' && nth === 3,
      );
      expect(result.code).toBe(1);
      expect(result.outputs['skip-build']).toBe('false');
      expect(result.errors[0]).toContain(signal);
      expect(await job.keys()).toEqual([]);
      expect(await bucket.openUploads()).toEqual([]);
    },
  );

  test('during a single put leaves no object, even if the put succeeds', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const isPut = ({ operation, path }: SeenRequest) => operation === 'put' && path.endsWith('.whl');
    const result = await cancelledAt(job, ['store'], 'SIGTERM', isPut, true);
    expect(result.code).toBe(1);
    expect(await job.keys()).toEqual([]);
  });

  test('during the update of the index page succeeds, since the wheel is stored', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const isPage = ({ operation, path }: SeenRequest) => operation === 'get' && path.endsWith('index.html');
    const result = await cancelledAt(job, ['store'], 'SIGTERM', isPage, true);
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.warnings[0]).toContain('The wheel is stored');
    expect(await job.keys()).toEqual([job.key(W)]);
  });

  test('during a fetch leaves nothing in the folder', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.workspace, `built/${W}`, LARGE);
    await job.step('store', { path: 'built' });
    const isThirdRange = ({ operation, nth }: SeenRequest) => operation === 'get' && nth === 3;
    const result = await cancelledAt(job, ['fetch'], 'SIGTERM', isThirdRange);
    expect(result.code).toBe(1);
    expect(await readdir(job.dist)).toEqual([]);
  });
});

test('neither log nor summary contains credentials', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  const secret = bucket.env.AWS_SECRET_ACCESS_KEY!;
  for (const action of ACTION_NAMES) {
    const { log, summary } = await job.step(action, {}, { RUNNER_DEBUG: '1' });
    expect(log + summary).not.toContain(secret);
    expect(log + summary).not.toMatch(/X-Amz|Signature/i);
  }
});
