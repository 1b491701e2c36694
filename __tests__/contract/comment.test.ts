import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import {
  ACTIONS_BOT,
  type ApiFault,
  OTHER_BOT,
  PERSON,
  PERSON_TOKEN,
  PULL_REQUEST,
  STRANGER,
  startGitHubApi,
} from '../../testing/github-api.ts';
import { runCommand } from '../../testing/install-commands.ts';
import { COMMIT, startJob } from '../../testing/job.ts';
import { runProgram, tool } from '../../testing/python.ts';
import { JOB_TOKEN, type StepResult } from '../../testing/runner.ts';
import { AUTHORITY, startForwardProxy, startTls } from '../../testing/tls.ts';
import { makeWheel } from '../../testing/wheels.ts';
import {
  commandsIn,
  comment,
  commentBody,
  event,
  expectSuccess,
  NEWER_COMMIT,
  pullRequest,
  W,
} from './commenting.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

describe('one comment', () => {
  test('contains the commands that install the wheel, and is updated by a second run', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const first = await comment(job, api);
    expectSuccess(first);
    expect(api.comments).toHaveLength(1);
    const url = first.outputs['wheel-url'];
    expect(commandsIn(api.comments[0]?.body)).toEqual([`pip install "${url}"`, `uv pip install "${url}"`]);
    expect(first.log).toContain(`#issuecomment-${api.comments[0]?.id}`);
    expect(first.commands).toContainEqual({ name: 'add-mask', properties: {}, message: JOB_TOKEN });
    const second = await comment(job, api, { commit: NEWER_COMMIT }, { GITHUB_RUN_ID: '8' });
    expectSuccess(second);
    expect(api.comments).toHaveLength(1);
    expect(commandsIn(api.comments[0]?.body)[0]).toBe(`pip install "${second.outputs['wheel-url']}"`);
    expect(api.operations()).toEqual(['list', 'create', 'list', 'list', 'update', 'list']);
  });
});

test('several projects: the first commands install them together', async () => {
  await using job = await startJob(bucket);
  await using api = await startGitHubApi();
  await makeWheel(job.workspace, 'one/foo-1.0.dev1-py3-none-any.whl', {
    metadata: ['Requires-Dist: libfoo==1.0.dev1'],
  });
  await makeWheel(job.workspace, 'two/libfoo-1.0.dev1-py3-none-any.whl');
  for (const target of ['one', 'two'])
    expectSuccess(await comment(job, api, { index: 'true', target, path: target }));
  const commands = commandsIn(api.comments[0]?.body);
  expect(commands).toHaveLength(6);
  for (const command of commands.slice(0, 2)) {
    const ended = await runCommand(command, join(job.workspace, 'installed'), ['--no-index']);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.output).toMatch(/libfoo.1\.0\.dev1|libfoo==1\.0\.dev1/);
  }
});

describe('the pull request to comment on', () => {
  test.each<[title: string, name: string, payload: unknown, number: string]>([
    ['pull_request_target', 'pull_request_target', pullRequest('somebody/demo'), ''],
    [
      'issue_comment on a pull request',
      'issue_comment',
      { issue: { number: PULL_REQUEST, pull_request: { url: 'https://api.github.com/x' } } },
      '',
    ],
    [
      'workflow_run that lists it',
      'workflow_run',
      { workflow_run: { pull_requests: [{ number: PULL_REQUEST }] } },
      '',
    ],
    ['workflow_run of a fork, with the input', 'workflow_run', { workflow_run: { pull_requests: [] } }, '5'],
    ['a push, with the input', 'push', {}, '5'],
    ['a pull request other than the event’s', 'pull_request', { pull_request: { number: 6 } }, '5'],
  ])('%s', async (_title, name, payload, number) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    expectSuccess(await comment(job, api, { 'pull-request': number }, await event(job, name, payload)));
    expect(api.comments).toHaveLength(1);
  });

  test.each<[title: string, name: string, payload: unknown]>([
    ['a push', 'push', { ref: 'refs/heads/main' }],
    ['a comment on an issue', 'issue_comment', { issue: { number: PULL_REQUEST } }],
    ['workflow_run of a fork, without the input', 'workflow_run', { workflow_run: { pull_requests: [] } }],
    ['a payload that is not a JSON object', 'pull_request', 'x'],
    ['an invalid number', 'pull_request', { pull_request: { number: '5; rm -rf /' } }],
  ])('%s: no comment, and a line in the log', async (_title, name, payload) => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const result = await comment(job, api, {}, await event(job, name, payload));
    expectSuccess(result);
    expect(result.log).toContain('No comment: this run has no pull request');
    expect(api.requests).toEqual([]);
  });

  test('comment: false sends nothing to GitHub, and does not load the client', async () => {
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
        store: isThere('Updated the index page'),
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

  test('an Enterprise Server is reached at its own URL', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi({ base: '/api/v3', description: 'ghes-3.19' });
    await makeWheel(job.dist, W);
    expectSuccess(await comment(job, api));
    expect(api.comments).toHaveLength(1);
  });

  test('through a proxy', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await using proxy = await startForwardProxy();
    await makeWheel(job.dist, W);
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: new URL(bucket.endpoint).host };
    expectSuccess(await comment(job, api, {}, env));
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
    expectSuccess(await comment(job, api, {}, env));
    expect(api.comments).toHaveLength(1);
    expect(new Set(proxy.asked)).toEqual(new Set([`localhost:${tls.port}`]));
  });

  test('of a renamed repository', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi({
      rule: ({ url, isByNumber }): ApiFault => {
        const location = `/repositories/1296269${url.split('/octo/demo')[1]}`;
        return !isByNumber ? { status: 301, message: 'Moved Permanently', headers: { location } } : undefined;
      },
    });
    await makeWheel(job.dist, W);
    expectSuccess(await comment(job, api));
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

describe('a skipped build', () => {
  test('the comment shows the stored wheel', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.workspace, `elsewhere/${W}`);
    await job.step('store', { path: 'elsewhere' });
    await rm(join(job.workspace, 'elsewhere'), { recursive: true });
    const result = await comment(job, api);
    expectSuccess(result);
    expect(result.outputs['skip-build']).toBe('true');
    expect(commandsIn(api.comments[0]?.body)[0]).toBe(`pip install "${result.outputs['wheel-url']}"`);
  });
});

