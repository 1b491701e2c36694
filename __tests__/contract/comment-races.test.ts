import { beforeAll, describe, expect, test } from '@jest/globals';
import { readMarker } from '../../src/comment/text.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import {
  ACTIONS_BOT,
  type ApiFault,
  type ApiLag,
  type GitHubApi,
  startGitHubApi,
} from '../../testing/github-api.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { ROUNDS } from '../../testing/random.ts';
import { JOB_TOKEN } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';
import { commandsIn, comment, commentBody, event, expectSuccess, NEWER_COMMIT, W } from './commenting.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

describe('older and newer runs', () => {
  test.each<[title: string, env: Record<string, string>]>([
    ['an older run', { GITHUB_RUN_ID: '6' }],
    ['an older attempt', { GITHUB_RUN_ID: '9', GITHUB_RUN_ATTEMPT: '1' }],
  ])('%s of another commit that finishes late does not change the comment', async (_title, env) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    expectSuccess(
      await comment(job, api, { commit: NEWER_COMMIT }, { GITHUB_RUN_ID: '9', GITHUB_RUN_ATTEMPT: '2' }),
    );
    const before = api.comments.map(({ body }) => body);
    const late = await comment(job, api, {}, env);
    expectSuccess(late);
    expect(api.comments.map(({ body }) => body)).toEqual(before);
    expect(late.log).toContain(`it shows commit ${NEWER_COMMIT} of run 9, attempt 2, which is newer`);
  });

  test('for workflow_run, the run that triggered it counts, not the run of its own workflow', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const triggeredBy = async (id: number) =>
      event(job, 'workflow_run', { workflow_run: { id, run_attempt: 1, pull_requests: [{ number: 5 }] } });
    expectSuccess(
      await comment(job, api, { commit: NEWER_COMMIT }, { ...(await triggeredBy(9)), GITHUB_RUN_ID: '20' }),
    );
    expectSuccess(await comment(job, api, {}, { ...(await triggeredBy(8)), GITHUB_RUN_ID: '21' }));
    expect(api.comments).toHaveLength(1);
    expect(api.comments[0]?.body).toContain(NEWER_COMMIT);
  });

  test('an older run that reads before a newer run writes, and writes after it, is overwritten', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const olderIsAboutToWrite = Promise.withResolvers<void>();
    const newerHasWritten = Promise.withResolvers<void>();
    await using api = await startGitHubApi({
      rule: ({ operation, body }): ApiFault => {
        if (operation !== 'update') return undefined;
        if (!body.includes(`commit=${COMMIT}`)) {
          newerHasWritten.resolve();
          return undefined;
        }
        olderIsAboutToWrite.resolve();
        return { after: newerHasWritten.promise };
      },
    });
    expectSuccess(await comment(job, api, { commit: 'd'.repeat(40) }, { GITHUB_RUN_ID: '5' }));
    const older = comment(job, api, {}, { GITHUB_RUN_ID: '6' });
    await olderIsAboutToWrite.promise;
    expectSuccess(await comment(job, api, { commit: NEWER_COMMIT }, { GITHUB_RUN_ID: '9' }));
    expectSuccess(await older);
    expect(api.comments).toHaveLength(1);
    expect(api.comments[0]?.body).toContain(`commit=${NEWER_COMMIT}`);
    expect(api.operations().filter((operation) => operation === 'update')).toHaveLength(3);
  });

  test('two commits in one run: the first remains, and the log contains a remedy', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    expectSuccess(await comment(job, api));
    const second = await comment(job, api, { commit: NEWER_COMMIT });
    expectSuccess(second);
    expect(api.comments[0]?.body).toContain(`commit=${COMMIT}`);
    expect(second.log).toContain("Give all jobs of a workflow the same 'commit'");
  });
});

