import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Fault, type SeenRequest, s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { commandsIn, runCommand } from '../../testing/install-commands.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { type Step, type StepResult, shownText } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const BASE = 'b'.repeat(40);
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

/** Makes a wheel that contains `bytes` bytes of uncompressed data. */
function makeSized(job: Job, bytes: number, filename = W): Promise<string> {
  return makeWheel(job.dist, filename, { files: { 'demo/noise.bin': new Uint8Array(bytes) }, level: 0 });
}

/** Stores a wheel of the base, and then one of the pull request's merge commit, through a proxy. */
async function storeAfterBase(
  job: Job,
  rule?: (seen: SeenRequest) => Fault,
  more: {
    readonly env?: Record<string, string | undefined>;
    readonly base?: string;
    readonly onStart?: Step['onStart'];
  } = {},
): Promise<{ result: StepResult; requests: readonly SeenRequest[] }> {
  const event = join(job.workspace, 'event.json');
  await writeFile(event, JSON.stringify({ pull_request: { base: { sha: BASE }, head: { sha: COMMIT } } }));
  await makeSized(job, 100_000, more.base);
  const stored = await job.step('store', { commit: BASE }, { GITHUB_RUN_ID: '6' });
  expect(stored.errors).toEqual([]);
  await rm(job.dist, { recursive: true });
  await makeSized(job, 200_000);
  await using proxy = await startFaultProxy(bucket.endpoint, rule);
  const env = { GITHUB_EVENT_NAME: 'pull_request_target', GITHUB_EVENT_PATH: event, ...more.env };
  const inputs = { 'endpoint-url': proxy.endpoint, index: 'false' };
  const result = await job.step('store', inputs, env, more.onStart);
  return { result, requests: [...proxy.requests] };
}

const isListOfBase = ({ operation, url }: SeenRequest) => operation === 'list' && url.includes(BASE);

describe('the change in size since the commit before', () => {
  test('is shown, at the cost of one listing after everything else', async () => {
    await using job = await startJob(bucket);
    const { result, requests } = await storeAfterBase(job);
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(shownText(result.summary)).toMatch(
      /\| Change \| \+97\.7 KiB \(\+\d\d\.\d%\) against .*bbbbbbb.*, the base of the pull request \|/,
    );
    const asked = requests.filter(({ path }) => !path.endsWith('.claim'));
    expect(asked.map(({ operation }) => operation)).toEqual(['list', 'put', 'list', 'list']);
    expect(asked.map(isListOfBase)).toEqual([false, false, false, true]);
  });

  test.each<[string, Parameters<typeof storeAfterBase>[2]]>([
    ['there is no summary', { env: { GITHUB_STEP_SUMMARY: undefined } }],
    ['the event contains no commit before', { env: { GITHUB_EVENT_PATH: undefined } }],
  ])('is not looked up if %s', async (_title, more) => {
    await using job = await startJob(bucket);
    const { result, requests } = await storeAfterBase(job, undefined, more);
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(requests.filter(isListOfBase)).toEqual([]);
    expect(result.summary).not.toContain('| Change |');
  });

  test('is not shown if the wheel before was of another project', async () => {
    await using job = await startJob(bucket);
    const { result } = await storeAfterBase(job, undefined, { base: 'other-1.0-py3-none-any.whl' });
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(result.summary).not.toContain('| Change |');
  });

  test.each<[string, Fault]>([
    ['is refused', s3Error(403, 'AccessDenied')],
    ['gets a response that is not from S3', { status: 200, body: '<html>Sign in</html>' }],
  ])('is left out if its look-up %s', async (_title, fault) => {
    await using job = await startJob(bucket);
    const { result } = await storeAfterBase(job, (seen) => (isListOfBase(seen) ? fault : undefined));
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(result.outputs['skip-build']).toBe('false');
    expect(result.summary).toContain('Wheel stored');
    expect(result.summary).not.toContain('| Change |');
  });

  test('a job that is cancelled during its look-up has stored the wheel', async () => {
    await using job = await startJob(bucket);
    const child = Promise.withResolvers<ChildProcess>();
    const exited = child.promise.then((process) => once(process, 'exit'));
    const rule = (seen: SeenRequest): Fault => {
      if (!isListOfBase(seen)) return undefined;
      void child.promise.then((process) => process.kill('SIGTERM'));
      return { after: exited };
    };
    const { result } = await storeAfterBase(job, rule, { onStart: child.resolve });
    expect(result).toMatchObject({ code: 0, signal: null, errors: [], warnings: [] });
    expect(result.summary).toContain('Wheel stored');
    expect(await job.keys()).toContain(job.key(W));
  });
});

