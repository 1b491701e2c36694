/**
 * Whole workflows in a real runner, nektos/act, with a real S3 server. testing/act.ts describes how it differs from
 * GitHub's. Not covered: a merge commit as `github.sha` of a pull request, the button "Re-run failed jobs", and the choice
 * of Node by `runs.using` (here, PATH decides).
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { expectJobs, type Given, makeRepository } from '../../testing/act.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { readCommands, shownText } from '../../testing/runner.ts';
import { sha256, wheelBytes } from '../../testing/wheels.ts';

const WHEEL = 'lattice-1.0-py3-none-any.whl';
let bucket: TestBucket;
let access: Given;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
  const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = bucket.env;
  access = {
    secrets: { STORE_KEY_ID: AWS_ACCESS_KEY_ID, STORE_SECRET: AWS_SECRET_ACCESS_KEY },
    vars: { BUCKET: bucket.name, STORE_ENDPOINT: bucket.endpoint },
  };
});

/** The stored wheels of a commit, relative to its folder. */
async function storedOf(commit: string): Promise<string[]> {
  const folder = `builds/${commit}/`;
  const keys = await bucket.keys(folder);
  return keys.filter((key) => key.endsWith('.whl')).map((key) => key.slice(folder.length));
}

describe('a workflow that builds once and tests', () => {
  test('the first run builds, stores and passes on the URL; the second skips the build and passes on the same URL', async () => {
    await using repository = await makeRepository();
    const first = await repository.run('build-once.yml', { ...access, runId: '7' });
    expectJobs(first, { build: 'success', test: 'success' });
    expect(first.code).toBe(0);
    const { stored, build, wheel } = first.jobs.build!.steps;
    expect(stored?.outputs['skip-build']).toBe('false');
    expect(build?.result).toBe('success');
    const key = `builds/${repository.commit}/7_1/${WHEEL}`;
    expect(wheel?.outputs).toMatchObject({
      'skip-build': 'false',
      'wheel-key': key,
      'wheel-url': `${bucket.endpoint}/${bucket.name}/${key}`,
      sha256: sha256(await bucket.get(key)),
    });
    expect(first.jobs.test!.steps.install?.log).toContain(wheel!.outputs['wheel-url']);
    expect(first.jobs.test!.steps.import?.log).toMatch(/site-packages\/lattice\/__init__\.py 12\s*$/);

    const second = await repository.run('build-once.yml', { ...access, runId: '8' });
    expectJobs(second, { build: 'success', test: 'success' });
    const again = second.jobs.build!.steps;
    expect(again.stored?.outputs).toMatchObject({ 'skip-build': 'true', 'run-id': '7' });
    expect(again.build).toBeUndefined();
    expect(again.wheel?.outputs).toEqual({ ...wheel!.outputs, 'skip-build': 'true' });
    expect(second.jobs.test!.steps.import?.log).toMatch(/ 12\s*$/);
    expect(await storedOf(repository.commit)).toEqual([`7_1/${WHEEL}`]);
  });

  test('the job’s summary contains the decision and the wheel; the steps print no secret', async () => {
    await using repository = await makeRepository();
    const run = await repository.run('build-once.yml', access);
    const { stored, wheel } = run.jobs.build!.steps;
    expect(stored?.summary).toContain('Build needed');
    const summary = shownText(wheel!.summary);
    expect(summary).toContain('### Wheel stored');
    expect(summary).toContain(WHEEL);
    expect(summary).toContain(wheel!.outputs.sha256);
    expect(summary).toContain(`pip install "${wheel!.outputs['wheel-url']}"`);
    const printed = `${await run.printed('build', 'stored')}${await run.printed('build', 'wheel')}`;
    expect(printed).toContain(`Stored s3://${bucket.name}/`);
    expect(printed).not.toContain(bucket.env.AWS_SECRET_ACCESS_KEY);
  });

  test('the actions run on the Node that action.yml names', async () => {
    await using repository = await makeRepository();
    const show = 'data:text/javascript,console.log(process.version,process.argv[1])';
    const run = await repository.run('build-once.yml', {
      ...access,
      env: { NODE_OPTIONS: `--import=${show}` },
    });
    const { runs } = parse(await readFile(join(repository.folder, 'action.yml'), 'utf8'));
    const major = /^node(\d+)$/.exec(runs.using)?.[1];
    for (const [step, entry] of [
      ['stored', 'find.js'],
      ['wheel', 'store.js'],
    ] as const) {
      expect(await run.printed('build', step)).toMatch(
        new RegExp(`^v${major}\\..* \\S+/dist/${entry}$`, 'm'),
      );
    }
  });
});

