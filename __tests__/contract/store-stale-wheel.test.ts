import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('a wheel of another commit', () => {
  test('another commit is checked out: a warning', async () => {
    await using job = await startJob(bucket);
    const head = 'd'.repeat(40);
    await mkdir(join(job.workspace, '.git/refs/heads'), { recursive: true });
    await writeFile(join(job.workspace, '.git/HEAD'), 'ref: refs/heads/main\n');
    await writeFile(join(job.workspace, '.git/refs/heads/main'), `${head}\n`);
    await makeWheel(job.dist, W);
    const result = await job.step('store');
    expect(result.code).toBe(0);
    expect(result.warnings.join()).toContain(head);
    expect(result.warnings.join()).toContain(`commit ${COMMIT.slice(0, 7)},`);
  });

  test('case 72: a version that names another commit is refused, unless allow-stale-wheel', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.1.dev3+g1234567-py3-none-any.whl');
    const refused = await job.step('store');
    expect(refused.code).toBe(1);
    expect(refused.errors[0]).toMatch(new RegExp(`1234567.*${COMMIT}.*allow-stale-wheel`));
    expect(await job.keys()).toEqual([]);
    const allowed = await job.step('store', { 'allow-stale-wheel': 'true' });
    expect(allowed.code).toBe(0);
    expect(allowed.warnings.join()).toMatch(new RegExp(`1234567.*${COMMIT}`));
  });

  test('case 72: a version that names the checked-out commit is only a warning', async () => {
    await using job = await startJob(bucket);
    await mkdir(join(job.workspace, '.git'));
    await writeFile(join(job.workspace, '.git/HEAD'), `1234567${'d'.repeat(33)}\n`);
    await makeWheel(job.dist, 'foo-1.1.dev3+g1234567-py3-none-any.whl');
    const result = await job.step('store');
    expect(result.code).toBe(0);
    expect(result.warnings.join()).toMatch(new RegExp(`1234567.*${COMMIT}`));
  });

  test('a version that names this commit: no warning', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, `foo-1.1.dev3+g${COMMIT.slice(0, 9)}.d20260101-py3-none-any.whl`);
    expect((await job.step('store')).warnings).toEqual([]);
  });

  describe('or from before the job', () => {
    const HOUR = 3_600_000;
    /** Writes the event's file as the runner does, with modification times for its folder and itself. */
    async function event(job: Job, times: { folder: number; file: number }): Promise<Record<string, string>> {
      const file = join(job.workspace, '_temp/_github_workflow/event.json');
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, '{}');
      await utimes(file, new Date(times.file), new Date(times.file));
      await utimes(dirname(file), new Date(times.folder), new Date(times.folder));
      return { GITHUB_EVENT_PATH: file };
    }

    test('case 72: is refused, unless allow-stale-wheel', async () => {
      await using job = await startJob(bucket);
      const path = await makeWheel(job.dist, W);
      const env = await event(job, { folder: Date.now() + HOUR, file: Date.now() + 2 * HOUR });
      await using proxy = await startFaultProxy(bucket.endpoint);
      const refused = await job.step('store', { 'endpoint-url': proxy.endpoint }, env);
      expect(refused.code).toBe(1);
      expect(refused.commands.find(({ name }) => name === 'error')).toMatchObject({
        properties: { title: 'Wheel older than the job' },
        message: expect.stringMatching(/rm -rf dist.*allow-stale-wheel/),
      });
      expect(refused.errors[0]).toContain(path);
      expect(proxy.requests).toEqual([]);
      const allowed = await job.step('store', { 'allow-stale-wheel': 'true' }, env);
      expect({ code: allowed.code, errors: allowed.errors }).toEqual({ code: 0, errors: [] });
      expect(allowed.warnings[0]).toContain(path);
      expect(await job.keys()).toEqual([job.key(W)]);
    });

    test('no warning if an earlier step of the job wrote it, after which the runner wrote the event again', async () => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W);
      const env = await event(job, { folder: Date.now() - HOUR, file: Date.now() + HOUR });
      expect((await job.step('store', {}, env)).warnings).toEqual([]);
    });

    test('no warning if the runner writes the event once, and other files beside it before each step', async () => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W);
      const env = await event(job, { folder: Date.now() + HOUR, file: Date.now() - HOUR });
      expect((await job.step('store', {}, env)).warnings).toEqual([]);
    });

    test('no warning if the job restored it from a cache or an archive, but a line in the log', async () => {
      await using job = await startJob(bucket);
      const path = await makeWheel(job.dist, W);
      await utimes(path, new Date('2020-01-01'), new Date('2020-01-01'));
      const env = await event(job, { folder: Date.now() - HOUR, file: Date.now() });
      const result = await job.step('store', {}, env);
      expect(result.warnings).toEqual([]);
      expect(result.log).toContain(`${W} was last written before this job began`);
    });

    test('no warning if the runner writes no event', async () => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W);
      const env = { GITHUB_EVENT_PATH: join(job.workspace, 'nowhere.json') };
      expect((await job.step('store', {}, env)).warnings).toEqual([]);
    });
  });
});
