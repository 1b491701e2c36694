/** Reads and checks all inputs and environment variables once, into one read-only object per action. */
import { homedir, tmpdir } from 'node:os';
import { isAbsolute } from 'node:path';
import * as core from '@actions/core';
import type { BucketSettings } from '../bucket/bucket.ts';
import { readFolder } from '../disk/path-lines.ts';
import { type CommitPlace, normalisePrefix, SDIST_TARGET } from '../slots/layout.ts';
import type { Query } from '../slots/lookup.ts';
import { hideSecrets } from '../untrusted/foreign-text.ts';
import { readBucketSettings, storeUrl } from './bucket-inputs.ts';
import { type ChannelInputs, readChannelInputs } from './channel-inputs.ts';
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
import { readObjectSettings } from './object-inputs.ts';
import { type Proxies, proxyTo, readProxies, unusedProxy } from './proxy.ts';
import { maskPasswords, secretsIn } from './secrets.ts';
import {
  ALL_TARGETS,
  readCommitLabel,
  readCommits,
  readExpect,
  readProjects,
  readRepository,
  readRuns,
  readSha256,
  readTarget,
  readTargets,
  readWait,
  readWantedVersion,
} from './selection-inputs.ts';
import { readBoolean, readChoice, readNumber, readPullRequest } from './values.ts';

/** The inputs and environment that all actions share. */
export interface CommonInputs {
  readonly bucket: BucketSettings;
  readonly proxies: Proxies;
  /** Of the first of {@link commits}. */
  readonly place: CommitPlace;
  /** In the order in which they are looked up. A store step has one. */
  readonly commits: readonly [string, ...string[]];
  /** Shown instead of the commit; empty: the commit is shown. */
  readonly commitLabel: string;
  /** `GITHUB_RUN_ID`. */
  readonly run: string;
  /** `GITHUB_RUN_ATTEMPT`. */
  readonly attempt: string;
  /** `owner/name`; undefined outside GitHub. */
  readonly repository: string | undefined;
  /** `https://github.com/owner/name`; undefined if pages of the repository cannot be linked. */
  readonly repositoryUrl: string | undefined;
  /** The folder that relative paths start from, absolute. */
  readonly workspace: string;
  /** RUNNER_TEMP, where steps leave notes for later steps of the job; undefined if it is not set. */
  readonly temp: string | undefined;
  /** The home folder, for `~`, absolute; undefined if unknown. */
  readonly home: string | undefined;
  /** `GITHUB_SHA`: the commit that the run is about; undefined outside GitHub. */
  readonly runCommit: string | undefined;
}

/** The inputs of the root action. */
export interface StoreInputs extends CommonInputs {
  /** A name, empty for the only wheel, or {@link ALL_TARGETS}. */
  readonly target: string;
  /** Whether to store the source distribution, too. */
  readonly sdist: boolean;
  /** Targets of wheels that must be there. Empty unless {@link target} is {@link ALL_TARGETS}. */
  readonly expect: readonly string[];
  /** Files, folders and globs, one a line. */
  readonly path: string;
  /** Whether to store a wheel although it is older than the job, or its version contains another commit. */
  readonly allowStale: boolean;
  /** `GITHUB_REF`, such as `refs/heads/main` or `refs/pull/5/merge`; undefined outside GitHub. */
  readonly ref: string | undefined;
  /** Whether to update the commit's index page. */
  readonly index: boolean;
  /** `GITHUB_EVENT_PATH`: the file with the event that the runner writes; undefined outside GitHub. */
  readonly eventPath: string | undefined;
  /** The tag that the run is for; undefined if it is for none. */
  readonly tag: string | undefined;
  /** The commit to compare the wheel's size with; undefined if unknown, or if there is no summary to show it in. */
  readonly earlier: EarlierCommit | undefined;
  /** undefined: no comment is wanted. */
  readonly comment: CommentInputs | undefined;
}

/** The inputs and environment for the comment on a pull request. */
export interface CommentInputs {
  /** Masked in the log. Empty if GitHub withholds the secret. */
  readonly token: string;
  /** `https://api.github.com`, or an Enterprise Server's `…/api/v3`. */
  readonly apiUrl: string;
  /** undefined: neither the input nor the event has one. */
  readonly pullRequest: number | undefined;
  /** Whether the run is for a pull request from a fork: its token is read-only. */
  readonly isFork: boolean;
  /** The run and attempt that decide which comment is newer. */
  readonly origin: { readonly run: string; readonly attempt: string };
  /** `owner/name/.github/workflows/file.yml`, or the workflow's name. */
  readonly workflow: string;
}

/** The inputs that `find` and `fetch` share. */
export interface LookUpInputs extends CommonInputs, Omit<Query, 'place'> {
  /** A Python interpreter. For each project, the wheel that it would install is selected. */
  readonly forPython: string | undefined;
  /** Seconds to keep looking. */
  readonly wait: number;
}

/** The inputs of `find`. */
export interface FindInputs extends LookUpInputs {
  /** Whether to build without a look-up. */
  readonly rebuild: boolean;
  readonly onError: 'fail' | 'build';
}

/** The inputs of `fetch`. */
export interface FetchInputs extends LookUpInputs {
  /** The folder to download into. */
  readonly path: string;
  readonly onMissing: 'fail' | 'ignore';
  /** undefined: the Actions cache is not used. */
  readonly cache: CacheSettings | undefined;
}

