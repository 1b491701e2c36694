import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type CacheService, startActCache } from '../../testing/act-cache.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startCacheServiceV2 } from '../../testing/cache-service-v2.ts';
import {
  type Answer,
  type Fault,
  type FaultProxy,
  type SeenRequest,
  startFaultProxy,
} from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { type TarEntry, tarBytes } from '../../testing/raw-tar.ts';
import { ROOT, type StepResult } from '../../testing/runner.ts';
import { makeWheel, sha256, wheelBytes } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const TOKEN = 'the-runtime-token';
/** Where steps of one job leave notes for each other. */
const NOTES_FOLDER = 'wheel-store';
let bucket: TestBucket;
let service: CacheService;
beforeAll(async () => {
  [bucket, service] = await Promise.all([makeBucket(), startActCache()]);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

/** A job, and a proxy that records what its fetches request from the bucket. */
interface CachingJob extends Job {
  /** The job's folder for temporary files. */
  readonly temp: string;
  readonly s3: FaultProxy;
  /** Fetches with `cache: true` through `s3`. */
  fetch(inputs?: Record<string, string>, env?: Record<string, string | undefined>): Promise<StepResult>;
  /** How often an object was read from the bucket. */
  reads(): number;
}

/** Starts a job with its own wheel in the store, and returns the wheel's bytes as well. */
async function startCachingJob(
  onStart?: (child: ChildProcess) => void,
): Promise<CachingJob & { bytes: Buffer }> {
  const job = await startJob(bucket);
  const wheel = await makeWheel(job.workspace, `built/${W}`, { metadata: [`Keywords: ${job.prefix}`] });
  expect((await job.step('store', { path: 'built', index: 'false' })).errors).toEqual([]);
  return { ...(await withCaching(job, onStart)), bytes: await readFile(wheel) };
}

async function withCaching(job: Job, onStart?: (child: ChildProcess) => void): Promise<CachingJob> {
  const s3 = await startFaultProxy(bucket.endpoint);
  const temp = join(job.workspace, 'temp');
  await mkdir(temp, { recursive: true });
  return {
    ...job,
    temp,
    s3,
    fetch: (inputs = {}, env = {}) =>
      job.step(
        'fetch',
        { cache: 'true', 'endpoint-url': s3.endpoint, ...inputs },
        { RUNNER_TEMP: temp, ACTIONS_CACHE_URL: service.url, ACTIONS_RUNTIME_TOKEN: TOKEN, ...env },
        onStart,
      ),
    reads: () => s3.requests.filter(({ operation }) => operation === 'get').length,
    async [Symbol.asyncDispose]() {
      await s3[Symbol.asyncDispose]();
      await job[Symbol.asyncDispose]();
    },
  };
}

/** A proxy in front of the cache service, and the environment of a step that uses it. */
async function startCacheProxy(rule: (seen: SeenRequest) => Fault) {
  const proxy = await startFaultProxy(service.url, rule);
  const url = `${proxy.endpoint}${new URL(service.url).pathname}`;
  return { ...proxy, env: { ACTIONS_CACHE_URL: url } };
}

const isLookUp = ({ path }: SeenRequest) => path.endsWith('/cache');
const isReservation = ({ path }: SeenRequest) => path.endsWith('/caches');
const isUpload = ({ path }: SeenRequest) => /\/caches\/\d+$/.test(path);

/** Expects that the step succeeded and left the complete wheel, and nothing else. */
async function expectFetched(job: CachingJob, result: StepResult, bytes: Buffer, folder = 'dist') {
  expect(result).toMatchObject({ code: 0, errors: [] });
  expect(await readFile(join(job.workspace, folder, W))).toEqual(bytes);
  expect(await readdir(join(job.workspace, folder))).toEqual([W]);
  expect((await readdir(job.temp)).filter((name) => name !== NOTES_FOLDER)).toEqual([]);
}

/** Makes the job save its wheel to the cache, and returns the path of the new archive. */
async function saveToCache(job: CachingJob): Promise<string> {
  const before = await service.archives();
  expect((await job.fetch({ path: 'first' })).log).toContain(`Saved ${W} to the Actions cache`);
  const [archive] = (await service.archives()).filter((path) => !before.includes(path));
  return archive!;
}

/** Replaces the entries of an archive, keeping its compression. */
async function replaceEntries(archive: string, entries: readonly TarEntry[]): Promise<void> {
  const isZstd = (await readFile(archive)).readUInt32LE() === 0xfd2fb528;
  await writeFile(archive, (isZstd ? zstdCompressSync : gzipSync)(tarBytes(entries)));
}

describe('the cache is queried first', () => {
  test('a miss is downloaded from the bucket and saved; a hit is not read from the bucket', async () => {
    await using job = await startCachingJob();
    const first = await job.fetch();
    await expectFetched(job, first, job.bytes);
    expect(job.reads()).toBe(1);
    const key = `wheel-store-${sha256(job.bytes)}`;
    expect(first.log).toContain(`Not in the Actions cache: ${W} (${key})`);
    expect(first.log).toContain(`Saved ${W} to the Actions cache as ${key}`);

    await using other = await withCaching(await startJob(bucket, job.prefix));
    const second = await other.fetch({ path: 'another/folder' });
    await expectFetched(other, second, job.bytes, 'another/folder');
    expect(other.s3.operations()).toEqual(['list', 'head']);
    const path = join(other.workspace, 'another/folder', W);
    expect(second.log).toContain(
      `Fetched ${path} from the Actions cache: ${job.bytes.length} bytes, SHA-256 ${sha256(job.bytes)} verified.`,
    );
    expect(second.outputs).toMatchObject({ 'wheel-path': path, 'skip-build': 'true' });
    expect([...first.warnings, ...second.warnings]).toEqual([]);
  });

  test('entries are keyed by SHA-256: the same bytes of another commit are a hit', async () => {
    await using job = await startCachingJob();
    await saveToCache(job);
    const commit = 'b'.repeat(40);
    await job.step('store', { path: 'built', index: 'false', commit });
    await expectFetched(job, await job.fetch({ commit }), job.bytes);
    expect(job.reads()).toBe(1);
  });

  test('a file that exists already is neither looked up nor saved', async () => {
    await using job = await startCachingJob();
    await using cache = await startCacheProxy(() => undefined);
    await job.fetch({ path: 'built' }, cache.env);
    expect(cache.requests).toEqual([]);
  });

  test('several wheels: some from the cache, the others from the bucket', async () => {
    await using plain = await startJob(bucket);
    await using job = await withCaching(plain);
    for (const target of ['one', 'two']) {
      await makeWheel(job.workspace, `${target}/${target}-1.0-py3-none-any.whl`, { metadata: [job.prefix] });
      expect((await job.step('store', { path: target, target })).errors).toEqual([]);
    }
    await job.fetch({ target: 'one', path: 'first' });
    expect(job.reads()).toBe(1);
    const both = await job.fetch({ target: '*' });
    expect(both).toMatchObject({ code: 0, warnings: [] });
    expect(job.reads()).toBe(2);
    expect(both.log).toMatch(/Fetched \S+one-1.0-py3-none-any.whl from the Actions cache/);
    expect(both.log).toContain('Saved two-1.0-py3-none-any.whl to the Actions cache');
    await job.fetch({ target: '*', path: 'again' });
    expect(job.reads()).toBe(2);
    expect(await readdir(join(job.workspace, 'again'))).toEqual([
      'one-1.0-py3-none-any.whl',
      'two-1.0-py3-none-any.whl',
    ]);
  });

  test('all or none: a wheel from the cache is removed if another fails', async () => {
    await using plain = await startJob(bucket);
    await using job = await withCaching(plain);
    for (const target of ['one', 'two']) {
      await makeWheel(job.workspace, `${target}/${target}-1.0-py3-none-any.whl`, { metadata: [job.prefix] });
      expect((await job.step('store', { path: target, target })).errors).toEqual([]);
    }
    await job.fetch({ target: 'one', path: 'first' });
    const name = 'two-1.0-py3-none-any.whl';
    const key = `${job.prefix}/${COMMIT}/7_1/two/${name}`;
    const { Metadata } = await bucket.head(key);
    await bucket.put(key, wheelBytes(name, { metadata: ['Keywords: other'] }), Metadata);
    const result = await job.fetch({ target: '*' });
    expect(result.code).toBe(1);
    expect(result.log).not.toContain('Saved');
    expect(await readdir(job.dist)).toEqual([]);
    expect((await readdir(job.temp)).filter((name) => name !== NOTES_FOLDER)).toEqual([]);
  });

  test('the old layout has no SHA-256: nothing is looked up or saved', async () => {
    await using plain = await startJob(bucket);
    await using job = await withCaching(plain);
    await using cache = await startCacheProxy(() => undefined);
    const bytes = Buffer.from(wheelBytes(W));
    await bucket.put(`${job.prefix}/${COMMIT}/${W}`, bytes);
    await expectFetched(job, await job.fetch({}, cache.env), bytes);
    expect(cache.requests).toEqual([]);
  });

  test('two jobs at the same time', async () => {
    await using job = await startCachingJob();
    await using other = await withCaching(await startJob(bucket, job.prefix));
    const results = await Promise.all([job.fetch(), other.fetch()]);
    await expectFetched(job, results[0], job.bytes);
    await expectFetched(other, results[1], job.bytes);
    expect(results.flatMap(({ warnings }) => warnings)).toEqual([]);
    await expectFetched(job, await job.fetch({ path: 'third' }), job.bytes, 'third');
    expect(job.reads()).toBeLessThanOrEqual(1);
  });
});

describe('without cache: true', () => {
  /** Our scripts that the step and its child processes loaded, as recorded by V8: text by name. */
  async function loaded(job: CachingJob, cache: string): Promise<Map<string, string>> {
    const folder = join(job.workspace, `coverage-${cache}`);
    expect((await job.fetch({ cache, path: cache }, { NODE_V8_COVERAGE: folder })).errors).toEqual([]);
    const reports = await Promise.all(
      (await readdir(folder)).map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8'))),
    );
    const urls: string[] = reports.flatMap(({ result }) => result.map(({ url }: { url: string }) => url));
    const paths = urls.filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url));
    return new Map(
      await Promise.all(
        paths.map(
          async (path) => [relative(join(ROOT, 'dist'), path), await readFile(path, 'utf8')] as const,
        ),
      ),
    );
  }

  test('none of its code is loaded', async () => {
    await using job = await startCachingJob();
    const [without, having] = [await loaded(job, 'false'), await loaded(job, 'true')];
    expect([...without.keys()]).toContain('fetch.js');
    expect([...having.keys()]).toContain('cache.js');
    for (const code of ['gh cache delete', 'results.api.v1.CacheService']) {
      const holding = (scripts: Map<string, string>) =>
        [...scripts].filter(([, text]) => text.includes(code));
      expect(holding(having)).toHaveLength(1);
      expect(holding(without)).toEqual([]);
    }
  });
});

