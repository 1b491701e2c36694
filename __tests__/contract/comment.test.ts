import { randomUUID } from 'node:crypto';
import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { readMarker } from '../../src/comment/text.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import {
  ACTIONS_BOT,
  type ApiFault,
  type GitHubApi,
  OTHER_BOT,
  PERSON,
  PERSON_TOKEN,
  PULL_REQUEST,
  type SeenApiRequest,
  STRANGER,
  startGitHubApi,
} from '../../testing/github-api.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { runProgram, tool } from '../../testing/python.ts';
import { ROUNDS } from '../../testing/random.ts';
import { JOB_TOKEN, type StepResult } from '../../testing/runner.ts';
import { AUTHORITY, startForwardProxy, startTls } from '../../testing/tls.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const NEWER_COMMIT = 'b'.repeat(40);
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

/** Writes the event's payload, and says what the runner sets for it. */
async function event(job: Job, name: string, payload: unknown): Promise<Record<string, string>> {
  const path = join(job.workspace, `${randomUUID()}.json`);
  await writeFile(path, JSON.stringify(payload));
  // The runner does this when the job begins, and these jobs have built their wheels by now.
  await utimes(path, 0, 0);
  return { GITHUB_EVENT_NAME: name, GITHUB_EVENT_PATH: path };
}

function pullRequest(repository = 'octo/demo') {
  return { pull_request: { number: PULL_REQUEST, head: { repo: { full_name: repository } } } };
}

/** What the runner sets for a run of the pull request. */
async function environment(job: Job, api: GitHubApi): Promise<Record<string, string>> {
  return {
    ...(await event(job, 'pull_request', pullRequest())),
    GITHUB_API_URL: api.url,
    GITHUB_WORKFLOW_REF: `octo/demo/.github/workflows/wheels.yml@refs/pull/${PULL_REQUEST}/merge`,
  };
}

/** Stores one wheel and comments on the pull request. */
async function comment(
  job: Job,
  api: GitHubApi,
  inputs: Record<string, string> = {},
  env: Record<string, string | undefined> = {},
): Promise<StepResult> {
  return job.step(
    'store',
    { comment: 'true', index: 'false', ...inputs },
    { ...(await environment(job, api)), ...env },
  );
}

/** The commands that a comment shows. */
function commandsIn(body = ''): string[] {
  return [...body.matchAll(/^(?:uv )?pip install .*$/gm)].map(([command]) => command);
}

function isFine({ code, errors, warnings }: StepResult): void {
  expect({ code, errors, warnings }).toEqual({ code: 0, errors: [], warnings: [] });
}

describe('one comment', () => {
  test('with the commands that install the wheel, which a second run updates', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const first = await comment(job, api);
    isFine(first);
    expect(api.comments).toHaveLength(1);
    const url = first.outputs['wheel-url'];
    expect(commandsIn(api.comments[0]?.body)).toEqual([`pip install "${url}"`, `uv pip install "${url}"`]);
    expect(first.log).toContain(`#issuecomment-${api.comments[0]?.id}`);
    expect(first.commands).toContainEqual({ name: 'add-mask', properties: {}, message: JOB_TOKEN });
    const second = await comment(job, api, { commit: NEWER_COMMIT }, { GITHUB_RUN_ID: '8' });
    isFine(second);
    expect(api.comments).toHaveLength(1);
    expect(commandsIn(api.comments[0]?.body)[0]).toBe(`pip install "${second.outputs['wheel-url']}"`);
    expect(api.operations()).toEqual(['list', 'create', 'list', 'list', 'update', 'list']);
  });
});

/** A body that a comment of ours has, with the run, commit and author of the marker changed. */
async function bodyOfOurs(job: Job, changes: (body: string) => string = (body) => body): Promise<string> {
  await using api = await startGitHubApi();
  await makeWheel(job.dist, W);
  isFine(await comment(job, api));
  return changes(api.comments[0]!.body);
}

