/** Steps that comment on a pull request, for the tests of the comment. */
import { randomUUID } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { type GitHubApi, PULL_REQUEST, startGitHubApi } from '../../testing/github-api.ts';
import type { Job } from '../../testing/job.ts';
import type { StepResult } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

export const W = 'demo-1.0-py3-none-any.whl';
export const NEWER_COMMIT = 'b'.repeat(40);

/** Writes the event's payload, and returns the variables that the runner sets for the event. */
export async function event(job: Job, name: string, payload: unknown): Promise<Record<string, string>> {
  const path = join(job.workspace, `${randomUUID()}.json`);
  await writeFile(path, JSON.stringify(payload));
  // The runner writes the payload when the job begins, but here the wheel may be built already.
  await utimes(path, 0, 0);
  return { GITHUB_EVENT_NAME: name, GITHUB_EVENT_PATH: path };
}

/** The payload of a pull request's event; `repository` is that of its branch. */
export function pullRequest(repository = 'octo/demo') {
  return { pull_request: { number: PULL_REQUEST, head: { repo: { full_name: repository } } } };
}

/** The variables that the runner sets for a run of the pull request. */
export async function environment(job: Job, api: GitHubApi): Promise<Record<string, string>> {
  return {
    ...(await event(job, 'pull_request', pullRequest())),
    GITHUB_API_URL: api.url,
    GITHUB_WORKFLOW_REF: `octo/demo/.github/workflows/wheels.yml@refs/pull/${PULL_REQUEST}/merge`,
  };
}

/** Stores one wheel and comments on the pull request. */
export async function comment(
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
export function commandsIn(body = ''): string[] {
  return [...body.matchAll(/^(?:uv )?pip install .*$/gm)].map(([command]) => command);
}

/** Expects that a step succeeded without warnings. */
export function expectSuccess({ code, errors, warnings }: StepResult): void {
  expect({ code, errors, warnings }).toEqual({ code: 0, errors: [], warnings: [] });
}

/** The body of a comment that the action wrote, after `changes`. */
export async function commentBody(
  job: Job,
  changes: (body: string) => string = (body) => body,
): Promise<string> {
  await using api = await startGitHubApi();
  await makeWheel(job.dist, W);
  expectSuccess(await comment(job, api));
  return changes(api.comments[0]!.body);
}