describe('on every event, github.sha is the commit', () => {
  const branch = (ref: string, repository = 'octo/demo') => ({ ref, repo: { full_name: repository } });
  const events: Record<string, (commit: string) => object> = {
    push: (after) => ({ ref: 'refs/heads/main', deleted: false, after }),
    pull_request: () => ({
      action: 'synchronize',
      number: 12,
      pull_request: { number: 12, head: branch('topic'), base: branch('main') },
    }),
    merge_group: (head_sha) => ({
      action: 'checks_requested',
      merge_group: {
        head_sha,
        head_ref: 'refs/heads/gh-readonly-queue/main/pr-12',
        base_ref: 'refs/heads/main',
      },
    }),
    workflow_dispatch: () => ({ ref: 'refs/heads/main', inputs: {} }),
    workflow_run: (head_sha) => ({
      action: 'completed',
      workflow_run: { name: 'Lint', conclusion: 'success', head_sha, head_branch: 'main' },
    }),
    schedule: () => ({ schedule: '17 3 * * *' }),
  };

  test.each(Object.keys(events))('%s', async (event) => {
    await using repository = await makeRepository();
    const payload = events[event]!(repository.commit);
    const run = await repository.run('build-once.yml', { ...access, event, payload });
    expectJobs(run, { build: 'success', test: 'success' });
    expect(await storedOf(repository.commit)).toEqual([`7_1/${WHEEL}`]);
  });

  test('pull_request from a fork, which has no secrets: an error that mentions the fork', async () => {
    await using repository = await makeRepository();
    const head = branch('topic', 'somebody/demo');
    const payload = { number: 12, pull_request: { number: 12, head, base: branch('main') } };
    const run = await repository.run('build-once.yml', {
      vars: access.vars!,
      event: 'pull_request',
      payload,
    });
    expectJobs(run, { build: 'failure' });
    const commands = readCommands(await run.printed('build', 'stored'));
    expect(commands).toMatchObject([{ name: 'error', properties: { title: 'No AWS credentials' } }]);
    expect(commands[0]!.message).toContain('from a fork');
  });
});

describe('a matrix of the missing targets', () => {
  test('one of three targets is stored: the other two get a job; in the next run, none does', async () => {
    await using repository = await makeRepository();
    const wheelOf = (target: string) => `lattice-1.0-${target}-${target}-linux_x86_64.whl`;
    const stored = wheelBytes(wheelOf('cp312'));
    await bucket.put(`builds/${repository.commit}/5_1/cp312/${wheelOf('cp312')}`, stored);

    const first = await repository.run('matrix.yml', access);
    expectJobs(first, {
      plan: 'success',
      'build (cp311)': 'success',
      'build (cp313)': 'success',
      collect: 'success',
    });
    expect(await storedOf(repository.commit)).toEqual([
      `5_1/cp312/${wheelOf('cp312')}`,
      `7_1/cp311/${wheelOf('cp311')}`,
      `7_1/cp313/${wheelOf('cp313')}`,
    ]);
    const all = ['cp311', 'cp312', 'cp313'].map(wheelOf);
    expect(first.jobs.collect!.steps.files?.log.split(/\s+/).filter(Boolean)).toEqual(all);

    const second = await repository.run('matrix.yml', { ...access, runId: '8' });
    expectJobs(second, { plan: 'success', collect: 'success' });
    expect(second.jobs.plan!.steps.stored?.outputs['missing-targets']).toBe('[]');
    expect(second.jobs.collect!.steps.files?.log.split(/\s+/).filter(Boolean)).toEqual(all);
  });
});

describe('a build that leaves two wheels', () => {
  test('fails the job with one error; later steps and jobs do not run, and skip-build is false', async () => {
    await using repository = await makeRepository();
    const run = await repository.run('two-wheels.yml', access);
    expect(run.code).toBe(1);
    expectJobs(run, { build: 'failure' });
    const { wheel, publish, report } = run.jobs.build!.steps;
    expect(wheel?.result).toBe('failure');
    const commands = readCommands(await run.printed('build', 'wheel'));
    expect(commands).toMatchObject([{ name: 'error', properties: { title: 'More than one wheel' } }]);
    expect(commands[0]!.message).toContain('lattice-1.0-2-py3-none-any.whl');
    expect(commands[0]!.message).toContain(WHEEL);
    expect(publish).toBeUndefined();
    expect(report?.outputs).toEqual({ 'skip-build': 'false', outcome: 'failure' });
    expect(await bucket.keys(`builds/${repository.commit}/`)).toEqual([]);
  });
});

describe('a second attempt', () => {
  test('fetches what attempt 1 of the same run stored', async () => {
    await using repository = await makeRepository();
    const first = await repository.run('second-attempt.yml', { ...access, runId: '7', attempt: '1' });
    expectJobs(first, { build: 'success', test: 'failure' });
    expect(first.jobs.test!.steps['of-attempt']?.outputs['skip-build']).toBe('true');
    expect(first.jobs.test!.steps.flaky?.result).toBe('failure');

    const second = await repository.run('second-attempt.yml', { ...access, runId: '7', attempt: '2' });
    expectJobs(second, { test: 'success' });
    expect(second.jobs.test!.steps['of-attempt']?.outputs['skip-build']).toBe('false');
    expect(second.jobs.test!.steps.wheel?.outputs).toMatchObject({ 'run-id': '7', 'run-attempt': '1' });
    expect(second.jobs.test!.steps.wheel?.log).toContain("this run's attempt 1 (this is attempt 2)");
    expect(await storedOf(repository.commit)).toEqual([`7_1/${WHEEL}`]);
  });
});

describe('a reusable workflow', () => {
  test('returns the wheel’s URL to its caller, the same in each run', async () => {
    await using repository = await makeRepository();
    const first = await repository.run('call-build-wheel.yml', { ...access, runId: '7' });
    expectJobs(first, { build: 'success', test: 'success' });
    const url = `${bucket.endpoint}/${bucket.name}/builds/${repository.commit}/7_1/${WHEEL}`;
    expect(first.jobs.test!.steps.given?.outputs).toEqual({ 'wheel-url': url, 'skip-build': 'false' });

    const second = await repository.run('call-build-wheel.yml', { ...access, runId: '8' });
    expect(second.jobs.build!.steps.build).toBeUndefined();
    expect(second.jobs.test!.steps.given?.outputs).toEqual({ 'wheel-url': url, 'skip-build': 'true' });
  });
});
