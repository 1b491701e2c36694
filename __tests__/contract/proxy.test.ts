import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startJob } from '../../testing/job.ts';
import { startForwardProxy } from '../../testing/tls.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('case 60: the variables for proxies are read as by curl and pip', () => {
  test('without a scheme, from ALL_PROXY, lower case before upper case, and no proxy if empty', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startForwardProxy();
    const address = `127.0.0.1:${proxy.port}`;
    const refused = 'http://127.0.0.1:9';
    const outcomes: [title: string, env: Record<string, string>, goesThrough: number][] = [
      ['without a scheme', { HTTP_PROXY: address }, 1],
      ['all', { ALL_PROXY: `http://${address}` }, 1],
      ['lower case', { http_proxy: address, HTTP_PROXY: refused }, 1],
      ['empty', { http_proxy: '', HTTP_PROXY: refused, ALL_PROXY: refused }, 0],
      ['NO_PROXY with spaces', { HTTP_PROXY: refused, NO_PROXY: 'example.com, 127.0.0.1 , other' }, 0],
      ['NO_PROXY with spaces only', { HTTP_PROXY: refused, NO_PROXY: 'example.com 127.0.0.1' }, 0],
      ['NO_PROXY with a network', { HTTP_PROXY: refused, NO_PROXY: '10.0.0.0/8,127.0.0.0/8' }, 0],
      ['NO_PROXY with another network', { HTTP_PROXY: address, NO_PROXY: '10.0.0.0/8' }, 1],
      ['no_proxy before NO_PROXY', { HTTP_PROXY: address, no_proxy: '', NO_PROXY: '127.0.0.1' }, 1],
      ['NO_PROXY for an unsupported kind of proxy', { ALL_PROXY: 'socks5://x', NO_PROXY: '*' }, 0],
      ['of the other protocol', { HTTPS_PROXY: 'socks5://x' }, 0],
    ];
    for (const [title, env, goesThrough] of outcomes) {
      const before = proxy.asked.length;
      const result = await job.step('find', {}, env);
      expect([title, result.errors, result.warnings]).toEqual([title, [], []]);
      expect([title, proxy.asked.length - before]).toEqual([title, goesThrough]);
    }
  });

  test.each(['socks5://user:s3cretpw@127.0.0.1:1080', 'socks4://127.0.0.1:1080', 'ftp://127.0.0.1'])(
    '%s: an error that names the variable',
    async (address) => {
      await using job = await startJob(bucket);
      for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) {
        const result = await job.step('find', {}, { [name]: address });
        expect(result.code).toBe(1);
        expect(result.errors).toEqual([expect.stringContaining(name)]);
        // The runner doesn't show this command, and masks its value in all later lines.
        expect(result.log.replace(/^::add-mask::.*$/gm, '')).not.toContain('s3cretpw');
      }
    },
  );
});