describe('the cached entry is not the wheel', () => {
  const wheel = { name: 'wheel' };
  const cases: [name: string, entries: (bytes: Buffer, workspace: string) => TarEntry[]][] = [
    ['other bytes of the same size', (bytes) => [{ ...wheel, body: Buffer.alloc(bytes.length) }]],
    ['another size', () => [{ ...wheel, body: Buffer.from('short') }]],
    ['nothing', () => []],
    ['a folder', () => [{ ...wheel, type: '5' }]],
    ['a link to a file', (_, workspace) => [{ ...wheel, type: '2', target: join(workspace, 'built', W) }]],
    [
      'a hard link to a file',
      (_, workspace) => [{ ...wheel, type: '1', target: join(workspace, 'built', W) }],
    ],
    ['a file above the folder', () => [{ name: '../escaped', body: Buffer.from('x') }]],
    ['a file two folders above', () => [{ name: '../../escaped', body: Buffer.from('x') }]],
    ['an absolute name', (_, workspace) => [{ name: join(workspace, 'escaped'), body: Buffer.from('x') }]],
    ['the folder above itself', () => [{ name: '..', type: '5', mode: 0o777 }]],
    [
      'a link out of the folder and a file below it',
      (_, workspace) => [
        { name: 'out', type: '2', target: workspace },
        { name: 'out/escaped', body: Buffer.from('x') },
      ],
    ],
    [
      'a link out of the folder under the wheel’s name, and a file written through it',
      (bytes, workspace) => [
        { ...wheel, type: '2', target: join(workspace, 'escaped') },
        { ...wheel, body: Buffer.alloc(bytes.length) },
      ],
    ],
  ];

  test.each(cases)(
    '%s: discarded with a warning, and the wheel is downloaded from the bucket',
    async (_name, entries) => {
      await using job = await startCachingJob();
      const archive = await saveToCache(job);
      await replaceEntries(archive, entries(job.bytes, job.workspace));
      const before = (await readdir(job.workspace)).sort();
      const result = await job.fetch();
      await expectFetched(job, result, job.bytes);
      expect(job.reads()).toBe(2);
      expect(result.warnings).toEqual([
        expect.stringContaining(`gh cache delete wheel-store-${sha256(job.bytes)}`),
      ]);
      expect(result.log).not.toContain('Saved');
      expect((await readdir(job.workspace)).sort()).toEqual([...before, 'dist'].sort());
      expect(await readFile(join(job.workspace, 'built', W))).toEqual(job.bytes);
    },
  );

  test.each([
    ['a truncated archive', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['not an archive', () => Buffer.from('<html>Sign in</html>')],
    ['an empty archive', () => Buffer.alloc(0)],
  ])('%s', async (_name, change) => {
    await using job = await startCachingJob();
    const archive = await saveToCache(job);
    await writeFile(archive, change(await readFile(archive)));
    const result = await job.fetch();
    await expectFetched(job, result, job.bytes);
    expect(job.reads()).toBe(2);
    expect(result.warnings).toHaveLength(1);
  });

  test('the right bytes under another name are the wheel', async () => {
    await using job = await startCachingJob();
    const archive = await saveToCache(job);
    await replaceEntries(archive, [{ name: '../escaped', body: job.bytes, mode: 0o4755 }]);
    await expectFetched(job, await job.fetch(), job.bytes);
    expect(job.reads()).toBe(1);
  });
});

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
    await using job = await startCachingJob();
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
    await using job = await startCachingJob();
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
    await using job = await startCachingJob();
    await using cache = await startCacheProxy((seen) => (isLookUp(seen) ? fault : undefined));
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
    await using job = await startCachingJob();
    await using cache = await startCacheProxy((seen) => (at(seen) ? fault : undefined));
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
      await using job = await startCachingJob((started) => {
        child = started;
      });
      await using cache = await startCacheProxy((seen) => {
        if (!isLookUp(seen)) return undefined;
        child?.kill(signal);
        return { answerAfter: new Promise(() => undefined) };
      });
      const result = await job.fetch({}, cache.env);
      expect(result.code).toBe(1);
      expect(result.errors).toEqual([expect.stringContaining('cancelled')]);
      expect(result.warnings).toEqual([]);
      expect(await readdir(job.dist)).toEqual([]);
      expect((await readdir(job.temp)).filter((name) => name !== NOTES_FOLDER)).toEqual([]);
      expect(job.reads()).toBe(0);
    },
  );

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s while the wheel is being saved: it has been fetched',
    async (signal) => {
      let child: ChildProcess | undefined;
      await using job = await startCachingJob((started) => {
        child = started;
      });
      await using cache = await startCacheProxy((seen) => {
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
    await using job = await startCachingJob((started) => {
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

describe('the disk', () => {
  test('a temporary folder on another disk: the wheel is saved and restored all the same', async () => {
    await using job = await startCachingJob();
    const isLinux = process.platform === 'linux';
    const temp = await mkdtemp(join(isLinux ? '/dev/shm' : tmpdir(), 'temp-'));
    try {
      if (isLinux) expect((await stat(temp)).dev).not.toBe((await stat(job.workspace)).dev);
      const first = await job.fetch({}, { RUNNER_TEMP: temp });
      expect(first.log).toContain('Saved');
      await expectFetched(
        job,
        await job.fetch({ path: 'second' }, { RUNNER_TEMP: temp }),
        job.bytes,
        'second',
      );
      expect(job.reads()).toBe(1);
      expect((await readdir(temp)).filter((name) => name !== NOTES_FOLDER)).toEqual([]);
    } finally {
      await rm(temp, { recursive: true });
    }
  });

  test('no room for both archive and wheel: the cache is not queried', async () => {
    await using job = await startCachingJob();
    await using cache = await startCacheProxy(() => undefined);
    const { bavail, bsize } = await statfs(job.temp);
    const size = Math.round(bavail * bsize * 0.6);
    await using s3 = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'head' ? { change: (response) => withLength(response, size) } : undefined,
    );
    const { log } = await job.fetch({ 'endpoint-url': s3.endpoint }, cache.env);
    expect(log).toMatch(
      /The Actions cache is not used for .* would need \d+ bytes, and \S+ has \d+ bytes free/,
    );
    expect(cache.requests).toEqual([]);
  });
});

function withLength(response: Answer, size: number): Answer {
  return { ...response, headers: { ...response.headers, 'content-length': String(size) } };
}

describe('the log', () => {
  test('contains no token and no location of an archive, even with step debugging', async () => {
    await using job = await startCachingJob();
    const first = await job.fetch({}, { RUNNER_DEBUG: '1' });
    const second = await job.fetch({ path: 'second' }, { RUNNER_DEBUG: '1' });
    expect(second.log).toContain('from the Actions cache');
    for (const { log } of [first, second]) expect(log).not.toMatch(new RegExp(`${TOKEN}|artifacts/\\d`));
  });

  test('contains the messages of @actions/cache only with step debugging', async () => {
    await using job = await startCachingJob();
    const { log } = await job.fetch();
    const shown = log.split('\n').filter((line) => line !== '' && !line.startsWith('::debug::'));
    expect(shown.map((line) => line.split(' ')[0])).toEqual(['Commit', 'Found', 'Not', 'Fetched', 'Saved']);
  });
});

describe('version 2 of the service, as a stand-in', () => {
  test('a miss, then a hit, through signed URLs of Azure’s host', async () => {
    await using cache = await startCacheServiceV2();
    await using job = await startCachingJob();
    await expectFetched(job, await job.fetch({}, cache.env), job.bytes);
    const second = await job.fetch({ path: 'second' }, cache.env);
    await expectFetched(job, second, job.bytes, 'second');
    expect(second.warnings).toEqual([]);
    expect(job.reads()).toBe(1);
    expect(cache.requests).toEqual([
      'GetCacheEntryDownloadURL',
      'CreateCacheEntry',
      'PUT blob',
      'FinalizeCacheEntryUpload',
      'GetCacheEntryDownloadURL',
      'HEAD blob',
      'GET blob',
    ]);
  });

  test('no signature and no token in the log, even with step debugging', async () => {
    await using cache = await startCacheServiceV2();
    await using job = await startCachingJob();
    const env = { ...cache.env, RUNNER_DEBUG: '1' };
    const logs = [await job.fetch({}, env), await job.fetch({ path: 'second' }, env)].map(({ log }) => log);
    expect(logs.join('')).toContain('blob.core.windows.net');
    expect(logs.join('')).not.toMatch(/sig=|runtime-token|add-mask/);
  });

  test('two jobs at the same time: one saves the wheel, the other logs that it did not', async () => {
    await using cache = await startCacheServiceV2();
    await using job = await startCachingJob();
    await using other = await withCaching(await startJob(bucket, job.prefix));
    let arrived = 0;
    const both = Promise.withResolvers<void>();
    await using proxy = await startFaultProxy(cache.url, ({ path }) => {
      if (path.endsWith('/GetCacheEntryDownloadURL') && ++arrived === 2) both.resolve();
      return path.endsWith('/GetCacheEntryDownloadURL') ? { answerAfter: both.promise } : undefined;
    });
    const env = { ...cache.env, ACTIONS_RESULTS_URL: `${proxy.endpoint}/` };
    const results = await Promise.all([job.fetch({}, env), other.fetch({}, env)]);
    await expectFetched(job, results[0], job.bytes);
    await expectFetched(other, results[1], job.bytes);
    expect(results.flatMap(({ warnings }) => warnings)).toEqual([]);
    const logs = results.map(({ log }) => log);
    expect(logs.filter((log) => log.includes('Saved'))).toHaveLength(1);
    expect(logs.filter((log) => log.includes('was not saved to the Actions cache'))).toHaveLength(1);
  });

  test.each([
    ['the look-up is refused', 'GetCacheEntryDownloadURL', 403, 'no', 1],
    ['reading is denied', 'GetCacheEntryDownloadURL', 403, 'cache read denied: no scopes', 0],
    ['requests are limited', 'GetCacheEntryDownloadURL', 429, 'slow down', 1],
    ['the quota is exceeded', 'CreateCacheEntry', 403, 'insufficient usage to create', 0],
    ['writing is denied', 'CreateCacheEntry', 200, 'cache write denied: read-only token', 0],
    ['the blob is refused', 'PUT blob', 403, '', 1],
    ['the finalization is refused', 'FinalizeCacheEntryUpload', 400, 'size', 1],
  ])('%s: the job continues', async (_name, at, status, msg, warnings) => {
    await using cache = await startCacheServiceV2((call) =>
      call === at ? { status, body: { ok: false, code: 'refused', msg, message: msg } } : undefined,
    );
    await using job = await startCachingJob();
    const result = await job.fetch({}, cache.env);
    await expectFetched(job, result, job.bytes);
    expect(result.warnings).toHaveLength(warnings);
    expect(result.log).toMatch(/The Actions cache (failed|is not used)|saved to the Actions cache: /);
  });

  test('a wrong token', async () => {
    await using cache = await startCacheServiceV2();
    await using job = await startCachingJob();
    const result = await job.fetch({}, { ...cache.env, ACTIONS_RUNTIME_TOKEN: 'wrong' });
    await expectFetched(job, result, job.bytes);
    expect(result.warnings).toEqual([expect.stringContaining('401')]);
  });
});
