/** A job of a workflow: a workspace and a prefix of its own, and steps that run in it. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestBucket } from './bucket.ts';
import { type ActionName, runStep, type Step, type StepResult } from './runner.ts';

/** The commit that jobs store under unless they say otherwise. */
export const COMMIT = 'a'.repeat(40);

/** Where and how a job's steps run. */
export interface Job extends AsyncDisposable {
  readonly workspace: string;
  /** `dist` in the workspace. */
  readonly dist: string;
  readonly prefix: string;
  /** Runs one step; inputs and environment go over the job's own. */
  step(
    action: ActionName,
    inputs?: Readonly<Record<string, string>>,
    env?: Readonly<Record<string, string | undefined>>,
    onStart?: Step['onStart'],
    wrap?: Step['wrap'],
  ): Promise<StepResult>;
  /** The key of a wheel of run 7, attempt 1. */
  key(filename: string): string;
  /** All keys below the job's prefix, but for index pages. */
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
    keys: async () => (await bucket.keys(`${prefix}/`)).filter((key) => !key.endsWith('/index.html')),
    [Symbol.asyncDispose]: () => rm(workspace, { recursive: true, force: true }),
  };
}
