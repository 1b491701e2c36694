/** Reads and checks everything that comes from outside, once, into one read-only object per action. */
import { homedir, tmpdir } from 'node:os';
import { isAbsolute } from 'node:path';
import * as core from '@actions/core';
import type { BucketSettings } from '../bucket/bucket.ts';
import { readFolder } from '../disk/path-lines.ts';
import { type CommitPlace, normalisePrefix } from '../slots/layout.ts';
import type { Query } from '../slots/lookup.ts';
import type { Trust } from '../slots/trust.ts';
import { hideSecrets } from '../untrusted/foreign-text.ts';
import {
  commitBefore,
  type EarlierCommit,
  type EventPayload,
  endedRunOf,
  isForkPullRequest,
  pullRequestOf,
  readEvent,
} from './event.ts';
import { warn } from './log.ts';
import { readObjectSettings, readRequestPayer } from './object-inputs.ts';
import { type Proxies, proxyTo, readProxies, unusedProxy } from './proxy.ts';
import { maskPasswords, secretsIn } from './secrets.ts';
import {
  badInput,
  checkKeys,
  readBoolean,
  readBucketName,
  readChoice,
  readCommit,
  readNumber,
  readPathStyle,
  readPresign,
  readPullRequest,
  readRegion,
  readRepository,
  readRequestTimeout,
  readRuns,
  readSha256,
  readTarget,
  readTargets,
  readUrl,
  readWait,
} from './values.ts';

/** What all three actions are told. */
export interface CommonInputs {
  readonly bucket: BucketSettings;
  readonly proxies: Proxies;
  readonly place: CommitPlace;
  /** `GITHUB_RUN_ID`. */
  readonly run: string;
  /** `GITHUB_RUN_ATTEMPT`. */
  readonly attempt: string;
  /** `owner/name`; undefined outside GitHub. */
  readonly repository: string | undefined;
  /** `https://github.com` or an Enterprise Server; undefined outside GitHub. */
  readonly serverUrl: string | undefined;
  /** The folder that relative paths start from, absolute. */
  readonly workspace: string;
  /** RUNNER_TEMP, where steps leave notes for later ones of the job; undefined if there is none. */
  readonly temp: string | undefined;
  /** The home folder that `~` means, absolute; undefined when it is not known. */
  readonly home: string | undefined;
  /** `GITHUB_SHA`: the commit that the run is about; undefined outside GitHub. */
  readonly runCommit: string | undefined;
}

/** The inputs of the root action. */
export interface StoreInputs extends CommonInputs {
  readonly target: string;
  /** Files, folders and globs, one a line. */
  readonly path: string;
  /** Whether a wheel that is older than the job, or names another commit in its version, is stored all the same. */
  readonly allowStale: boolean;
  /** Whether to update the commit's index page. */
  readonly index: boolean;
  /** `GITHUB_EVENT_PATH`: the file with the event that the runner writes; undefined outside GitHub. */
  readonly eventPath: string | undefined;
  /** Whose wheel to compare sizes with; undefined: nothing is known, or there is no summary to show it in. */
  readonly earlier: EarlierCommit | undefined;
  /** undefined: no comment is asked for. */
  readonly comment: CommentInputs | undefined;
}

/** What a comment on the pull request is made with. */
export interface CommentInputs {
  /** Masked in the log. Empty where a secret was withheld. */
  readonly token: string;
  /** `https://api.github.com`, or an Enterprise Server's `…/api/v3`. */
  readonly apiUrl: string;
  /** undefined: neither the input nor the event names one. */
  readonly pullRequest: number | undefined;
  /** Whether the run is of a pull request whose head is in a fork, so that its token may only read. */
  readonly isFork: boolean;
  /** The run and attempt by which comments are older or newer. */
  readonly origin: { readonly run: string; readonly attempt: string };
  /** `owner/name/.github/workflows/file.yml`, or the workflow's name. */
  readonly workflow: string;
}