describe('which comment is updated', () => {
  test('our comment is found among more than 200', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const body = await commentBody(job);
    for (let index = 0; index < 230; index += 1) api.comment(STRANGER, `comment ${index}`);
    api.comment(ACTIONS_BOT, body.replace('run=7', 'run=6'));
    expectSuccess(await comment(job, api));
    expect(api.comments).toHaveLength(231);
    expect(api.comments[230]?.body).toBe(body);
    expect(api.operations().slice(0, 4)).toEqual(['list', 'list', 'list', 'update']);
  });

  test('a person’s comment that repeats or quotes the marker is not changed', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const body = await commentBody(job);
    const quoting = [body, `> ${body}`, `See:\n${body}`];
    for (const text of quoting) api.comment(STRANGER, text);
    api.comment(OTHER_BOT, `> ${body}`);
    expectSuccess(await comment(job, api));
    expect(api.comments.map(({ body: text }) => text)).toEqual([...quoting, `> ${body}`, expect.any(String)]);
    expect(api.comments[4]?.user).toEqual(ACTIONS_BOT);
  });

  test('with a person’s token, that person’s comment', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const body = await commentBody(job);
    api.comment(STRANGER, body.replace('run=7', 'run=6'));
    api.comment(PERSON, body.replace('run=7', 'run=6'));
    expectSuccess(await comment(job, api, { token: PERSON_TOKEN }));
    expect(api.comments.map(({ body: text }) => text)).toEqual([body.replace('run=7', 'run=6'), body]);
  });

  test('another workflow, prefix or bucket has its own comment', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    const other = await makeBucket();
    await makeWheel(job.dist, W);
    const workflow = { GITHUB_WORKFLOW_REF: 'octo/demo/.github/workflows/other.yml@refs/heads/main' };
    expectSuccess(await comment(job, api));
    expectSuccess(await comment(job, api, {}, workflow));
    expectSuccess(await comment(job, api, { prefix: `${job.prefix}/--><b>` }));
    expectSuccess(await comment(job, api, { bucket: other.name }));
    expectSuccess(await comment(job, api));
    expect(api.comments).toHaveLength(4);
  });
});

describe('the comment contains', () => {
  test('the plain URL if wheel-url is presigned', async () => {
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

  test('a link to the index page if there is one', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const { outputs } = await comment(job, api, { index: 'true' });
    expect(api.comments[0]?.body).toContain(`[All wheels of this commit](<${outputs['index-url']}>)`);
  });

  test('foreign keys and a public-url as plain text only', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, 'foo-1.0+cu121-py3-none-any.whl');
    const folder = `${job.prefix}/${COMMIT}/7_1`;
    await bucket.put(`${folder}/@octocat/x-1.0-py3-none-any.whl`, 'x');
    await bucket.put(`${folder}/t/<b>-1.0-py3-none-any.whl`, 'x');
    await bucket.put(`${folder}/u/foo-1.0-py3-none-any.<img>.whl`, 'x');
    expectSuccess(await comment(job, api, { 'public-url': 'https://cdn.example.com/$(id)`id`"!' }));
    expect(commandsIn(api.comments[0]?.body)).toEqual([
      expect.stringContaining('install "https://cdn.example.com/%24%28id%29%60id%60%22%21/'),
      expect.stringContaining('/foo-1.0%2Bcu121-py3-none-any.whl"'),
    ]);
    expect(api.comments[0]?.body).not.toMatch(/@|<b>|<img>/);
  });

  test('commands that bash runs as written, and that install the wheel with pip and uv', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, 'foo-1.0+cu121-py3-none-any.whl');
    expectSuccess(await comment(job, api));
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
