/** Reads the inputs and environment variables for the bucket: its name, endpoint and credentials, and URLs of wheels. */
import * as core from '@actions/core';
import type { BucketSettings } from '../bucket/bucket.ts';
import { WheelStoreError } from '../errors.ts';
import { shellSafe } from '../untrusted/shell.ts';
import { type EventPayload, isForkPullRequest } from './event.ts';
import { readRequestPayer } from './object-inputs.ts';
import type { Proxies } from './proxy.ts';
import { badInput, readBoolean } from './values.ts';

/** In seconds; see {@link readRequestTimeout}. */
const DEFAULT_REQUEST_TIMEOUT = 60;

const REGION = /^[A-Za-z0-9-]{1,63}$/;

/** Whitespace and invisible characters: control characters, zero-width characters, byte order marks. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
  /[\u0000-\u0020\u007f-\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]/;
const QUOTED = /^["'`]|["'`]$/;

/**
 * The inputs and environment variables for the bucket that all three actions share.
 *
 * @param event - the run's event, for the remedy if credentials are missing; undefined if it cannot be read
 * @returns the settings, with nothing in `writing`
 * @throws WheelStoreError that names the input or variable that is wrong
 */
export function readBucketSettings(
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
    // Only store has inputs for these. It adds them.
    writing: {},
    requesterPays: readRequestPayer(anonymous),
    hasChecksumSetting: (env.AWS_REQUEST_CHECKSUM_CALCULATION ?? '') !== '',
    requestTimeout: readRequestTimeout(env),
    proxy: proxies.variables,
    credentialsRemedy: credentialsRemedy(env, event),
  };
}

/** The URL of the store, from inputs and environment. The host contains the bucket only on AWS. */
export function storeUrl(env: NodeJS.ProcessEnv, { endpoint, name, region }: BucketSettings): string {
  const configured = endpoint || env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL;
  return configured || `https://${name}.s3.${region}.amazonaws.com`;
}

function readBucketName(): string {
  const name = core.getInput('bucket');
  if (name === '')
    throw badInput('bucket', name, 'is required', "Set it to the bucket's name, such as bucket: my-wheels.");
  return checkBucketName('bucket', name);
}

/**
 * Checks the value of an input that names a bucket.
 *
 * @returns the name
 * @throws WheelStoreError if it is invalid
 */
export function checkBucketName(input: string, name: string): string {
  // S3 user guide, "General purpose bucket naming rules"; upper case and `_` occur in old buckets and on other engines.
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(name)) {
    throw badInput(
      input,
      name,
      'is not a bucket name',
      'Write the name alone, such as my-wheels; folders go into prefix.',
    );
  }
  return name;
}

/** The first of these that is set: the input, AWS_REGION, AWS_DEFAULT_REGION; else us-east-1. */
function readRegion(env: NodeJS.ProcessEnv): string {
  const input = core.getInput('region');
  if (input !== '' && !REGION.test(input)) {
    throw badInput('region', input, 'is not a region name', 'Write it as AWS does, such as us-west-2.');
  }
  if (input !== '') return input;
  const name = ['AWS_REGION', 'AWS_DEFAULT_REGION'].find((variable) => (env[variable] ?? '') !== '');
  const region = name === undefined ? 'us-east-1' : env[name]!;
  if (REGION.test(region)) return region;
  throw badVariable(
    `${name} (${JSON.stringify(region.slice(0, 200))})`,
    'is not a region name',
    "Write it as AWS does, such as us-west-2, or set the input 'region'.",
  );
}

/** @returns undefined for `auto` */
function readPathStyle(): boolean | undefined {
  if (/^(auto)?$/.test(core.getInput('force-path-style'))) return undefined;
  try {
    return readBoolean('force-path-style', false);
  } catch {
    throw badInput(
      'force-path-style',
      core.getInput('force-path-style'),
      'is not one of auto, true, false',
      'Write auto, true or false.',
    );
  }
}

/** `WHEEL_STORE_REQUEST_TIMEOUT`: how many seconds a request may take, until the last byte of the response. */
function readRequestTimeout(env: NodeJS.ProcessEnv): number {
  const text = env.WHEEL_STORE_REQUEST_TIMEOUT ?? '';
  if (text === '') return DEFAULT_REQUEST_TIMEOUT;
  if (/^[1-9][0-9]{0,3}$/.test(text)) return Number(text);
  throw badVariable(
    `WHEEL_STORE_REQUEST_TIMEOUT (${JSON.stringify(text.slice(0, 200))})`,
    'is not a number of seconds from 1 to 9999',
    'Write seconds, such as 120, or leave it empty for 60.',
  );
}

/**
 * How many seconds presigned URLs are valid. SigV4 allows at most seven days (S3 API, "Authenticating Requests: Using
 * Query Parameters").
 *
 * @returns undefined if URLs are not presigned
 */
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

/**
 * An http or https URL without user name, query and fragment. Characters that have a meaning for a shell are
 * percent-encoded.
 *
 * @returns undefined if the input is empty
 */
function readUrl(name: string): string | undefined {
  const text = core.getInput(name);
  if (text === '') return undefined;
  const url = URL.parse(text);
  const isPlain =
    url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (isPlain && (url.protocol === 'https:' || url.protocol === 'http:')) return shellSafe(text);
  // Not shown, because it may contain a password or a signature.
  throw new WheelStoreError({
    title: 'Invalid input',
    reason: `The input '${name}' is not an http or https URL without user name, query and fragment.`,
    remedy: `Write it like ${name}: https://wheels.example.com.`,
  });
}

/**
 * Rejects credentials that contain extra characters, for example from copying. They would give wrong signatures, or
 * couldn't be sent. Access key and token are sent in headers, so they are printable ASCII. A secret key may contain
 * other characters, but no whitespace or invisible ones.
 *
 * @throws WheelStoreError that names the variable and never shows its value
 */
function checkKeys(env: NodeJS.ProcessEnv): void {
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']) {
    const problem = problemWithKey(env[name] ?? '', name === 'AWS_SECRET_ACCESS_KEY');
    if (problem === undefined) continue;
    throw badVariable(
      name,
      problem,
      'Store the secret again without it (GitHub keeps a line break at the end of what is pasted).',
    );
  }
}

function problemWithKey(value: string, isSecret: boolean): string | undefined {
  if (/[\r\n]/.test(value)) return 'contains a line break';
  if (INVISIBLE.test(value)) return 'contains whitespace or an invisible character';
  if (QUOTED.test(value)) return 'is in quotes';
  if (!isSecret && !/^[!-~]*$/.test(value)) return 'contains a character that is not ASCII';
  return undefined;
}

/** The remedy for missing credentials. The most likely reason comes first. */
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

/**
 * The error for an invalid environment variable.
 *
 * @param name - its name, followed by its value unless that may be secret
 * @param problem - the end of the sentence that begins with the name
 */
function badVariable(name: string, problem: string, remedy: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Invalid variable',
    reason: `The variable ${name} ${problem}.`,
    remedy,
  });
}