describe('which pull request', () => {
  test.each<[title: string, name: string, payload: unknown, number: string]>([
    ['pull_request_target', 'pull_request_target', pullRequest('somebody/demo'), ''],
    [
      'issue_comment on a pull request',
      'issue_comment',
      { issue: { number: PULL_REQUEST, pull_request: { url: 'https://api.github.com/x' } } },
      '',
    ],
    [
      'workflow_run that names it',
      'workflow_run',
      { workflow_run: { pull_requests: [{ number: PULL_REQUEST }] } },
      '',
    ],
    ['workflow_run of a fork, with the number', 'workflow_run', { workflow_run: { pull_requests: [] } }, '5'],
    ['a push, with the number', 'push', {}, '5'],
    ['another pull request than the event’s', 'pull_request', { pull_request: { number: 6 } }, '5'],
  ])('%s', async (_title, name, payload, number) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    isFine(await comment(job, api, { 'pull-request': number }, await event(job, name, payload)));
    expect(api.comments).toHaveLength(1);
  });

  test.each<[title: string, name: string, payload: unknown]>([
    ['a push', 'push', { ref: 'refs/heads/main' }],
    ['a comment on an issue', 'issue_comment', { issue: { number: PULL_REQUEST } }],
    ['workflow_run of a fork, without the number', 'workflow_run', { workflow_run: { pull_requests: [] } }],
    ['a payload that is no JSON object', 'pull_request', 'x'],
    ['a number that is none', 'pull_request', { pull_request: { number: '5; rm -rf /' } }],
  ])('%s: none, which the log says', async (_title, name, payload) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const result = await comment(job, api, {}, await event(job, name, payload));
    isFine(result);
    expect(result.log).toContain('No comment: this run is of no pull request');
    expect(api.requests).toEqual([]);
  });

  test('comment: false asks nothing, and loads nothing of GitHub’s client', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    // Node's own report of every module that it loads.
    const report = { NODE_DEBUG: 'esm' };
    const loaded = async ({ log }: StepResult): Promise<object> => {
      const files = new Set(log.match(/(?<=file:\/\/)\S+?\/dist\/[\w/-]+\.js/g));
      const code = await Promise.all([...files].map((file) => readFile(file, 'utf8')));
      const isThere = (text: string) => code.some((file) => file.includes(text));
      return {
        store: isThere('Wheel stored'),
        comment: isThere('pull-requests: write'),
        library: isThere('octokit'),
      };
    };
    const without = await comment(job, api, { comment: 'false' }, report);
    expect(without).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(api.requests).toEqual([]);
    expect(await loaded(without)).toEqual({ store: true, comment: false, library: false });
    const withComment = await comment(job, api, {}, report);
    expect(await loaded(withComment)).toEqual({ store: true, comment: true, library: true });
  });

  test('an Enterprise Server is asked where it is', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi({ base: '/api/v3', description: 'ghes-3.19' });
    await makeWheel(job.dist, W);
    isFine(await comment(job, api));
    expect(api.comments).toHaveLength(1);
  });

  test('through a proxy', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await using proxy = await startForwardProxy();
    await makeWheel(job.dist, W);
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: new URL(bucket.endpoint).host };
    isFine(await comment(job, api, {}, env));
    expect(api.comments).toHaveLength(1);
    expect(new Set(proxy.asked)).toEqual(new Set([new URL(api.url).host]));
  });

  test('through HTTPS_PROXY, with the certificate of a private authority', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await using tls = await startTls(api.url);
    await using proxy = await startForwardProxy();
    await makeWheel(job.dist, W);
    const env = {
      GITHUB_API_URL: `https://localhost:${tls.port}`,
      NODE_EXTRA_CA_CERTS: AUTHORITY,
      HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
    };
    isFine(await comment(job, api, {}, env));
    expect(api.comments).toHaveLength(1);
    expect(new Set(proxy.asked)).toEqual(new Set([`localhost:${tls.port}`]));
  });

  test('of a repository that has another name by now', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi({
      rule: ({ url, isByNumber }): ApiFault => {
        const location = `/repositories/1296269${url.split('/octo/demo')[1]}`;
        return !isByNumber ? { status: 301, message: 'Moved Permanently', headers: { location } } : undefined;
      },
    });
    await makeWheel(job.dist, W);
    isFine(await comment(job, api));
    expect(api.comments).toHaveLength(1);
    expect(api.operations()).toEqual(['list', 'list', 'create', 'create', 'list', 'list']);
  });

  test.each(['https://elsewhere.example.com/', 'file:///etc/passwd', 'http://127.0.0.1:1/'])(
    'a redirect to %p is not followed: the request carries a token',
    async (location) => {
      await using job = await startJob(bucket);
      await using api = await startGitHubApi({
        rule: () => ({ status: 301, message: 'Moved Permanently', headers: { location } }),
      });
      await makeWheel(job.dist, W);
      const result = await comment(job, api);
      expect(result).toMatchObject({ code: 0, errors: [] });
      expect(result.warnings).toHaveLength(1);
      expect(result.warnings[0]).toContain('Moved Permanently');
      expect(api.requests).toHaveLength(1);
    },
  );
});

