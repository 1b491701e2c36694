import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import {
  type Fault,
  type FaultProxy,
  isMarker,
  type Operation,
  type SeenRequest,
  s3Error,
  startFaultProxy,
} from '../../testing/fault-proxy.ts';
import { startGitHubApi } from '../../testing/github-api.ts';
import { startJob } from '../../testing/job.ts';
import type { ActionName } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const LARGE = { files: { 'demo/noise.bin': new Uint8Array(20 * 1024 * 1024) }, level: 0 } as const;
const UNAVAILABLE = s3Error(503, 'ServiceUnavailable');
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('case 65: wait, while the store does not respond', () => {
  const isList = ({ operation }: SeenRequest) => operation === 'list';

  test.each<[title: string, fault: Fault, failing: number]>([
    ['503', UNAVAILABLE, 7],
    ['500', s3Error(500, 'InternalError'), 7],
    ['429', s3Error(429, 'TooManyRequests'), 7],
    ['502 with a page', { status: 502, body: '<html>Bad gateway</html>' }, 7],
    ['a connection that breaks', { cut: 'before' }, 7],
  ])('%s in the first look-up: tried again, and the wheel is found', async (_title, fault, failing) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    expect((await job.step('store', { index: 'false' })).errors).toEqual([]);
    await using proxy = await startFaultProxy(bucket.endpoint, (seen) =>
      isList(seen) && seen.nth <= failing ? fault : undefined,
    );
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint, wait: '60', path: 'new' });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.log).toMatch(/Looking again for up to 60 seconds/);
    expect(await readdir(join(job.workspace, 'new'))).toEqual([W]);
  });

  test('connection refused in the first look-up: tried again, and the wheel is found', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    expect((await job.step('store', { index: 'false' })).errors).toEqual([]);
    const port = await freePort();
    let proxy: Promise<FaultProxy> | undefined;
    const onStart = (child: ChildProcess) =>
      child.stdout!.on('data', (chunk: Buffer) => {
        if (chunk.includes('Looking again')) proxy ??= startFaultProxy(bucket.endpoint, undefined, port);
      });
    const inputs = { 'endpoint-url': `http://127.0.0.1:${port}`, wait: '60' };
    const result = await job.step('find', inputs, {}, onStart);
    await (await proxy)?.[Symbol.asyncDispose]();
    expect([result.errors, result.outputs['skip-build']]).toEqual([[], 'true']);
  });

  test('503 until the time is over: the error of the last look-up; on-error applies', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => UNAVAILABLE);
    const inputs = { 'endpoint-url': proxy.endpoint, wait: '2' };
    const result = await job.step('find', inputs);
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('ServiceUnavailable')]);
    const lenient = await job.step('find', { ...inputs, 'on-error': 'build' });
    expect([lenient.code, lenient.outputs['skip-build']]).toEqual([0, 'false']);
  });

  test.each<[title: string, fault: Fault]>([
    ['403', s3Error(403, 'AccessDenied')],
    ['no such bucket', s3Error(404, 'NoSuchBucket')],
    ['501', s3Error(501, 'NotImplemented')],
    ['a sign-in page', { status: 200, body: '<html>Sign in</html>' }],
  ])('%s ends the wait at once', async (_title, fault) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => fault);
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint, wait: '600' });
    expect(result.code).toBe(1);
    expect(result.log).not.toContain('Looking again');
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('case 65: responses that arrive one byte at a time', () => {
  const drip = { pieceBytes: 1, pauseMs: 300 };
  const impatient = { WHEEL_STORE_REQUEST_TIMEOUT: '1' };

  test('a listing: an error after at most three tries; on-error applies', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => drip);
    const inputs = { 'endpoint-url': proxy.endpoint };
    const result = await job.step('find', inputs, impatient);
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([
      expect.stringMatching(/(did not complete|no complete response).*WHEEL_STORE_REQUEST_TIMEOUT/),
    ]);
    expect(proxy.requests.length).toBeLessThanOrEqual(3);
    const lenient = await job.step('find', { ...inputs, 'on-error': 'build' }, impatient);
    expect([lenient.code, lenient.outputs['skip-build']]).toEqual([0, 'false']);
  });

  test('the headers of a response: an error', async () => {
    await using job = await startJob(bucket);
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\n';
    const server = createServer((socket) => {
      let sent = 0;
      const timer = setInterval(() => socket.write(head[sent++ % head.length]!), drip.pauseMs);
      socket.on('error', () => undefined).on('close', () => clearInterval(timer));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const result = await job.step('find', { 'endpoint-url': `http://127.0.0.1:${port}` }, impatient);
    server.close();
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('did not complete')]);
  });

  test('a wheel: an error, and no file', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    expect((await job.step('store', { index: 'false' })).errors).toEqual([]);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'get' ? drip : undefined,
    );
    const inputs = { 'endpoint-url': proxy.endpoint, path: 'new' };
    const result = await job.step('fetch', inputs, impatient);
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('was interrupted')]);
    expect(await readdir(join(job.workspace, 'new'))).toEqual([]);
  });

  test('an index page: the wheel is stored, with a warning', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    expect((await job.step('store')).errors).toEqual([]);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'get' ? drip : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint }, impatient);
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.warnings).toEqual([
      expect.stringMatching(/The endpoint \S+ could not be reached .*no complete response/),
    ]);
  });

  test('a credential process that does not end: an error', async () => {
    await using job = await startJob(bucket);
    const file = join(job.workspace, 'config');
    await writeFile(file, '[default]\ncredential_process = sleep 100\n');
    const none = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined };
    const result = await job.step('find', {}, { ...none, ...impatient, AWS_CONFIG_FILE: file });
    expect(result.code).toBe(1);
    expect(result.errors).toHaveLength(1);
  }, 60_000);

  test('an invalid timeout: the error names the variable', async () => {
    await using job = await startJob(bucket);
    for (const value of ['0', '-1', '1.5', 'soon', '99999']) {
      const result = await job.step('find', {}, { WHEEL_STORE_REQUEST_TIMEOUT: value });
      expect(result.errors).toEqual([expect.stringContaining('WHEEL_STORE_REQUEST_TIMEOUT')]);
    }
  });
});