describe('jobs of a matrix at the same time', () => {
  /** Stores one wheel per target, all at once. */
  async function storeAll(job: Job, api: GitHubApi, targets: readonly string[], run: string): Promise<void> {
    const results = await Promise.all(
      targets.toSorted().map((target) => comment(job, api, { target, path: target }, { GITHUB_RUN_ID: run })),
    );
    for (const result of results) expectSuccess(result);
    const urls = results.map(({ outputs }) => outputs['wheel-url']!);
    expect(commandsIn(api.comments[0]?.body)).toEqual(
      urls.flatMap((url) => [`pip install "${url}"`, `uv pip install "${url}"`]),
    );
    expect(api.comments).toHaveLength(1);
  }

  test('8 jobs create the comment, then update it: no line is lost or duplicated', async () => {
    const targets = Array.from({ length: 8 }, (_, index) => `t${index}`);
    let writes = 0;
    for (let round = 1; round <= ROUNDS; round += 1) {
      await using job = await startJob(bucket);
      await using api = await startGitHubApi();
      await Promise.all(targets.map((target) => makeWheel(job.workspace, `${target}/${W}`)));
      await storeAll(job, api, targets, '7');
      await storeAll(job, api, targets, '8');
      writes += api.operations().filter((operation) => operation !== 'list').length;
    }
    process.stdout.write(
      `comments: ${ROUNDS} rounds of 2 × 8 jobs, ${writes} writes, no line lost or duplicated\n`,
    );
  }, 1_800_000);

  test('two jobs that find no comment both create one: the first remains, with both lines', async () => {
    await using job = await startJob(bucket);
    const bothAreAboutTo = Promise.withResolvers<void>();
    await using api = await startGitHubApi({
      rule: ({ operation, nth }): ApiFault => {
        if (operation !== 'create') return undefined;
        if (nth === 2) bothAreAboutTo.resolve();
        return { after: bothAreAboutTo.promise };
      },
    });
    const targets = ['one', 'two'];
    await Promise.all(targets.map((target) => makeWheel(job.workspace, `${target}/${W}`)));
    await storeAll(job, api, targets, '7');
    expect(api.comments[0]?.id).toBe(1001);
    expect(api.operations().filter((operation) => operation === 'remove')).toHaveLength(1);
  });

  test('a job that lists the store before the other job stores, and writes after it, writes both lines', async () => {
    await using job = await startJob(bucket);
    const oneIsAboutToWrite = Promise.withResolvers<void>();
    const twoIsDone = Promise.withResolvers<void>();
    await using api = await startGitHubApi({
      rule: ({ operation, body }): ApiFault => {
        if (operation !== 'update' || body.includes('/two/')) return undefined;
        oneIsAboutToWrite.resolve();
        return { after: twoIsDone.promise };
      },
    });
    for (const target of ['one', 'two']) await makeWheel(job.workspace, `${target}/${W}`);
    expectSuccess(
      await comment(job, api, { target: 'one', path: 'one', commit: NEWER_COMMIT }, { GITHUB_RUN_ID: '6' }),
    );
    const one = comment(job, api, { target: 'one', path: 'one' });
    await oneIsAboutToWrite.promise;
    expectSuccess(await comment(job, api, { target: 'two', path: 'two' }));
    twoIsDone.resolve();
    expectSuccess(await one);
    expect(commandsIn(api.comments[0]?.body)).toHaveLength(4);
  });
});

describe('what an earlier step left behind', () => {
  test('a second comment of an earlier run is removed', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const body = await commentBody(job);
    api.comment(ACTIONS_BOT, body.replace('run=7', 'run=5'));
    api.comment(ACTIONS_BOT, body.replace('run=7', 'run=6'));
    expectSuccess(await comment(job, api));
    expect(api.comments).toEqual([{ id: 1001, body, user: ACTIONS_BOT }]);
  });

  test('a comment that is deleted between read and write is created again', async () => {
    await using job = await startJob(bucket);
    const body = await commentBody(job);
    await using api = await startGitHubApi({
      rule: ({ operation }): ApiFault => {
        if (operation === 'update') api.comments.splice(0);
        return undefined;
      },
    });
    api.comment(ACTIONS_BOT, body.replace('run=7', 'run=6'));
    expectSuccess(await comment(job, api));
    expect(api.comments).toHaveLength(1);
    expect(commandsIn(api.comments[0]?.body)).toHaveLength(2);
  });
});