describe('a build that was skipped', () => {
  test('comments with the stored wheel', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.workspace, `elsewhere/${W}`);
    await job.step('store', { path: 'elsewhere' });
    await rm(join(job.workspace, 'elsewhere'), { recursive: true });
    const result = await comment(job, api);
    isFine(result);
    expect(result.outputs['skip-build']).toBe('true');
    expect(commandsIn(api.comments[0]?.body)[0]).toBe(`pip install "${result.outputs['wheel-url']}"`);
  });
});

describe('whose comment it is', () => {
  test('ours is found among more than 200', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const body = await bodyOfOurs(job);
    for (let index = 0; index < 230; index += 1) api.comment(STRANGER, `comment ${index}`);
    api.comment(ACTIONS_BOT, body.replace('run=7', 'run=6'));
    isFine(await comment(job, api));
    expect(api.comments).toHaveLength(231);
    expect(api.comments[230]?.body).toBe(body);
    expect(api.operations().slice(0, 4)).toEqual(['list', 'list', 'list', 'update']);
  });

  test('a person’s that repeats or quotes the marker is not touched', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const body = await bodyOfOurs(job);
    const theirs = [body, `> ${body}`, `See:\n${body}`];
    for (const text of theirs) api.comment(STRANGER, text);
    api.comment(OTHER_BOT, `> ${body}`);
    isFine(await comment(job, api));
    expect(api.comments.map(({ body: text }) => text)).toEqual([...theirs, `> ${body}`, expect.any(String)]);
    expect(api.comments[4]?.user).toEqual(ACTIONS_BOT);
  });

  test('with a person’s token, that person’s', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const body = await bodyOfOurs(job);
    api.comment(STRANGER, body.replace('run=7', 'run=6'));
    api.comment(PERSON, body.replace('run=7', 'run=6'));
    isFine(await comment(job, api, { token: PERSON_TOKEN }));
    expect(api.comments.map(({ body: text }) => text)).toEqual([body.replace('run=7', 'run=6'), body]);
  });

  test('another workflow, prefix or bucket has one of its own', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const other = await makeBucket();
    await makeWheel(job.dist, W);
    const workflow = { GITHUB_WORKFLOW_REF: 'octo/demo/.github/workflows/other.yml@refs/heads/main' };
    isFine(await comment(job, api));
    isFine(await comment(job, api, {}, workflow));
    isFine(await comment(job, api, { prefix: `${job.prefix}/--><b>` }));
    isFine(await comment(job, api, { bucket: other.name }));
    isFine(await comment(job, api));
    expect(api.comments).toHaveLength(4);
  });
});

