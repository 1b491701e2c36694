/** Reads and checks everything that comes from outside, once, into one read-only object per action. */
import { readFileSync } from 'node:fs';
import * as core from '@actions/core';
import type { BucketSettings } from '../bucket/client.ts';
import { WheelStoreError } from '../errors.ts';
import { type CommitPlace, isCommit, isDecimal, isTarget, normalisePrefix } from '../layout.ts';
import type { Scope } from '../lookup.ts';

/** What all three actions are told. */
export interface CommonInputs {
  readonly bucket: BucketSettings;
  readonly place: CommitPlace;
  /** `GITHUB_RUN_ID`. */
  readonly run: string;
  /** `GITHUB_RUN_ATTEMPT`. */
  readonly attempt: string;
  /** `owner/name`; empty outside GitHub. */
  readonly repository: string;
  /** `https://github.com` or an Enterprise Server; empty outside GitHub. */
  readonly serverUrl: string;
  /** The folder that relative paths start from, absolute. */
  readonly workspace: string;
  /** `GITHUB_SHA`: the commit that the run is about; empty outside GitHub. */
  readonly runCommit: string;
}

/** The inputs of the root action. */
export interface StoreInputs extends CommonInputs {
  readonly target: string;
  /** A file, folder or glob. */
  readonly path: string;
  /** Whether to update the commit's index page. */
  readonly index: boolean;
}

/** What `find` and `fetch` are told of what to look up. */
export interface LookUpInputs extends CommonInputs {
  /** Names; '' is the wheel without a target; `*` is every target that is stored. */
  readonly targets: readonly string[] | '*';
  readonly scope: Scope;
  /** An interpreter: of all wheels found, the one that it would install is taken. */
  readonly forPython: string | undefined;
  /** Seconds to keep looking. */
  readonly wait: number;
}

/** The inputs of `find`. */
export interface FindInputs extends LookUpInputs {
  /** Answer 'build it' without looking. */
  readonly rebuild: boolean;
  readonly onError: 'fail' | 'build';
}

/** The inputs of `fetch`. */
export interface FetchInputs extends LookUpInputs {
  /** The folder that the wheel is put into. */
  readonly path: string;
  readonly onMissing: 'fail' | 'ignore';
}

/** @throws WheelStoreError that names the input or variable that is wrong */
export function readStoreInputs(): StoreInputs {
  return {
    ...readCommonInputs(),
    target: readTarget(),
    path: core.getInput('path') || 'dist',
    index: readBoolean('index', true),
  };
}

/** @throws WheelStoreError that names the input or variable that is wrong */
export function readFindInputs(): FindInputs {
  return {
    ...readLookUpInputs(),
    rebuild: readBoolean('rebuild', false),
    onError: readChoice('on-error', ['fail', 'build']),
  };
}

/** @throws WheelStoreError that names the input or variable that is wrong */
export function readFetchInputs(): FetchInputs {
  return {
    ...readLookUpInputs(),
    path: core.getInput('path') || 'dist',
    onMissing: readChoice('on-missing', ['fail', 'ignore']),
  };
}

/**
 * Reads a boolean as YAML 1.2's core schema writes it.
 *
 * @param fallback - what an empty input means
 * @throws WheelStoreError for anything else, `yes` and `1` included
 */
export function readBoolean(name: string, fallback: boolean): boolean {
  const text = core.getInput(name);
  if (text === '') return fallback;
  if (['true', 'True', 'TRUE'].includes(text)) return true;
  if (['false', 'False', 'FALSE'].includes(text)) return false;
  throw badInput(
    name,
    text,
    'is neither true nor false',
    'Write true or false (True, TRUE, False and FALSE do as well).',
  );
}

function readLookUpInputs(): LookUpInputs {
  return {
    ...readCommonInputs(),
    targets: readTargets(),
    scope: readChoice('scope', ['commit', 'run', 'attempt']),
    forPython: core.getInput('for-python') || undefined,
    wait: readWait(),
  };
}

function readCommonInputs(): CommonInputs {
  const env = process.env;
  return {
    bucket: readBucketSettings(env),
    place: { prefix: normalisePrefix(core.getInput('prefix')), commit: readCommit() },
    run: readNumber(env, 'GITHUB_RUN_ID'),
    attempt: readNumber(env, 'GITHUB_RUN_ATTEMPT'),
    repository: env.GITHUB_REPOSITORY ?? '',
    serverUrl: env.GITHUB_SERVER_URL ?? '',
    workspace: env.GITHUB_WORKSPACE || process.cwd(),
    runCommit: env.GITHUB_SHA ?? '',
  };
}

function readBucketSettings(env: NodeJS.ProcessEnv): BucketSettings {
  const anonymous = readBoolean('no-sign-request', false);
  const presignSeconds = readPresign();
  if (anonymous && presignSeconds !== undefined) {
    throw badInput(
      'presign',
      String(presignSeconds),
      'needs credentials, which no-sign-request leaves out',
      'Set one of the two.',
    );
  }
  const publicUrl = readUrl('public-url');
  if (publicUrl !== undefined && presignSeconds !== undefined) {
    throw badInput(
      'presign',
      String(presignSeconds),
      'signs URLs of S3, not those of public-url',
      'Set one of the two.',
    );
  }
  return {
    name: readBucketName(),
    region: readRegion(env),
    endpoint: readUrl('endpoint-url'),
    pathStyle: readPathStyle(),
    anonymous,
    publicUrl,
    presignSeconds,
    checksumsAsked: (env.AWS_REQUEST_CHECKSUM_CALCULATION ?? '') !== '',
    proxy: proxyVariables(env),
    credentialsRemedy: isForkPullRequest(env)
      ? 'This run is of a pull request from a fork, and GitHub gives those no credentials: read a public bucket with no-sign-request: true, or run this step only where github.event.pull_request.head.repo.fork is false.'
      : 'Run aws-actions/configure-aws-credentials before this step (with permissions: id-token: write), or set no-sign-request: true to read a public bucket.',
  };
}

