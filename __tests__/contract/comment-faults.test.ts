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
import {
  commandsIn,
  comment,
  commentBody,
  environment,
  event,
  expectSuccess,
  pullRequest,
  W,
} from './commenting.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

describe('a comment that fails never fails the job: a warning with the reason', () => {
  /** Runs a store, expects success with one warning, and returns the warning. */
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

  test.each(['read', 'none'] as const)('with permission %s: the missing permission', async (permission) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    api.permission = permission;
    const { message, properties } = await warningOf(job, api);
    expect(properties.title).toBe('Comment not allowed');
    expect(message).toContain('The wheel is stored');
    expect(message).toContain("'permissions: pull-requests: write'");
  });

  test('on a pull request from a fork: the workflow that can comment', async () => {
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

  test.each<[title: string, inputs: Record<string, string>, env: Record<string, string>, pattern: RegExp]>([
    ['an empty token', { token: '' }, {}, /'token' is empty/],
    ['a wrong token', { token: 'ghs_other' }, {}, /401: Bad credentials/],
    [
      'a pull request that does not exist',
      { 'pull-request': '6' },
      {},
      /cannot see pull request #6 of octo\/demo/,
    ],
    ['no repository', {}, { GITHUB_REPOSITORY: '' }, /GITHUB_REPOSITORY/],
    ['an invalid URL of the API', {}, { GITHUB_API_URL: 'localhost' }, /GITHUB_API_URL/],
    [
      'an API that refuses connections',
      {},
      { GITHUB_API_URL: 'http://127.0.0.1:9' },
      /127\.0\.0\.1:9: .*ECONNREFUSED/,
    ],
  ])('%s', async (_title, inputs, env, pattern) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const { message } = await warningOf(job, api, inputs, env);
    expect(message).toMatch(pattern);
    expect(message).not.toContain('ghs_other');
    expect(api.comments).toEqual([]);
  });

  test('a locked conversation', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    api.isLocked = true;
    expect((await warningOf(job, api)).message).toContain('is locked');
  });

  test.concurrent.each<[title: string, fault: ApiFault, tries: number, pattern: RegExp]>([
    ['5xx each time', { status: 502, message: 'Server Error' }, 4, /502: Server Error.*in a few minutes/],
    ['a connection that is cut each time', { cut: 'before' }, 4, /No connection/],
    [
      'a page that is not from GitHub',
      { status: 200, page: '<html>Sign in</html>' },
      1,
      /did not respond as GitHub's API does/,
    ],
    [
      'a long rate limit',
      {
        status: 403,
        message: 'You have exceeded a secondary rate limit.',
        headers: { 'retry-after': '3600' },
      },
      1,
      /rate limiting requests/,
    ],
    [
      'an exhausted quota',
      {
        status: 403,
        message: 'API rate limit exceeded for installation.',
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '4000000000' },
      },
      1,
      /rate limiting requests/,
    ],
  ])('%s', async (_title, fault, tries, pattern) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi({ rule: () => fault });
    expect((await warningOf(job, api)).message).toMatch(pattern);
    expect(api.requests).toHaveLength(tries);
  });

  test('a store that refuses the listing for the comment', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'list' && api.requests.length > 0 ? s3Error(403, 'AccessDenied') : undefined,
    );
    const { message } = await warningOf(job, api, { 'endpoint-url': proxy.endpoint });
    expect(message).toContain('s3:ListBucket');
  });
});

describe('a transient fault', () => {
  test.concurrent.each<[title: string, operation: SeenApiRequest['operation'], fault: ApiFault]>([
    ['500 for a list', 'list', { status: 500, message: 'Server Error' }],
    [
      'a rate limit of one second',
      'list',
      { status: 429, message: 'Slow down', headers: { 'retry-after': '1' } },
    ],
    ['a connection cut during a list', 'list', { cut: 'before' }],
    ['503 for the first comment', 'create', { status: 503, message: 'Service unavailable' }],
    ['a first comment whose response is lost', 'create', { cut: 'after' }],
    ['a connection cut before the first comment', 'create', { cut: 'before' }],
    [
      'a secondary rate limit on the first comment',
      'create',
      { status: 403, message: 'You have exceeded a secondary rate limit.', headers: { 'retry-after': '1' } },
    ],
    ['502 for an update', 'update', { status: 502, message: 'Server Error' }],
    ['an update whose response is lost', 'update', { cut: 'after' }],
  ])('%s: there is one comment', async (_title, operation, fault) => {
    await using job = await startJob(bucket);
    const body = await commentBody(job);
    await using api = await startGitHubApi({
      rule: (seen) => (seen.operation === operation && seen.nth === 1 ? fault : undefined),
    });
    if (operation === 'update') api.comment(ACTIONS_BOT, body.replace('run=7', 'run=6'));
    expectSuccess(await comment(job, api));
    expect(api.comments).toHaveLength(1);
    expect(commandsIn(api.comments[0]?.body)).toHaveLength(2);
    // A step lists the comments before it writes: it finds a write whose response was lost, and doesn't repeat it.
    const written = api.operations().filter((name) => name === 'create' || name === 'update');
    expect(written).toHaveLength(
      operation === 'list' || (fault && 'cut' in fault && fault.cut === 'after') ? 1 : 2,
    );
  });
});

test('a step that is cancelled while it waits for GitHub ends at once and succeeds: the wheel is stored', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  const fault = { status: 429, message: 'Slow down', headers: { 'retry-after': '85' } };
  await using api = await startGitHubApi({ rule: () => fault });
  const env = await environment(job, api);
  const result = await job.step('store', { comment: 'true', index: 'false' }, env, (child) => {
    child.stdout?.on('data', (lines: Buffer) => {
      if (lines.includes('Retrying')) child.kill('SIGTERM');
    });
  });
  expect(result).toMatchObject({ code: 0, errors: [] });
  expect(result.outputs['wheel-name']).toBe(W);
  expect(result.warnings[0]).toContain('cancelled');
  expect(api.requests).toHaveLength(1);
}, 60_000);