describe('older and newer', () => {
  test.each<[title: string, env: Record<string, string>]>([
    ['an older run', { GITHUB_RUN_ID: '6' }],
    ['an older attempt', { GITHUB_RUN_ID: '9', GITHUB_RUN_ATTEMPT: '1' }],
  ])('%s of another commit that comes late leaves the comment as it is', async (_title, env) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    isFine(
      await comment(job, api, { commit: NEWER_COMMIT }, { GITHUB_RUN_ID: '9', GITHUB_RUN_ATTEMPT: '2' }),
    );
    const before = api.comments.map(({ body }) => body);
    const late = await comment(job, api, {}, env);
    isFine(late);
    expect(api.comments.map(({ body }) => body)).toEqual(before);
    expect(late.log).toContain(`it shows commit ${NEWER_COMMIT} of run 9, attempt 2, which is newer`);
  });

  test('for workflow_run the run counts that has ended, however late its own workflow started', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const of = async (id: number) =>
      event(job, 'workflow_run', { workflow_run: { id, run_attempt: 1, pull_requests: [{ number: 5 }] } });
    isFine(await comment(job, api, { commit: NEWER_COMMIT }, { ...(await of(9)), GITHUB_RUN_ID: '20' }));
    isFine(await comment(job, api, {}, { ...(await of(8)), GITHUB_RUN_ID: '21' }));
    expect(api.comments).toHaveLength(1);
    expect(api.comments[0]?.body).toContain(NEWER_COMMIT);
  });

  test('an older run that read before and wrote after is written over', async () => {
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
    isFine(await comment(job, api, { commit: 'd'.repeat(40) }, { GITHUB_RUN_ID: '5' }));
    const older = comment(job, api, {}, { GITHUB_RUN_ID: '6' });
    await olderIsAboutToWrite.promise;
    isFine(await comment(job, api, { commit: NEWER_COMMIT }, { GITHUB_RUN_ID: '9' }));
    isFine(await older);
    expect(api.comments).toHaveLength(1);
    expect(api.comments[0]?.body).toContain(`commit=${NEWER_COMMIT}`);
    expect(api.operations().filter((operation) => operation === 'update')).toHaveLength(3);
  });

  test('two commits in one run: the first stays, and the log says what to do', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    isFine(await comment(job, api));
    const second = await comment(job, api, { commit: NEWER_COMMIT });
    isFine(second);
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
    for (const result of results) isFine(result);
    const urls = results.map(({ outputs }) => outputs['wheel-url']!);
    expect(commandsIn(api.comments[0]?.body)).toEqual(
      urls.flatMap((url) => [`pip install "${url}"`, `uv pip install "${url}"`]),
    );
    expect(api.comments).toHaveLength(1);
  }

  test('8 jobs, the first comment and then updates: no line is lost, none doubled', async () => {
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
      `comments: ${ROUNDS} rounds of twice 8 jobs, ${writes} writes, no line lost, none doubled\n`,
    );
  }, 1_800_000);

  test('two that find none both create one: the first stays, its line and the other’s', async () => {
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

  test('one that listed the store before the other stored, and writes after it, writes both', async () => {
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
    isFine(
      await comment(job, api, { target: 'one', path: 'one', commit: NEWER_COMMIT }, { GITHUB_RUN_ID: '6' }),
    );
    const one = comment(job, api, { target: 'one', path: 'one' });
    await oneIsAboutToWrite.promise;
    isFine(await comment(job, api, { target: 'two', path: 'two' }));
    twoIsDone.resolve();
    isFine(await one);
    expect(commandsIn(api.comments[0]?.body)).toHaveLength(4);
  });
});

describe('what an earlier step left behind', () => {
  test('a second comment of an earlier run is taken away', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const body = await bodyOfOurs(job);
    api.comment(ACTIONS_BOT, body.replace('run=7', 'run=5'));
    api.comment(ACTIONS_BOT, body.replace('run=7', 'run=6'));
    isFine(await comment(job, api));
    expect(api.comments).toEqual([{ id: 1001, body, user: ACTIONS_BOT }]);
  });

  test('a comment that somebody deletes between reading and writing is written anew', async () => {
    await using job = await startJob(bucket);
    const body = await bodyOfOurs(job);
    await using api = await startGitHubApi({
      rule: ({ operation }): ApiFault => {
        if (operation === 'update') api.comments.splice(0);
        return undefined;
      },
    });
    api.comment(ACTIONS_BOT, body.replace('run=7', 'run=6'));
    isFine(await comment(job, api));
    expect(api.comments).toHaveLength(1);
    expect(commandsIn(api.comments[0]?.body)).toHaveLength(2);
  });
});

