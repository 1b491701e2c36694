import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import {
  ACTIONS_BOT,
  type ApiFault,
  type GitHubApi,
  type SeenApiRequest,
  startGitHubApi,
} from '../../testing/github-api.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { JOB_TOKEN } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';
import { bodyOfOurs, commandsIn, comment, environment, event, isFine, pullRequest, W } from './commenting.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
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

  test.concurrent.each<[title: string, fault: ApiFault, tries: number, says: RegExp]>([
    ['5xx each time', { status: 502, message: 'Server Error' }, 4, /502: Server Error.*in a few minutes/],
    ['a line that is cut each time', { cut: 'before' }, 4, /No connection/],
    [
      'a page that is not one of GitHub’s',
      { status: 200, page: '<html>Sign in</html>' },
      1,
      /did not respond as GitHub's API does/,
    ],
    [
      'a rate limit that lasts',
      {
        status: 403,
        message: 'You have exceeded a secondary rate limit.',
        headers: { 'retry-after': '3600' },
      },
      1,
      /rate limiting requests/,
    ],
    [
      'a spent quota',
      {
        status: 403,
        message: 'API rate limit exceeded for installation.',
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '4000000000' },
      },
      1,
      /rate limiting requests/,
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
  test.concurrent.each<[title: string, operation: SeenApiRequest['operation'], fault: ApiFault]>([
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