/** What `find` and `fetch` are told of what to look up. */
export interface LookUpInputs extends CommonInputs {
  /** Names; '' is the wheel without a target; `*` is every target that is stored. */
  readonly targets: readonly string[] | '*';
  /** Which runs may have stored them. */
  readonly only: Query['only'];
  readonly trust: Trust;
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
  /** How to reach the Actions cache; undefined: do not ask it. */
  readonly cache: CacheSettings | undefined;
}

/** How the process that talks to the Actions cache is run. */
export interface CacheSettings {
  /** The job's folder for temporary files, absolute. */
  readonly temp: string;
  /** Its environment: this process's own, without inputs and AWS credentials. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** @throws WheelStoreError that names the input or variable that is wrong */
export function readStoreInputs(): StoreInputs {
  const event = readEvent(process.env);
  const common = readCommonInputs(event);
  return {
    ...common,
    bucket: { ...common.bucket, writing: readObjectSettings() },
    target: readTarget(),
    path: core.getInput('path') || 'dist',
    allowStale: readBoolean('allow-stale-wheel', false),
    index: readBoolean('index', true),
    eventPath: process.env.GITHUB_EVENT_PATH || undefined,
    earlier: readEarlier(process.env, event, common),
    comment: readCommentInputs(process.env, event, common),
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
  const lookUp = readLookUpInputs();
  return {
    ...lookUp,
    path: readFolder(core.getInput('path') || 'dist', lookUp.home),
    onMissing: readChoice('on-missing', ['fail', 'ignore']),
    cache: readBoolean('cache', false) ? readCacheSettings(process.env) : undefined,
  };
}

function readEarlier(
  env: NodeJS.ProcessEnv,
  event: EventPayload | undefined,
  { place, runCommit }: CommonInputs,
): EarlierCommit | undefined {
  const hasSummary = (env.GITHUB_STEP_SUMMARY ?? '') !== '';
  return hasSummary ? commitBefore(event, place.commit, runCommit) : undefined;
}

function readCommentInputs(
  env: NodeJS.ProcessEnv,
  event: EventPayload | undefined,
  { run, attempt, repository }: CommonInputs,
): CommentInputs | undefined {
  const given = readPullRequest();
  if (!readBoolean('comment', false)) return undefined;
  const token = core.getInput('token');
  if (token !== '') core.setSecret(token);
  return {
    token,
    apiUrl: env.GITHUB_API_URL || 'https://api.github.com',
    pullRequest: given ?? pullRequestOf(event),
    isFork: isForkPullRequest(env.GITHUB_EVENT_NAME, event, repository),
    origin: endedRunOf(event) ?? { run, attempt },
    workflow: (env.GITHUB_WORKFLOW_REF ?? '').split('@')[0] || (env.GITHUB_WORKFLOW ?? ''),
  };
}

function readCacheSettings(env: NodeJS.ProcessEnv): CacheSettings {
  const passed = Object.entries(env).filter(([name]) => !/^(INPUT|AWS)_/i.test(name));
  return { temp: env.RUNNER_TEMP || tmpdir(), environment: Object.fromEntries(passed) };
}

function readLookUpInputs(): LookUpInputs {
  const common = readCommonInputs(readEvent(process.env));
  return {
    ...common,
    targets: readTargets(),
    only: readRuns(common),
    trust: {
      repository: readRepository(common.repository),
      sha256: readSha256(),
      requireSha256: readBoolean('require-sha256', false),
    },
    forPython: core.getInput('for-python') || undefined,
    wait: readWait(),
  };
}

function readCommonInputs(event: EventPayload | undefined): CommonInputs {
  const env = process.env;
  // Before anything is said that could repeat one.
  hideSecrets(secretsIn(env));
  const proxies = readProxies(env);
  const bucket = readBucketSettings(env, event, proxies);
  // Not earlier: the password of a variable that is refused must not be printed, even to have it masked.
  maskPasswords(env);
  const unused = unusedProxy(proxyTo(storeUrl(env, bucket), proxies), process.versions.node);
  if (unused !== undefined) warn(unused, 'Proxy not used');
  return {
    bucket,
    proxies,
    place: { prefix: normalisePrefix(core.getInput('prefix')), commit: readCommit() },
    run: readNumber(env, 'GITHUB_RUN_ID'),
    attempt: readNumber(env, 'GITHUB_RUN_ATTEMPT'),
    repository: env.GITHUB_REPOSITORY || undefined,
    serverUrl: env.GITHUB_SERVER_URL || undefined,
    workspace: env.GITHUB_WORKSPACE || process.cwd(),
    temp: env.RUNNER_TEMP || undefined,
    home: readHome(),
    runCommit: env.GITHUB_SHA || undefined,
  };
}

/** HOME, on Windows USERPROFILE, else what the system has; a user of a container may have none. */
function readHome(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}

/** Where the store is as far as inputs and environment say; the host names the bucket only on AWS. */
function storeUrl(env: NodeJS.ProcessEnv, { endpoint, name, region }: BucketSettings): string {
  const configured = endpoint || env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL;
  return configured || `https://${name}.s3.${region}.amazonaws.com`;
}

function readBucketSettings(
  env: NodeJS.ProcessEnv,
  event: EventPayload | undefined,
  proxies: Proxies,
): BucketSettings {
  const anonymous = readBoolean('no-sign-request', false);
  const presignSeconds = readPresign();
  if (anonymous && presignSeconds !== undefined) {
    throw badInput(
      'presign',
      String(presignSeconds),
      'needs credentials, but no-sign-request is set',
      'Set only one of the two.',
    );
  }
  const publicUrl = readUrl('public-url');
  if (publicUrl !== undefined && presignSeconds !== undefined) {
    throw badInput(
      'presign',
      String(presignSeconds),
      'signs URLs of S3, not those of public-url',
      'Set only one of the two.',
    );
  }
  if (!anonymous) checkKeys(env);
  return {
    name: readBucketName(),
    region: readRegion(env),
    isRegionGiven: core.getInput('region') !== '',
    hasEnvironmentKeys: (env.AWS_ACCESS_KEY_ID ?? '') !== '',
    endpoint: readUrl('endpoint-url'),
    pathStyle: readPathStyle(),
    anonymous,
    publicUrl,
    presignSeconds,
    // Only store declares inputs for these, and adds them.
    writing: {},
    requesterPays: readRequestPayer(anonymous),
    hasChecksumSetting: (env.AWS_REQUEST_CHECKSUM_CALCULATION ?? '') !== '',
    requestTimeout: readRequestTimeout(env),
    proxy: proxies.variables,
    credentialsRemedy: credentialsRemedy(env, event),
  };
}

/** What to tell a step that has no credentials; the nearest reason first. */
function credentialsRemedy(env: NodeJS.ProcessEnv, event: EventPayload | undefined): string {
  const isSet = (name: string) => (env[name] ?? '') !== '';
  const reasons: string[] = [];
  const [present, absent] = isSet('AWS_ACCESS_KEY_ID')
    ? ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']
    : ['AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID'];
  if (isSet(present) && !isSet(absent)) reasons.push(`${present} is set, but ${absent} is missing or empty.`);
  else if (isSet('AWS_PROFILE'))
    reasons.push(
      `AWS_PROFILE names the profile ${JSON.stringify(env.AWS_PROFILE!.slice(0, 100))}: check that the AWS configuration files have it, or unset the variable.`,
    );
  reasons.push(
    isForkPullRequest(env.GITHUB_EVENT_NAME, event, env.GITHUB_REPOSITORY)
      ? 'This run is for a pull request from a fork, which gets no credentials from GitHub: read a public bucket with no-sign-request: true, or run this step only if github.event.pull_request.head.repo.fork is false.'
      : 'Run aws-actions/configure-aws-credentials before this step (with permissions: id-token: write), or set no-sign-request: true to read a public bucket.',
  );
  return reasons.join(' ');
}