describe('case 73: GitHub’s list lags behind', () => {
  const WRITES = ['create', 'update', 'remove'] as const;
  const written = (api: GitHubApi) =>
    Object.fromEntries(WRITES.map((name) => [name, api.operations().filter((seen) => seen === name).length]));

  test.each([1, 3, 5, Number.POSITIVE_INFINITY])(
    'a comment that %p lists do not show is created once',
    async (create) => {
      await using job = await startJob(bucket);
      await using api = await startGitHubApi({ lag: { create } });
      await makeWheel(job.dist, W);
      const result = await comment(job, api);
      isFine(result);
      expect(result.log).toContain(`#issuecomment-${api.comments[0]?.id}`);
      expect(api.comments).toHaveLength(1);
      expect(written(api)).toEqual({ create: 1, update: 0, remove: 0 });
    },
  );

  test.each([1, 3, Number.POSITIVE_INFINITY])(
    'an edit that %p lists do not show is made once',
    async (update) => {
      await using job = await startJob(bucket);
      const body = await bodyOfOurs(job);
      await using api = await startGitHubApi({ lag: { update } });
      api.comment(ACTIONS_BOT, body.replace('run=7', 'run=6'));
      isFine(await comment(job, api));
      expect(api.comments.map((shown) => shown.body)).toEqual([body]);
      expect(written(api)).toEqual({ create: 0, update: 1, remove: 0 });
    },
  );

  test.each([1, 3, Number.POSITIVE_INFINITY])(
    'comments that %p lists show although they are removed are removed once',
    async (remove) => {
      await using job = await startJob(bucket);
      const body = await bodyOfOurs(job);
      await using api = await startGitHubApi({ lag: { remove } });
      for (const run of [3, 4, 5, 6]) api.comment(ACTIONS_BOT, body.replace('run=7', `run=${run}`));
      isFine(await comment(job, api));
      expect(api.comments.map((shown) => shown.body)).toEqual([body]);
      expect(written(api)).toEqual({ create: 0, update: 1, remove: 3 });
    },
  );

  test('comments that somebody else has removed, and the list shows: 404 each, and one new comment', async () => {
    await using job = await startJob(bucket);
    const body = await bodyOfOurs(job);
    await using api = await startGitHubApi({ lag: { remove: Number.POSITIVE_INFINITY } });
    const old = [3, 4, 5].map((run) => api.comment(ACTIONS_BOT, body.replace('run=7', `run=${run}`)));
    const headers = { authorization: `token ${JOB_TOKEN}`, 'user-agent': 'test' };
    const url = `${api.url}/repos/octo/demo/issues/comments`;
    for (const { id } of old) await fetch(`${url}/${id}`, { method: 'DELETE', headers });
    isFine(await comment(job, api));
    expect(api.comments.map((shown) => readMarker(shown.body)?.run)).toEqual(['7']);
    expect(written(api)).toEqual({ create: 1, update: 1, remove: 3 + 2 });
  });

  test('two jobs create one each and see neither for a while: the first stays, with both lines', async () => {
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
    results.forEach(isFine);
    expect(api.comments.map(({ id }) => id)).toEqual([1001]);
    expect(commandsIn(api.comments[0]?.body)).toHaveLength(4);
    expect(written(api)).toMatchObject({ create: 2, remove: 1 });
  });

  test.each<[title: string, lag: number, creates: number]>([
    ['is found when the list shows it', 3, 1],
    ['is tried a second time, and no third', Number.POSITIVE_INFINITY, 2],
  ])('a comment whose answer is lost each time %s', async (_title, create, creates) => {
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

describe('a comment that fails never fails the job: it warns, and says why', () => {
  /** The one warning, after a store that succeeded. */
  async function warningOf(
    job: Job,
    api: GitHubApi,
    ...how: [Record<string, string>?, Record<string, string>?]
  ) {
    await makeWheel(job.dist, W);
    const result = await comment(job, api, ...how);
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs['wheel-name']).toBe(W);
    expect(result.warnings).toHaveLength(1);
    expect(result.log.replaceAll(`::add-mask::${JOB_TOKEN}`, '')).not.toContain(JOB_TOKEN);
    return result.commands.find(({ name }) => name === 'warning')!;
  }

  test.each(['read', 'none'] as const)(
    'with permission %s: which permission is missing',
    async (permission) => {
      await using job = await startJob(bucket);
      await using api = await startGitHubApi();
      api.permission = permission;
      const { message, properties } = await warningOf(job, api);
      expect(properties.title).toBe('Comment not allowed');
      expect(message).toContain('The wheel is stored');
      expect(message).toContain("'permissions: pull-requests: write'");
    },
  );

  test('on a pull request from a fork: which workflow can comment', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    api.permission = 'read';
    const { message } = await warningOf(
      job,
      api,
      {},
      await event(job, 'pull_request', pullRequest('somebody/demo')),
    );
    expect(message).toContain('workflow_run');
    expect(message).toContain("'pull-request'");
  });

  test.each<[title: string, inputs: Record<string, string>, env: Record<string, string>, says: RegExp]>([
    ['a token that is empty', { token: '' }, {}, /'token' is empty/],
    ['a token that is none', { token: 'ghs_other' }, {}, /401: Bad credentials/],
    ['a pull request that there is not', { 'pull-request': '6' }, {}, /no pull request #6 of octo\/demo/],
    ['a repository that is none', {}, { GITHUB_REPOSITORY: '' }, /GITHUB_REPOSITORY/],
    ['an API that is none', {}, { GITHUB_API_URL: 'localhost' }, /GITHUB_API_URL/],
    [
      'an API that nobody listens at',
      {},
      { GITHUB_API_URL: 'http://127.0.0.1:9' },
      /127\.0\.0\.1:9: .*ECONNREFUSED/,
    ],
  ])('%s', async (_title, inputs, env, says) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const { message } = await warningOf(job, api, inputs, env);
    expect(message).toMatch(says);
    expect(message).not.toContain('ghs_other');
    expect(api.comments).toEqual([]);
  });

  test('a conversation that is locked', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    api.isLocked = true;
    expect((await warningOf(job, api)).message).toContain('is locked');
  });

  test.each<[title: string, fault: ApiFault, tries: number, says: RegExp]>([
    ['5xx each time', { status: 502, message: 'Server Error' }, 4, /502: Server Error.*in a few minutes/],
    ['a line that is cut each time', { cut: 'before' }, 4, /No connection/],
    [
      'a page that is none of GitHub’s',
      { status: 200, page: '<html>Sign in</html>' },
      1,
      /is not GitHub's API/,
    ],
    [
      'a rate limit that lasts',
      {
        status: 403,
        message: 'You have exceeded a secondary rate limit.',
        headers: { 'retry-after': '3600' },
      },
      1,
      /no more requests for a while/,
    ],
    [
      'a spent quota',
      {
        status: 403,
        message: 'API rate limit exceeded for installation.',
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '4000000000' },
      },
      1,
      /no more requests for a while/,
    ],
  ])('%s', async (_title, fault, tries, says) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi({ rule: () => fault });
    expect((await warningOf(job, api)).message).toMatch(says);
    expect(api.requests).toHaveLength(tries);
  });

  test('a store that lists no more', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'list' && api.requests.length > 0 ? s3Error(403, 'AccessDenied') : undefined,
    );
    const { message } = await warningOf(job, api, { 'endpoint-url': proxy.endpoint });
    expect(message).toContain('s3:ListBucket');
  });
});

