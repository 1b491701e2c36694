/** A job of a workflow: runs steps with its own workspace and prefix. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestBucket } from './bucket.ts';
import { type ActionName, runStep, type Step, type StepResult } from './runner.ts';
import { makeWheel } from './wheels.ts';

/** The default commit of jobs. */
export const COMMIT = 'a'.repeat(40);

/** A job. */
export interface Job extends AsyncDisposable {
  readonly workspace: string;
  /** `dist` in the workspace. */
  readonly dist: string;
  readonly prefix: string;
  /** Runs one step; its inputs and environment override those of the job. */
  step(
    action: ActionName,
    inputs?: Readonly<Record<string, string>>,
    env?: Readonly<Record<string, string | undefined>>,
    onStart?: Step['onStart'],
    wrap?: Step['wrap'],
  ): Promise<StepResult>;
  /** The key of a wheel in run 7, attempt 1. */
  key(filename: string): string;
  /** The commit's index page, or the one of a project. */
  page(project?: string): Promise<string>;
  /** All keys below the job's prefix, except index pages. */
  keys(): Promise<string[]>;
}

/** Starts a job against `bucket`; `await using` removes its workspace. */
export async function startJob(bucket: TestBucket, prefix = `t/${randomUUID().slice(0, 8)}`): Promise<Job> {
  const workspace = await mkdtemp(join(tmpdir(), 'workspace-'));
  return {
    workspace,
    dist: join(workspace, 'dist'),
    prefix,
    step: (action, inputs = {}, env = {}, onStart, wrap) =>
      runStep({
        action,
        workspace,
        inputs: { ...bucket.inputs, prefix, commit: COMMIT, ...inputs },
        env: { ...bucket.env, ...env },
        ...(onStart === undefined ? {} : { onStart }),
        ...(wrap === undefined ? {} : { wrap }),
      }),
    key: (filename) => `${prefix}/${COMMIT}/7_1/${filename}`,
    page: async (project) =>
      String(await bucket.get(`${prefix}/${COMMIT}/${project === undefined ? '' : `${project}/`}index.html`)),
    keys: async () => (await bucket.keys(`${prefix}/`)).filter((key) => !key.endsWith('/index.html')),
    [Symbol.asyncDispose]: () => rm(workspace, { recursive: true, force: true }),
  };
}

/**
 * Stores a wheel with `bytes` bytes of uncompressed data.
 *
 * @returns its content
 * @throws Error if the step fails
 */
export async function storeNoise(job: Job, bytes = 1000): Promise<Buffer> {
  const noise = Uint8Array.from({ length: bytes }, (_, index) => (index * 7919) % 251);
  const files = { 'demo/noise.bin': noise };
  const path = await makeWheel(job.workspace, 'built/demo-1.0-py3-none-any.whl', { files, level: 0 });
  const { errors } = await job.step('store', { path: 'built' });
  if (errors.length > 0) throw new Error(errors.join(' '));
  return readFile(path);
}
