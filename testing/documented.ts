/** Runs workflows from the README and the examples, as users copy them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Given, makeUsersRepository, type Repository, type WorkflowRun } from './act.ts';
import type { TestBucket } from './bucket.ts';
import { ROOT } from './runner.ts';

/** The text of an example, by its path in `examples`. */
export function example(path: string): Promise<string> {
  return readFile(join(ROOT, 'examples', path), 'utf8');
}

/** Creates a repository with this workflow. The bucket replaces `my-wheels` and `my-public-wheels`. */
export function makeCopy(
  workflow: string,
  bucket: TestBucket,
  files?: Readonly<Record<string, string>>,
): Promise<Repository> {
  return makeUsersRepository(workflow.replaceAll(/\bmy-(public-)?wheels\b/g, bucket.name), files);
}

/** @param index - a folder with the wheels that pip finds besides those of the bucket */
export function runCopy(
  repository: Repository,
  bucket: TestBucket,
  index: string,
  given: Given = {},
): Promise<WorkflowRun> {
  const env = {
    AWS_ENDPOINT_URL_S3: bucket.endpoint,
    TEST_KEY_ID: bucket.env.AWS_ACCESS_KEY_ID!,
    TEST_SECRET: bucket.env.AWS_SECRET_ACCESS_KEY!,
    PIP_FIND_LINKS: index,
    ...given.env,
  };
  const vars = {
    WHEEL_ROLE: 'role-of-main',
    PULL_REQUEST_ROLE: 'role-of-pull-requests',
    WHEEL_READER_ROLE: 'role-of-readers',
  };
  return repository.run('ci.yml', { ...given, env, vars });
}

/** The event of a pull request from a branch of `repository`. */
export function pullRequest(repository: string, labels: readonly string[] = []): Given {
  const head = { ref: 'topic', repo: { full_name: repository } };
  const base = { ref: 'main', repo: { full_name: 'octo/demo' } };
  const pull_request = { number: 12, head, base, labels: labels.map((name) => ({ name })) };
  return { event: 'pull_request', payload: { number: 12, pull_request } };
}

/** The output of all steps of a job. */
export function logsOf(run: WorkflowRun, job: string): string {
  return Object.values(run.jobs[job]!.steps)
    .map(({ log }) => log)
    .join('');
}
