import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Caching, expectFetched, startCaching, temporaryFiles, W } from '../../testing/caching-job.ts';
import type { SeenRequest } from '../../testing/fault-proxy.ts';

let caching: Caching;
beforeAll(async () => {
  caching = await startCaching();
});
afterAll(async () => {
  await caching[Symbol.asyncDispose]();
});

const isLookUp = ({ path }: SeenRequest) => path.endsWith('/cache');
const isReservation = ({ path }: SeenRequest) => path.endsWith('/caches');
const isUpload = ({ path }: SeenRequest) => /\/caches\/\d+$/.test(path);

describe('a broken cache never breaks the job', () => {
  const closed = 'http://127.0.0.1:9/';
  const v2 = (url: string) => ({ ACTIONS_CACHE_SERVICE_V2: '1', ACTIONS_RESULTS_URL: url });
  const cases: [name: string, env: Record<string, string | undefined>][] = [
    ['connection refused', { ACTIONS_CACHE_URL: closed }],
    ['connection refused (version 2)', v2(closed)],
    ['a host that does not exist', v2('http://cache.invalid/')],
    ['an invalid URL', v2('nonsense')],
    ['no token', { ...v2(closed), ACTIONS_RUNTIME_TOKEN: undefined }],
    ['a temporary folder that cannot be created', { RUNNER_TEMP: '/dev/null/temp' }],
  ];
  test.each(cases)('%s: one warning, and a download from the bucket', async (_name, env) => {
    await using job = await caching.startJob();
    const result = await job.fetch({}, env);
    await expectFetched(job, result, job.bytes);
    expect(result.warnings).toEqual([
      expect.stringMatching(/^The Actions cache failed: .+ downloaded from the bucket\.$/),
    ]);
    expect(result.log).not.toContain('Saved');
  });

  test.each([
    ['a runner without the service’s URL', { ACTIONS_CACHE_URL: undefined }],
    [
      'an Enterprise Server without a cache service',
      {
        ACTIONS_CACHE_URL: undefined,
        ACTIONS_RESULTS_URL: closed,
        ACTIONS_CACHE_SERVICE_V2: '1',
        GITHUB_SERVER_URL: 'https://ghe.example.com',
      },
    ],
    ['no GNU tar', { PATH: '/nonexistent' }],
    ['a temporary folder with a space', { RUNNER_TEMP: '/tmp/with space' }],
    ['an organisation that disabled it', { ACTIONS_CACHE_MODE: 'none' }],
  ])('%s: a line in the log, and no warning', async (_name, env) => {
    await using job = await caching.startJob();
    const result = await job.fetch({}, env);
    await expectFetched(job, result, job.bytes);
    expect(result.warnings).toEqual([]);
    expect(result.log).toMatch(/There is no Actions cache for this step|The Actions cache is not used/);
  });

  test.each([
    ['is refused', { status: 403 }],
    ['fails', { status: 500 }],
    ['gets a sign-in page', { status: 200, body: '<html>Sign in</html>' }],
    [
      'gets a response without a location',
      { status: 200, body: '{}', headers: { 'content-type': 'application/json' } },
    ],
  ] as const)('the look-up %s: one warning, and no further requests', async (_name, fault) => {
    await using job = await caching.startJob();
    await using cache = await caching.startProxy((seen) => (isLookUp(seen) ? fault : undefined));
    const result = await job.fetch({}, cache.env);
    await expectFetched(job, result, job.bytes);
    expect(result.warnings).toHaveLength(1);
    expect(cache.requests.every(isLookUp)).toBe(true);
  });

  test.each([
    ['another job has reserved the entry', isReservation, { status: 409, body: '{"message":"exists"}' }, 0],
    ['the quota is exceeded', isReservation, { status: 400, body: '{"message":"over the limit"}' }, 1],
    ['the reservation fails', isReservation, { status: 500 }, 1],
    ['the upload fails', isUpload, { status: 500 }, 1],
    ['the upload is refused', isUpload, { status: 403 }, 1],
  ] as const)('%s: the wheel is fetched all the same', async (_name, at, fault, warnings) => {
    await using job = await caching.startJob();
    await using cache = await caching.startProxy((seen) => (at(seen) ? fault : undefined));
    const result = await job.fetch({}, cache.env);
    await expectFetched(job, result, job.bytes);
    expect(result.log).not.toContain('Saved');
    expect(result.log).toMatch(/not saved to the Actions cache|could not be saved to the Actions cache/);
    expect(result.warnings).toHaveLength(warnings);
  });
});

describe('cancelled', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s during the look-up in the cache: no file remains',
    async (signal) => {
      let child: ChildProcess | undefined;
      await using job = await caching.startJob((started) => {
        child = started;
      });
      await using cache = await caching.startProxy((seen) => {
        if (!isLookUp(seen)) return undefined;
        child?.kill(signal);
        return { answerAfter: new Promise(() => undefined) };
      });
      const result = await job.fetch({}, cache.env);
      expect(result.code).toBe(1);
      expect(result.errors).toEqual([expect.stringContaining('cancelled')]);
      expect(result.warnings).toEqual([]);
      expect(await readdir(job.dist)).toEqual([]);
      expect(await temporaryFiles(job.temp)).toEqual([]);
      expect(job.reads()).toBe(0);
    },
  );

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s while the wheel is being saved: it has been fetched',
    async (signal) => {
      let child: ChildProcess | undefined;
      await using job = await caching.startJob((started) => {
        child = started;
      });
      await using cache = await caching.startProxy((seen) => {
        if (!isReservation(seen)) return undefined;
        child?.kill(signal);
        return { answerAfter: new Promise(() => undefined) };
      });
      const result = await job.fetch({}, cache.env);
      await expectFetched(job, result, job.bytes);
      expect(result.warnings).toEqual([]);
      expect(result.outputs['wheel-path']).toBe(join(job.dist, W));
    },
  );
});

describe('killed', () => {
  test('SIGKILL during the look-up in the cache: the cache process ends too', async () => {
    let child: ChildProcess | undefined;
    await using job = await caching.startJob((started) => {
      child = started;
    });
    const silent = createServer();
    const asked = once(silent, 'connection') as Promise<[Socket]>;
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const ended = job.fetch({}, { ACTIONS_CACHE_URL: `http://127.0.0.1:${port}/` });
    const [socket] = await asked;
    socket.on('error', () => undefined).resume();
    child?.kill('SIGKILL');
    await once(socket, 'close');
    silent.close();
    expect((await ended).signal).toBe('SIGKILL');
  });
});