function readBucketName(): string {
  const name = core.getInput('bucket');
  if (name === '')
    throw badInput('bucket', name, 'is required', "Set it to the bucket's name, such as bucket: my-wheels.");
  // S3 user guide, "General purpose bucket naming rules", with the upper case and `_` of old and foreign ones.
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(name)) {
    throw badInput(
      'bucket',
      name,
      "is no bucket's name",
      'Write the name alone, such as my-wheels; folders go into prefix.',
    );
  }
  return name;
}

function readRegion(env: NodeJS.ProcessEnv): string {
  const region = core.getInput('region') || env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1';
  if (!/^[A-Za-z0-9-]{1,63}$/.test(region)) {
    throw badInput('region', region, "is no region's name", 'Write it as AWS does, such as us-west-2.');
  }
  return region;
}

function readCommit(): string {
  const commit = core.getInput('commit');
  if (isCommit(commit)) return commit;
  throw badInput(
    'commit',
    commit,
    commit === '' ? 'is empty' : 'is not a full commit hash (40 or 64 lower-case hex digits)',
    'Give the full hash, such as ${{ github.sha }}; a branch, a tag or a short hash could mean another commit tomorrow.',
  );
}

function readTarget(): string {
  const target = core.getInput('target', { trimWhitespace: false }).replace(/^ +| +$/g, '');
  if (target !== '') checkTarget(target);
  return target;
}

function readTargets(): readonly string[] | '*' {
  const names = core
    .getInput('target')
    .split(/[,\r\n]/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) return [''];
  if (names.length === 1 && names[0] === '*') return '*';
  names.forEach(checkTarget);
  return [...new Set(names)];
}

function checkTarget(target: string): void {
  if (isTarget(target)) return;
  throw badInput(
    'target',
    target,
    'is not one segment of letters, digits and . _ + -',
    'Write it like linux-x86_64-cp312, at most 100 characters, beginning with a letter or digit.',
  );
}

function readWait(): number {
  const text = core.getInput('wait');
  if (text === '') return 0;
  if (/^[0-9]{1,6}$/.test(text)) return Number(text);
  throw badInput(
    'wait',
    text,
    'is not a number of seconds',
    'Write seconds, such as wait: 1800, or 0 not to wait.',
  );
}

function readNumber(env: NodeJS.ProcessEnv, name: string): string {
  const text = env[name] ?? '';
  if (isDecimal(text)) return text;
  throw new WheelStoreError({
    title: 'Run unknown',
    reason: `${name} is ${text === '' ? 'not set' : JSON.stringify(text)}, so there is no telling which run and attempt this is.`,
    remedy: `GitHub's runner sets it; on another runner, set ${name} to a decimal number in the env of the job.`,
  });
}

function readChoice<Choice extends string>(name: string, choices: readonly [Choice, ...Choice[]]): Choice {
  const text = core.getInput(name);
  if (text === '') return choices[0];
  const choice = choices.find((known) => known === text);
  if (choice !== undefined) return choice;
  throw badInput(name, text, `is none of ${choices.join(', ')}`, `Write ${choices.join(' or ')}.`);
}

function readPathStyle(): boolean | undefined {
  if (/^(auto)?$/.test(core.getInput('force-path-style'))) return undefined;
  try {
    return readBoolean('force-path-style', false);
  } catch {
    throw badInput(
      'force-path-style',
      core.getInput('force-path-style'),
      'is none of auto, true, false',
      'Write auto, true or false.',
    );
  }
}

/** SigV4 query authentication lasts seven days at most (S3 API, "Authenticating Requests: Using Query Parameters"). */
function readPresign(): number | undefined {
  const text = core.getInput('presign');
  if (text === '' || text === '0') return undefined;
  const seconds = /^[0-9]{1,6}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= 604_800) return seconds;
  throw badInput(
    'presign',
    text,
    'is not a number of seconds from 1 to 604800',
    'Write seconds, such as presign: 900, or leave it empty.',
  );
}

function readUrl(name: string): string | undefined {
  const text = core.getInput(name);
  if (text === '') return undefined;
  const url = URL.parse(text);
  const isPlain =
    url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (isPlain && (url.protocol === 'https:' || url.protocol === 'http:')) return text;
  // The value may hold a password or a signature: it is not repeated.
  throw new WheelStoreError({
    title: 'Bad input',
    reason: `The input '${name}' is not an http or https URL without user name, query and fragment.`,
    remedy: `Write it like ${name}: https://wheels.example.com.`,
  });
}

function proxyVariables(env: NodeJS.ProcessEnv): Record<string, string | undefined> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
  return Object.fromEntries(names.map((name) => [name, env[name]]));
}

/** GitHub withholds secrets and OIDC tokens from runs of pull requests whose head is in a fork. */
function isForkPullRequest(env: NodeJS.ProcessEnv): boolean {
  if (!/^pull_request(?!_target)/.test(env.GITHUB_EVENT_NAME ?? '')) return false;
  try {
    const event = JSON.parse(readFileSync(env.GITHUB_EVENT_PATH ?? '', 'utf8'));
    const head: unknown = event?.pull_request?.head?.repo?.full_name;
    return head !== env.GITHUB_REPOSITORY;
  } catch {
    return false;
  }
}

function badInput(name: string, value: string, is: string, remedy: string): WheelStoreError {
  const shown = value === '' ? '' : ` (${JSON.stringify(value.slice(0, 200))})`;
  return new WheelStoreError({ title: 'Bad input', reason: `The input '${name}'${shown} ${is}.`, remedy });
}
