/** The input `commit` with several lines: the first commit that has all requested wheels is used. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const [NEW, MIDDLE, OLD] = ['c', 'b', 'a'].map((digit) => digit.repeat(40)) as [string, string, string];
const HISTORY = `${NEW}\n${MIDDLE}\n${OLD}\n`;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

const store = async (job: Job, commit: string, target = '') =>
  job.step('store', { commit, target, path: await makeWheel(job.workspace, `${commit}${target}/${W}`) });

describe('several commits, newest first', () => {
  test('the first that is stored is used, with one listing each up to that one', async () => {
    await using job = await startJob(bucket);
    await store(job, MIDDLE);
    await store(job, OLD);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const found = await job.step('find', { commit: HISTORY, 'endpoint-url': proxy.endpoint });
    expect(found).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(found.outputs).toMatchObject({ commit: MIDDLE, 'skip-build': 'true', 'missing-targets': '[]' });
    expect(found.outputs['wheel-key']).toContain(`/${MIDDLE}/`);
    expect(found.outputs['index-url']).toContain(`/${MIDDLE}/`);
    expect(found.log).toContain(`Commit ${MIDDLE} has the requested wheels`);
    expect(proxy.operations()).toEqual(['list', 'list', 'head']);
  });

  test('one that has only some of the targets is passed over', async () => {
    await using job = await startJob(bucket);
    for (const [commit, target] of [
      [NEW, 'x'],
      [MIDDLE, 'x'],
      [MIDDLE, 'y'],
      [OLD, 'x'],
      [OLD, 'y'],
    ] as const)
      await store(job, commit, target);
    const found = await job.step('find', { commit: HISTORY, target: 'x,y' });
    expect(found.outputs).toMatchObject({ commit: MIDDLE, 'skip-build': 'true' });
    const named = await job.step('find', { commit: HISTORY, target: '*', expect: 'y' });
    expect(named.outputs).toMatchObject({ commit: MIDDLE, 'skip-build': 'true' });
    const any = await job.step('find', { commit: HISTORY, target: '*' });
    expect(any.outputs).toMatchObject({ commit: NEW, 'skip-build': 'true' });
  });

  test('none has all: the answer is about the first', async () => {
    await using job = await startJob(bucket);
    await store(job, OLD, 'x');
    const found = await job.step('find', { commit: HISTORY, target: 'x,y' });
    expect(found.outputs).toMatchObject({
      commit: '',
      'skip-build': 'false',
      'missing-targets': '["x","y"]',
    });
    expect(found.log).toContain(`of commit ${NEW.slice(0, 7)} or 2 older ones`);
    const fetched = await job.step('fetch', { commit: HISTORY, target: 'x,y' });
    expect(fetched.code).toBe(1);
    expect(fetched.errors[0]).toContain('or 2 older ones');
  });

  test('fetch downloads the wheel of the commit that is used, and says which it is', async () => {
    await using job = await startJob(bucket);
    await store(job, OLD);
    const fetched = await job.step('fetch', { commit: ` ${NEW} \r\n\n${OLD}\n${OLD}`, path: 'new' });
    expect(fetched).toMatchObject({ code: 0, errors: [] });
    expect(fetched.outputs.commit).toBe(OLD);
    expect(fetched.summary).toContain(OLD);
  });

  test('with wait: all of them are looked up again until one has the wheel', async () => {
    await using job = await startJob(bucket);
    let isStored: Promise<unknown> | undefined;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) => {
      if (operation === 'list' && nth === 3) isStored = store(job, MIDDLE);
      return isStored === undefined ? undefined : { after: isStored };
    });
    const found = await job.step('find', { commit: HISTORY, wait: '60', 'endpoint-url': proxy.endpoint });
    expect(found.outputs).toMatchObject({ commit: MIDDLE, 'skip-build': 'true' });
  });
});

describe('rejected before any request', () => {
  const cases: [title: string, commit: string, message: RegExp][] = [
    ['a branch among commits', `${NEW}\nmain`, /'commit' \("main"\) is not a full commit hash/],
    ['a short hash', `${NEW}\n${OLD.slice(0, 7)}`, /is not a full commit hash/],
    ['only blank lines', ' \n\n', /'commit' is empty/],
    ['101 commits', hashes(101), /holds 101 commits\. At most 100/],
  ];
  test.each(cases)('%s', async (_title, commit, message) => {
    await using job = await startJob(bucket);
    const result = await job.step('find', { commit, 'endpoint-url': 'http://127.0.0.1:9' });
    expect(result).toMatchObject({ code: 1, errors: [expect.stringMatching(message)] });
  });

  test('100 commits are looked up', async () => {
    await using job = await startJob(bucket);
    const found = await job.step('find', { commit: hashes(100) });
    expect(found).toMatchObject({ code: 0, errors: [] });
  });

  test('two commits for a wheel to store', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const result = await job.step('store', { commit: HISTORY });
    expect(result.errors).toEqual([expect.stringContaining('holds 3 commits. A wheel is stored for one')]);
    expect(await job.keys()).toEqual([]);
  });
});

function hashes(count: number): string {
  return Array.from({ length: count }, (_, index) => String(index).padStart(40, '0')).join('\n');
}