describe('a fault that passes', () => {
  test.each<[title: string, operation: SeenApiRequest['operation'], fault: ApiFault]>([
    ['500 to a list', 'list', { status: 500, message: 'Server Error' }],
    [
      'a rate limit of a second',
      'list',
      { status: 429, message: 'Slow down', headers: { 'retry-after': '1' } },
    ],
    ['a line cut in a list', 'list', { cut: 'before' }],
    ['503 to the first comment', 'create', { status: 503, message: 'Service unavailable' }],
    ['a first comment whose answer is lost', 'create', { cut: 'after' }],
    ['a line cut before the first comment', 'create', { cut: 'before' }],
    [
      'a secondary rate limit on the first comment',
      'create',
      { status: 403, message: 'You have exceeded a secondary rate limit.', headers: { 'retry-after': '1' } },
    ],
    ['502 to an update', 'update', { status: 502, message: 'Server Error' }],
    ['an update whose answer is lost', 'update', { cut: 'after' }],
  ])('%s: the comment is there, once', async (_title, operation, fault) => {
    await using job = await startJob(bucket);
    const body = await bodyOfOurs(job);
    await using api = await startGitHubApi({
      rule: (seen) => (seen.operation === operation && seen.nth === 1 ? fault : undefined),
    });
    if (operation === 'update') api.comment(ACTIONS_BOT, body.replace('run=7', 'run=6'));
    isFine(await comment(job, api));
    expect(api.comments).toHaveLength(1);
    expect(commandsIn(api.comments[0]?.body)).toHaveLength(2);
    // Whoever writes looks first: what an answer that was lost did is found, and not done again.
    const written = api.operations().filter((name) => name === 'create' || name === 'update');
    expect(written).toHaveLength(
      operation === 'list' || (fault && 'cut' in fault && fault.cut === 'after') ? 1 : 2,
    );
  });
});

