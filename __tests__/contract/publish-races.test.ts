import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startChannelJob } from '../../testing/channel.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';

const CONCURRENCY = 16;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('16 jobs publish at once: every wheel is on the pages, none twice', () => {
  test.each<[engine: string, without: string[], inputs: Record<string, string>]>([
    ['an engine with conditional writes', [], {}],
    ['an engine that ignores them', ['if-none-match', 'if-match'], { keep: '99' }],
  ])(
    '%s',
    async (_engine, without, inputs) => {
      await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, headers }) =>
        operation === 'put' && without.some((name) => headers[name] !== undefined) ? { without } : undefined,
      );
      await using job = await startChannelJob(bucket);
      const commits = Array.from({ length: CONCURRENCY }, (_, index) =>
        index.toString(16).padStart(2, '0').repeat(20),
      );
      const names = commits.map(
        (_, index) => `${index % 2 === 0 ? 'demo' : 'other'}-1.${index}-py3-none-any.whl`,
      );
      await Promise.all(commits.map((commit, index) => job.storeAll([names[index]!], { commit })));
      const results = await Promise.all(
        commits.map((commit) => job.publish({ commit, 'endpoint-url': proxy.endpoint, ...inputs })),
      );
      expect(results.flatMap(({ errors }) => errors)).toEqual([]);
      const paths = commits.map((commit, index) => `${commit}/${names[index]}`);
      expect([...(await job.linked('demo')), ...(await job.linked('other'))].sort()).toEqual(paths.sort());
      expect((await job.files()).filter((key) => key.startsWith('.'))).toEqual([]);
      const root = (await bucket.get(`${job.channels}/nightly/index.html`)).toString();
      for (const project of ['demo', 'other']) expect(root).toContain(`href="${project}/index.html"`);
    },
    300_000,
  );
});
