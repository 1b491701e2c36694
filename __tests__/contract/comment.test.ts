import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../stand-ins/bucket.ts';
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
} from '../stand-ins/github-api.ts';
import { COMMIT, type Job, startJob } from '../stand-ins/job.ts';
import { ROUNDS } from '../stand-ins/random.ts';
import { JOB_TOKEN, type StepResult } from '../stand-ins/runner.ts';
import { startForwardProxy } from '../stand-ins/tls.ts';
import { makeWheel } from '../stand-ins/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const NEWER_COMMIT = 'b'.repeat(40);
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

/** Writes the event's payload, and says what the runner sets for it. */
async function event(job: Job, name: string, payload: unknown): Promise<Record<string, string>> {
  const path = join(job.workspace, `${name}.json`);
  await writeFile(path, JSON.stringify(payload));
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