describe('what is shown', () => {
  test('the plain URL, where wheel-url is presigned', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const result = await comment(job, api, { presign: '900' });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs['wheel-url']).toContain('X-Amz-Signature');
    expect(commandsIn(api.comments[0]?.body)[0]).toBe(
      `pip install "${bucket.endpoint}/${bucket.name}/${job.key(W)}"`,
    );
    expect(api.requests.map(({ body }) => body).join()).not.toContain('X-Amz');
  });

  test('a link to the index page, where there is one', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const { outputs } = await comment(job, api, { index: 'true' });
    expect(api.comments[0]?.body).toContain(`[All wheels of this commit](<${outputs['index-url']}>)`);
  });

  test('keys that somebody else put, and a public-url, as nothing but text', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, 'foo-1.0+cu121-py3-none-any.whl');
    const folder = `${job.prefix}/${COMMIT}/7_1`;
    await bucket.put(`${folder}/@octocat/x-1.0-py3-none-any.whl`, 'x');
    await bucket.put(`${folder}/t/<b>-1.0-py3-none-any.whl`, 'x');
    await bucket.put(`${folder}/u/foo-1.0-py3-none-any.<img>.whl`, 'x');
    isFine(await comment(job, api, { 'public-url': 'https://cdn.example.com/$(id)`id`"!' }));
    expect(commandsIn(api.comments[0]?.body)).toEqual([
      expect.stringContaining('install "https://cdn.example.com/%24(id)%60id%60%22%21/'),
      expect.stringContaining('/foo-1.0%2Bcu121-py3-none-any.whl"'),
    ]);
    expect(api.comments[0]?.body).not.toMatch(/@|<b>|<img>/);
  });

  test('commands that bash takes for what they are, and pip and uv install', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, 'foo-1.0+cu121-py3-none-any.whl');
    isFine(await comment(job, api));
    const [pip, uv] = commandsIn(api.comments[0]?.body);
    const options = `--target "${join(job.workspace, 'site')}" --python "${tool('python')}"`;
    const path = `PATH="${dirname(tool('python'))}:$PATH"`;
    for (const command of [
      pip!
        .replace('pip install', 'pip --isolated install --no-index')
        .concat(` --target "${join(job.workspace, 'pip')}"`),
      `${uv} ${options}`,
    ])
      expect(await runProgram('bash', ['-c', `${path} ${command}`])).toMatchObject({ code: 0 });
  });
});

describe('bad input', () => {
  test.each([
    ['comment', 'yes'],
    ['pull-request', '#5'],
    ['pull-request', '0'],
    ['pull-request', '5 6'],
    ['pull-request', '12345678901'],
  ])('%s: %p is refused before anything is sent', async (name, value) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await using proxy = await startFaultProxy(bucket.endpoint);
    await makeWheel(job.dist, W);
    const result = await comment(job, api, { 'endpoint-url': proxy.endpoint, [name]: value });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain(`'${name}'`);
    expect([...proxy.requests, ...api.requests]).toEqual([]);
  });
});

test('a step that is cancelled while GitHub keeps it waiting ends at once, and well: the wheel is stored', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  const fault = { status: 429, message: 'Slow down', headers: { 'retry-after': '85' } };
  await using api = await startGitHubApi({ rule: () => fault });
  const env = await environment(job, api);
  const result = await job.step('store', { comment: 'true', index: 'false' }, env, (child) => {
    child.stdout?.on('data', (lines: Buffer) => {
      if (lines.includes('Trying again')) child.kill('SIGTERM');
    });
  });
  expect(result).toMatchObject({ code: 0, errors: [] });
  expect(result.outputs['wheel-name']).toBe(W);
  expect(result.warnings[0]).toContain('cancelled');
  expect(api.requests).toHaveLength(1);
}, 60_000);
