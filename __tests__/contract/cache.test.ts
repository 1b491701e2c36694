import { mkdtemp, readdir, readFile, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type Caching,
  type CachingJob,
  expectFetched,
  startCaching,
  TOKEN,
  temporaryFiles,
  W,
} from '../../testing/caching-job.ts';
import { type Answer, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, startJob } from '../../testing/job.ts';
import { ROOT } from '../../testing/runner.ts';
import { makeWheel, sha256, wheelBytes } from '../../testing/wheels.ts';

let caching: Caching;
beforeAll(async () => {
  caching = await startCaching();
});
afterAll(async () => {
  await caching[Symbol.asyncDispose]();
});

describe('the cache is queried first', () => {
  test('a miss is downloaded from the bucket and saved; a hit is not read from the bucket', async () => {
    await using job = await caching.startJob();
    const first = await job.fetch();
    await expectFetched(job, first, job.bytes);
    expect(job.reads()).toBe(1);
    const key = `wheel-store-${sha256(job.bytes)}`;
    expect(first.log).toContain(`Not in the Actions cache: ${W} (${key})`);
    expect(first.log).toContain(`Saved ${W} to the Actions cache as ${key}`);

    await using other = await caching.addTo(await startJob(caching.bucket, job.prefix));
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
    await using job = await caching.startJob();
    await caching.save(job);
    const commit = 'b'.repeat(40);
    await job.step('store', { path: 'built', index: 'false', commit });
    await expectFetched(job, await job.fetch({ commit }), job.bytes);
    expect(job.reads()).toBe(1);
  });

  test('a file that exists already is neither looked up nor saved', async () => {
    await using job = await caching.startJob();
    await using cache = await caching.startProxy(() => undefined);
    await job.fetch({ path: 'built' }, cache.env);
    expect(cache.requests).toEqual([]);
  });

  test('several wheels: some from the cache, the others from the bucket', async () => {
    await using plain = await startJob(caching.bucket);
    await using job = await caching.addTo(plain);
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
    await using plain = await startJob(caching.bucket);
    await using job = await caching.addTo(plain);
    for (const target of ['one', 'two']) {
      await makeWheel(job.workspace, `${target}/${target}-1.0-py3-none-any.whl`, { metadata: [job.prefix] });
      expect((await job.step('store', { path: target, target })).errors).toEqual([]);
    }
    await job.fetch({ target: 'one', path: 'first' });
    const name = 'two-1.0-py3-none-any.whl';
    const key = `${job.prefix}/${COMMIT}/7_1/two/${name}`;
    const { Metadata } = await caching.bucket.head(key);
    await caching.bucket.put(key, wheelBytes(name, { metadata: ['Keywords: other'] }), Metadata);
    const result = await job.fetch({ target: '*' });
    expect(result.code).toBe(1);
    expect(result.log).not.toContain('Saved');
    expect(await readdir(job.dist)).toEqual([]);
    expect(await temporaryFiles(job.temp)).toEqual([]);
  });

  test('the old layout has no SHA-256: nothing is looked up or saved', async () => {
    await using plain = await startJob(caching.bucket);
    await using job = await caching.addTo(plain);
    await using cache = await caching.startProxy(() => undefined);
    const bytes = Buffer.from(wheelBytes(W));
    await caching.bucket.put(`${job.prefix}/${COMMIT}/${W}`, bytes);
    await expectFetched(job, await job.fetch({}, cache.env), bytes);
    expect(cache.requests).toEqual([]);
  });

  test('two jobs at the same time', async () => {
    await using job = await caching.startJob();
    await using other = await caching.addTo(await startJob(caching.bucket, job.prefix));
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
    await using job = await caching.startJob();
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

describe('the disk', () => {
  test('a temporary folder on another disk: the wheel is saved and restored all the same', async () => {
    await using job = await caching.startJob();
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
      expect(await temporaryFiles(temp)).toEqual([]);
    } finally {
      await rm(temp, { recursive: true });
    }
  });

  test('no room for both archive and wheel: the cache is not queried', async () => {
    await using job = await caching.startJob();
    await using cache = await caching.startProxy(() => undefined);
    const { bavail, bsize } = await statfs(job.temp);
    const size = Math.round(bavail * bsize * 0.6);
    await using s3 = await startFaultProxy(caching.bucket.endpoint, ({ operation }) =>
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
    await using job = await caching.startJob();
    const first = await job.fetch({}, { RUNNER_DEBUG: '1' });
    const second = await job.fetch({ path: 'second' }, { RUNNER_DEBUG: '1' });
    expect(second.log).toContain('from the Actions cache');
    for (const { log } of [first, second]) expect(log).not.toMatch(new RegExp(`${TOKEN}|artifacts/\\d`));
  });

  test('contains the messages of @actions/cache only with step debugging', async () => {
    await using job = await caching.startJob();
    const { log } = await job.fetch();
    const shown = log.split('\n').filter((line) => line !== '' && !line.startsWith('::debug::'));
    expect(shown.map((line) => line.split(' ')[0])).toEqual(['Commit', 'Found', 'Not', 'Fetched', 'Saved']);
  });
});
