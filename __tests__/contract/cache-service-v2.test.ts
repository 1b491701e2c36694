import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startCacheServiceV2 } from '../../testing/cache-service-v2.ts';
import { type Caching, expectFetched, startCaching } from '../../testing/caching-job.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { startJob } from '../../testing/job.ts';

let caching: Caching;
beforeAll(async () => {
  caching = await startCaching();
});
afterAll(async () => {
  await caching[Symbol.asyncDispose]();
});

describe('version 2 of the service, as a stand-in', () => {
  test('a miss, then a hit, through signed URLs of Azure’s host', async () => {
    await using cache = await startCacheServiceV2();
    await using job = await caching.startJob();
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
    await using job = await caching.startJob();
    const env = { ...cache.env, RUNNER_DEBUG: '1' };
    const logs = [await job.fetch({}, env), await job.fetch({ path: 'second' }, env)].map(({ log }) => log);
    expect(logs.join('')).toContain('blob.core.windows.net');
    expect(logs.join('')).not.toMatch(/sig=|runtime-token|add-mask/);
  });

  test('two jobs at the same time: one saves the wheel, the other logs that it did not', async () => {
    await using cache = await startCacheServiceV2();
    await using job = await caching.startJob();
    await using other = await caching.addTo(await startJob(caching.bucket, job.prefix));
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
    await using job = await caching.startJob();
    const result = await job.fetch({}, cache.env);
    await expectFetched(job, result, job.bytes);
    expect(result.warnings).toHaveLength(warnings);
    expect(result.log).toMatch(/The Actions cache (failed|is not used)|saved to the Actions cache: /);
  });

  test('a wrong token', async () => {
    await using cache = await startCacheServiceV2();
    await using job = await caching.startJob();
    const result = await job.fetch({}, { ...cache.env, ACTIONS_RUNTIME_TOKEN: 'wrong' });
    await expectFetched(job, result, job.bytes);
    expect(result.warnings).toEqual([expect.stringContaining('401')]);
  });
});