/** The inputs of `publish`. */
export interface PublishInputs extends LookUpInputs, ChannelInputs {
  readonly onMissing: 'fail' | 'ignore';
  /** Where the channel is, with the settings of the objects that are put. */
  readonly channelBucket: BucketSettings;
  /** Such as `https://github.com`; undefined if commits and runs cannot be linked. */
  readonly serverUrl: string | undefined;
  /** The action's own files on GitHub; undefined if it was not taken from there. */
  readonly sourceUrl: string | undefined;
}

/** How to run the process that accesses the Actions cache. */
export interface CacheSettings {
  /** The job's folder for temporary files, absolute. */
  readonly temp: string;
  /** Its environment: that of this process, without inputs and AWS variables. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** How many commits a look-up tries. Each takes a listing. */
const MAX_COMMITS = 100;

/** @throws WheelStoreError that names the input or variable that is wrong */
export function readStoreInputs(): StoreInputs {
  const event = readEvent(process.env);
  const common = readCommonInputs(event, 1);
  const target = readTarget();
  return {
    ...common,
    bucket: { ...common.bucket, writing: readObjectSettings() },
    target,
    expect: readExpect(target === ALL_TARGETS ? ALL_TARGETS : [target]),
    sdist: readBoolean('sdist', false) || target === SDIST_TARGET,
    path: core.getInput('path') || 'dist',
    allowStale: readBoolean('allow-stale-wheel', false),
    ref: process.env.GITHUB_REF || undefined,
    index: readBoolean('index', true),
    eventPath: process.env.GITHUB_EVENT_PATH || undefined,
    tag: process.env.GITHUB_REF_TYPE === 'tag' ? process.env.GITHUB_REF_NAME : undefined,
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

/** @throws WheelStoreError that names the input or variable that is wrong */
export function readPublishInputs(): PublishInputs {
  const lookUp = readLookUpInputs();
  const channel = readChannelInputs(lookUp.place.prefix, lookUp.bucket.name);
  const { name } = channel;
  const isElsewhere = name !== lookUp.bucket.name;
  return {
    ...lookUp,
    ...channel,
    // The public URL is that of the channel, which is what people read.
    bucket: isElsewhere ? { ...lookUp.bucket, publicUrl: undefined } : lookUp.bucket,
    channelBucket: { ...lookUp.bucket, name, writing: readObjectSettings() },
    onMissing: readChoice('on-missing', ['fail', 'ignore']),
    serverUrl: readServerUrl(process.env),
    sourceUrl: readSourceUrl(process.env),
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
  const common = readCommonInputs(readEvent(process.env), MAX_COMMITS);
  const targets = readTargets();
  return {
    ...common,
    targets,
    expect: readExpect(targets),
    projects: readProjects(),
    version: readWantedVersion(),
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

function readCommonInputs(event: EventPayload | undefined, maxCommits: number): CommonInputs {
  const env = process.env;
  // First, because any message could contain a secret.
  hideSecrets(secretsIn(env));
  const proxies = readProxies(env);
  const bucket = readBucketSettings(env, event, proxies);
  // Not earlier: masking prints the value, which must not happen if the variable is rejected.
  maskPasswords(env);
  const unused = unusedProxy(proxyTo(storeUrl(env, bucket), proxies), process.versions.node);
  if (unused !== undefined) warn(unused, 'Proxy not used');
  const commits = readCommits(maxCommits);
  return {
    bucket,
    proxies,
    place: { prefix: normalisePrefix(core.getInput('prefix')), commit: commits[0] },
    commits,
    commitLabel: readCommitLabel(),
    run: readNumber(env, 'GITHUB_RUN_ID'),
    attempt: readNumber(env, 'GITHUB_RUN_ATTEMPT'),
    repository: env.GITHUB_REPOSITORY || undefined,
    repositoryUrl: readRepositoryUrl(env),
    workspace: env.GITHUB_WORKSPACE || process.cwd(),
    temp: env.RUNNER_TEMP || undefined,
    home: readHome(),
    runCommit: env.GITHUB_SHA || undefined,
  };
}

/** Checked, because it becomes part of Markdown and HTML. */
function readServerUrl({ GITHUB_SERVER_URL: server = '' }: NodeJS.ProcessEnv): string | undefined {
  return /^https?:\/\/[\w.:-]+$/.test(server) ? server : undefined;
}

function readRepositoryUrl(env: NodeJS.ProcessEnv): string | undefined {
  const server = readServerUrl(env);
  const repository = env.GITHUB_REPOSITORY ?? '';
  return server !== undefined && /^[\w.-]+\/[\w.-]+$/.test(repository)
    ? `${server}/${repository}`
    : undefined;
}

/** Of the version of this action that runs (GitHub docs, "Variables reference"). */
function readSourceUrl(env: NodeJS.ProcessEnv): string | undefined {
  const server = readServerUrl(env);
  const { GITHUB_ACTION_REPOSITORY: repository = '', GITHUB_ACTION_REF: ref = '' } = env;
  return server !== undefined && /^[\w.-]+\/[\w.-]+$/.test(repository) && /^[\w./-]+$/.test(ref)
    ? `${server}/${repository}/blob/${ref}`
    : undefined;
}

/** HOME, on Windows USERPROFILE, else the system's entry. In a container, a user may have no entry. */
function readHome(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}