describe('case 73: GitHub’s list lags behind', () => {
  const WRITES = ['create', 'update', 'remove'] as const;
  const written = (api: GitHubApi) =>
    Object.fromEntries(WRITES.map((name) => [name, api.operations().filter((seen) => seen === name).length]));

  /** Comments once each of `runs` has left a comment. Expects one update, and the removal of all other comments. */
  async function expectOneRemains(lag: ApiLag, runs: readonly number[]): Promise<void> {
    await using job = await startJob(bucket);
    const body = await commentBody(job);
    await using api = await startGitHubApi({ lag });
    for (const run of runs) api.comment(ACTIONS_BOT, body.replace('run=7', `run=${run}`));
    expectSuccess(await comment(job, api));
    expect(api.comments.map((shown) => shown.body)).toEqual([body]);
    expect(written(api)).toEqual({ create: 0, update: 1, remove: runs.length - 1 });
  }

  test.concurrent.each([1, 3, 5, Number.POSITIVE_INFINITY])(
    'a comment that is missing from the next %p lists is created once',
    async (create) => {
      await using job = await startJob(bucket);
      await using api = await startGitHubApi({ lag: { create } });
      await makeWheel(job.dist, W);
      const result = await comment(job, api);
      expectSuccess(result);
      expect(result.log).toContain(`#issuecomment-${api.comments[0]?.id}`);
      expect(api.comments).toHaveLength(1);
      expect(written(api)).toEqual({ create: 1, update: 0, remove: 0 });
    },
  );

  test.concurrent.each([1, 3, Number.POSITIVE_INFINITY])(
    'an edit that is missing from the next %p lists is made once',
    (update) => expectOneRemains({ update }, [6]),
  );

  test.concurrent.each([1, 3, Number.POSITIVE_INFINITY])(
    'removed comments that the next %p lists still show are removed once',
    (remove) => expectOneRemains({ remove }, [3, 4, 5, 6]),
  );

  test('comments that another client removed, but the list still shows: 404 for each, and one new comment', async () => {
    await using job = await startJob(bucket);
    const body = await commentBody(job);
    await using api = await startGitHubApi({ lag: { remove: Number.POSITIVE_INFINITY } });
    const old = [3, 4, 5].map((run) => api.comment(ACTIONS_BOT, body.replace('run=7', `run=${run}`)));
    const headers = { authorization: `token ${JOB_TOKEN}`, 'user-agent': 'test' };
    const url = `${api.url}/repos/octo/demo/issues/comments`;
    for (const { id } of old) await fetch(`${url}/${id}`, { method: 'DELETE', headers });
    expectSuccess(await comment(job, api));
    expect(api.comments.map((shown) => readMarker(shown.body)?.run)).toEqual(['7']);
    expect(written(api)).toEqual({ create: 1, update: 1, remove: 3 + 2 });
  });

  test('two jobs each create a comment, and the list shows neither for a while: the first remains, with both lines', async () => {
    await using job = await startJob(bucket);
    const bothAreAboutTo = Promise.withResolvers<void>();
    await using api = await startGitHubApi({
      lag: { create: 6, update: 2, remove: 2 },
      rule: ({ operation, nth }): ApiFault => {
        if (operation !== 'create') return undefined;
        if (nth === 2) bothAreAboutTo.resolve();
        return { after: bothAreAboutTo.promise };
      },
    });
    const targets = ['one', 'two'];
    await Promise.all(targets.map((target) => makeWheel(job.workspace, `${target}/${W}`)));
    const results = await Promise.all(targets.map((target) => comment(job, api, { target, path: target })));
    results.forEach(expectSuccess);
    expect(api.comments.map(({ id }) => id)).toEqual([1001]);
    expect(commandsIn(api.comments[0]?.body)).toHaveLength(4);
    expect(written(api)).toMatchObject({ create: 2, remove: 1 });
  });

  test.each<[title: string, lag: number, creates: number]>([
    ['is found when the list shows it', 3, 1],
    ['is tried twice, but not a third time', Number.POSITIVE_INFINITY, 2],
  ])('a comment whose response is lost each time %s', async (_title, create, creates) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi({
      lag: { create },
      rule: ({ operation }) => (operation === 'create' ? { cut: 'after' } : undefined),
    });
    await makeWheel(job.dist, W);
    const result = await comment(job, api);
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(written(api)).toEqual({ create: creates, update: 0, remove: 0 });
  });
});