describe('the summary of a find without a look-up, or with a failed one, contains the reason for the build', () => {
  test('rebuild: true', async () => {
    await using job = await startJob(bucket);
    const { summary } = await job.step('find', { rebuild: 'true' });
    expect(shownText(summary)).toBe('### Build needed\n\nNot looked up: rebuild is true.\n\n');
  });

  test('on-error: build, with the store’s message as plain text', async () => {
    await using job = await startJob(bucket);
    const message = '</p><img src=x> [a](https://evil.example.com) `x` |';
    const refusal = s3Error(400, 'InvalidRequest', message.replaceAll('<', '&lt;'));
    await using proxy = await startFaultProxy(bucket.endpoint, () => refusal);
    const inputs = { 'endpoint-url': proxy.endpoint, 'on-error': 'build' };
    const { summary, warnings, code } = await job.step('find', inputs);
    expect(code).toBe(0);
    expect(summary).toMatch(/^### Build needed\n\nThe look-up failed \(on-error&#58; build\)\. .+\n\n$/);
    expect(shownText(summary)).toContain(message);
    expect(summary).not.toMatch(/[<`|[]/);
    expect(warnings[0]).toContain(message);
  });
});

test('the largest files of a stored wheel are listed', async () => {
  await using job = await startJob(bucket);
  const files = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`demo/f${index}.bin`, new Uint8Array(1000 * (index + 1))]),
  );
  await makeWheel(job.dist, W, {
    files: { ...files, 'demo/</details>|`x`': new Uint8Array(50_000) },
    level: 0,
  });
  const { summary } = await job.step('store');
  const names = [...summary.matchAll(/^\| <code>(.*?)<\/code> \|/gm)].map(([, name]) => shownText(name!));
  expect(names).toEqual([
    'demo/</details>|`x`',
    ...[19, 18, 17, 16, 15, 14, 13, 12, 11].map((n) => `demo/f${n}.bin`),
  ]);
  expect(summary).toContain('The 10 largest of 25 files');
});

describe('the commands in the summary install', () => {
  async function run(job: Job, command: string): Promise<string> {
    const apart = ['--no-deps', '--no-index'];
    const { code, output } = await runCommand(command, join(job.workspace, 'installed'), apart);
    expect({ code, output }).toMatchObject({ code: 0 });
    return output;
  }

  test('one wheel', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'demo-1!1.0+cu121-py3-none-any.whl');
    const commands = commandsIn((await job.step('store')).summary);
    expect(commands).toHaveLength(2);
    for (const command of commands) expect(await run(job, command)).toMatch(/demo.*1!1\.0\+cu121/);
  });

  test('the suitable one of several wheels', async () => {
    await using job = await startJob(bucket);
    for (const python of ['py3', 'cp27']) {
      await makeWheel(job.workspace, `${python}/demo-1!1.0.dev3-${python}-none-any.whl`);
      await job.step('store', { path: python, target: python });
    }
    const commands = commandsIn((await job.step('find', { target: '*' })).summary);
    expect(commands).toHaveLength(2);
    for (const command of commands) expect(await run(job, command)).toMatch(/demo.*1!1\.0\.dev3/);
  });
});