describe('case 65: a cancelled step ends even if the store no longer responds', () => {
  const requests: [action: ActionName, operation: Operation | 'claim', size: 'small' | 'large'][] = [
    ['find', 'list', 'small'],
    ['find', 'head', 'small'],
    ['fetch', 'list', 'small'],
    ['fetch', 'get', 'small'],
    ['store', 'claim', 'small'],
    ['store', 'list', 'small'],
    ['store', 'put', 'small'],
    ['store', 'delete', 'small'],
    ['store', 'get', 'small'],
    ['store', 'create-upload', 'large'],
    ['store', 'part', 'large'],
    ['store', 'complete', 'large'],
  ];

  test('at each kind of request', async () => {
    const outcomes = await Promise.all(
      requests.map(async ([action, operation, size]) => {
        await using job = await startJob(bucket);
        await makeWheel(job.dist, W, size === 'large' ? LARGE : {});
        if (action !== 'store') expect((await job.step('store', { index: 'false' })).errors).toEqual([]);
        let child: ChildProcess | undefined;
        let isStalled = false;
        await using proxy = await startFaultProxy(bucket.endpoint, (seen) => {
          const name = isMarker(seen) && seen.operation === 'put' ? 'claim' : seen.operation;
          if (name === operation) {
            isStalled = true;
            child?.kill('SIGTERM');
          }
          return isStalled ? { stallAt: 0 } : undefined;
        });
        const result = await job.step(
          action,
          { 'endpoint-url': proxy.endpoint, ...(action === 'fetch' ? { path: 'new' } : {}) },
          {},
          (process) => {
            child = process;
          },
        );
        const isStored = action === 'store' && ['delete', 'get'].includes(operation);
        return [action, operation, result.signal, result.code === (isStored ? 0 : 1)];
      }),
    );
    expect(outcomes).toEqual(requests.map(([action, operation]) => [action, operation, null, true]));
  }, 50_000);

  test('during the pause before another try', async () => {
    await using job = await startJob(bucket);
    let child: ChildProcess | undefined;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ nth }) => {
      if (nth === 2) child?.kill('SIGTERM');
      return { status: 503, body: '', headers: { 'retry-after': '3600' } };
    });
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint }, {}, (process) => {
      child = process;
    });
    expect([result.code, result.signal]).toEqual([1, null]);
    expect(result.errors).toEqual([expect.stringContaining('SIGTERM')]);
    expect(proxy.requests).toHaveLength(2);
  });

  test('or if GitHub does not respond, for the comment', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    let child: ChildProcess | undefined;
    await using api = await startGitHubApi({
      rule: () => {
        child?.kill('SIGTERM');
        return { after: new Promise(() => undefined) };
      },
    });
    const env = { GITHUB_API_URL: api.url };
    const inputs = { comment: 'true', 'pull-request': '5', index: 'false' };
    const result = await job.step('store', inputs, env, (process) => {
      child = process;
    });
    expect(result).toMatchObject({ code: 0, signal: null });
    expect(result.warnings).toEqual([expect.stringContaining('comment')]);
  });
});
