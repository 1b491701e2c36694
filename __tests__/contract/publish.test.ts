import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startChannelJob } from '../../testing/channel.ts';
import { s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT } from '../../testing/job.ts';
import { makeWheel } from '../../testing/wheels.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

const OTHER = 'b'.repeat(40);
describe('publish', () => {
  test('copies all wheels of the commit into the channel, with their core metadata and pages', async () => {
    await using job = await startChannelJob(bucket);
    const names = [
      'demo-1.0+cu121-cp312-cp312-linux_x86_64.whl',
      'demo-1.0+cu121-cp312-cp312-win_amd64.whl',
      'other-2.0-py3-none-any.whl',
    ];
    await job.storeAll(names);
    const action = { GITHUB_ACTION_REPOSITORY: 'org/wheel-store-action', GITHUB_ACTION_REF: 'v1' };
    const { code, errors, warnings, outputs, summary, log } = await job.publish({}, action);
    expect({ code, errors, warnings }).toEqual({ code: 0, errors: [], warnings: [] });
    expect(await job.files()).toEqual(
      names.flatMap((name) => {
        const key = `${name.split('-')[0]}/${COMMIT}/${name}`;
        return [key, `${key}.metadata`];
      }),
    );
    expect(await job.linked()).toEqual(names.slice(0, 2).map((name) => `${COMMIT}/${name}`));
    const published = JSON.parse(outputs.published!);
    expect(published.map(({ name }: { name: string }) => name).sort()).toEqual(names);
    const [{ key, sha256 }] = published;
    expect((await bucket.head(key)).Metadata).toMatchObject({ sha256, commit: COMMIT, run: '7' });
    expect(outputs).toMatchObject({ removed: '[]', 'skip-build': 'true' });
    expect(outputs['channel-url']).toBe(`${bucket.endpoint}/${bucket.name}/${job.channels}/nightly/`);
    expect(summary).toContain('explicit = true');
    expect(log).toContain('pip install --extra-index-url');
    expect(log).toContain('/org/wheel-store-action/blob/v1/docs/channels.md#dependency-confusion');
    expect(summary).toContain('More about this</a>');
    expect((await bucket.get(`${job.channels}/nightly/index.html`)).toString()).toContain(
      'href="demo/index.html"',
    );
  });

  test('a second time changes nothing', async () => {
    await using job = await startChannelJob(bucket);
    await job.storeAll(['demo-1.0-py3-none-any.whl']);
    await job.publish();
    const keys = await bucket.keys(job.channels);
    const heads = await Promise.all(keys.map(async (key) => (await bucket.head(key)).LastModified));
    const { log, outputs } = await job.publish();
    expect(log).toContain('Nothing to copy');
    expect(JSON.parse(outputs.published!)).toHaveLength(1);
    expect(await Promise.all(keys.map(async (key) => (await bucket.head(key)).LastModified))).toEqual(heads);
  });

  test('shows the newest of each filename', async () => {
    await using job = await startChannelJob(bucket);
    await job.storeAll(['demo-1.0-py3-none-any.whl'], { run: '8' });
    await job.storeAll(['demo-1.0-py3-none-any.whl'], { commit: OTHER, run: '9' });
    await job.publish({ commit: OTHER });
    const { log, outputs } = await job.publish();
    expect(await job.linked()).toHaveLength(1);
    expect((await bucket.get(`${job.channels}/nightly/demo/index.html`)).toString()).toContain(
      `href="${OTHER}/`,
    );
    expect(log).toContain('is not on the page');
    expect(outputs.published).toBe('[]');
  });

  test('keeps the newest versions, and deletes the others a step later', async () => {
    await using job = await startChannelJob(bucket);
    const commits = ['1', '2', '3', '4'].map((digit) => digit.repeat(40));
    for (const [index, commit] of commits.entries()) {
      await job.storeAll([`demo-1.${index}-py3-none-any.whl`], { commit, run: String(10 + index) });
    }
    const wheels = async () => (await job.files()).filter((key) => key.endsWith('.whl')).length;
    const counts: [number, number, number][] = [];
    for (const commit of commits) {
      const { outputs } = await job.publish({ commit, keep: '2' });
      counts.push([(await job.linked()).length, JSON.parse(outputs.removed!).length, await wheels()]);
    }
    expect(counts).toEqual([
      [1, 0, 1],
      [2, 0, 2],
      [2, 1, 3],
      [2, 1, 3],
    ]);
    // An old version that is published again stays, although there are newer ones.
    await job.publish({ commit: commits[0]!, keep: '2' });
    expect(await job.linked()).toContain(`${commits[0]}/demo-1.0-py3-none-any.whl`);
    expect(await job.linked()).toHaveLength(3);
  });

  test.each([
    [{ channel: 'Nightly' }, /'channel'.*"Nightly"/],
    [{ channel: COMMIT }, /is a commit/],
    [{ channel: '' }, /'channel' is required/],
    [{ channel: '../x' }, /'channel'/],
    [{ keep: '0' }, /'keep'/],
    [{ keep: 'x' }, /'keep'/],
    [{ channels: 'a/../b' }, /'channels'/],
    [{ channels: 'builds', prefix: 'builds' }, /overlaps/],
    [{ 'channel-bucket': 's3://x' }, /'channel-bucket'/],
  ])('refuses %j before anything is sent', async (inputs, message) => {
    await using job = await startChannelJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const { code, errors } = await job.publish({ ...inputs, 'endpoint-url': proxy.endpoint } as Record<
      string,
      string
    >);
    expect({ code, sent: proxy.requests.length }).toEqual({ code: 1, sent: 0 });
    expect(errors).toEqual([expect.stringMatching(message)]);
  });

  test('writes nothing if a wheel is missing, two have one filename, or the channel has other bytes', async () => {
    await using job = await startChannelJob(bucket);
    await job.storeAll(['demo-1.0-py3-none-any.whl']);
    expect((await job.publish({ expect: 't0,t1' })).errors).toEqual([expect.stringContaining('t1')]);
    expect(await job.publish({ expect: 't0,t1', 'on-missing': 'ignore' })).toMatchObject({ code: 0 });
    await job.storeAll(['demo-1.0-py3-none-any.whl'], { commit: OTHER });
    await job.step('store', { path: `${OTHER}-7-0`, target: 'copy', commit: OTHER, index: 'false' });
    expect((await job.publish({ commit: OTHER })).errors).toEqual([expect.stringContaining('same filename')]);
    expect(await bucket.keys(job.channels)).toEqual([]);
    await job.publish();
    const before = await bucket.keys(job.channels);
    const path = await makeWheel(job.workspace, 'x/demo-1.0-py3-none-any.whl', {
      metadata: ['Summary: other'],
    });
    await job.step('store', { path, target: 't0', index: 'false' }, { GITHUB_RUN_ID: '8' });
    expect((await job.publish()).errors).toEqual([expect.stringContaining('has the SHA-256')]);
    expect(await bucket.keys(job.channels)).toEqual(before);
  });

  test('goes through memory if the store does not copy', async () => {
    await using job = await startChannelJob(bucket);
    await job.storeAll(['demo-1.0-py3-none-any.whl']);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ headers }) =>
      headers['x-amz-copy-source'] === undefined ? undefined : s3Error(501, 'NotImplemented'),
    );
    const { code, log } = await job.publish({ 'endpoint-url': proxy.endpoint });
    expect(code).toBe(0);
    expect(log).toContain('Copied through memory');
    const [source] = (await job.keys()).filter((key) => key.endsWith('.whl'));
    const copy = `${job.channels}/nightly/demo/${COMMIT}/demo-1.0-py3-none-any.whl`;
    expect(await bucket.get(copy)).toEqual(await bucket.get(source!));
  });

  test('does not show a set of which a stopped step copied only a part', async () => {
    await using job = await startChannelJob(bucket);
    const names = ['linux_x86_64', 'win_amd64'].map((tag) => `demo-2.0-cp312-cp312-${tag}.whl`);
    await job.storeAll(names);
    await job.storeAll(['demo-1.0-py3-none-any.whl'], { commit: OTHER });
    await using proxy = await startFaultProxy(bucket.endpoint, ({ headers }) =>
      String(headers['x-amz-copy-source']).includes('win_amd64') ? s3Error(403, 'AccessDenied') : undefined,
    );
    expect((await job.publish({ 'endpoint-url': proxy.endpoint })).code).toBe(1);
    expect((await job.files()).filter((key) => key.endsWith('.whl'))).toHaveLength(1);
    await job.publish({ commit: OTHER });
    expect(await job.linked()).toEqual([`${OTHER}/demo-1.0-py3-none-any.whl`]);
    // The job is run again.
    expect((await job.publish()).errors).toEqual([]);
    expect(await job.linked()).toEqual([
      ...names.map((name) => `${COMMIT}/${name}`),
      `${OTHER}/demo-1.0-py3-none-any.whl`,
    ]);
    expect((await job.files()).filter((key) => key.startsWith('.'))).toEqual([]);
  });
});
