/** Reads and validates single inputs. Each error names the input. */
import * as core from '@actions/core';
import { WheelStoreError } from '../errors.ts';
import { isCommit, isDecimal, isTarget } from '../slots/layout.ts';

/**
 * Reads a boolean of YAML 1.2's core schema.
 *
 * @param fallback - the value of an empty input
 * @throws WheelStoreError for anything else, including `yes` and `1`
 */
export function readBoolean(name: string, fallback: boolean): boolean {
  const text = core.getInput(name);
  if (text === '') return fallback;
  if (['true', 'True', 'TRUE'].includes(text)) return true;
  if (['false', 'False', 'FALSE'].includes(text)) return false;
  throw badInput(
    name,
    text,
    'is not true or false',
    'Write true or false (True, TRUE, False and FALSE also work).',
  );
}

/**
 * The `target` of a store step: one name, or empty for the only wheel.
 *
 * @throws WheelStoreError if it is not a valid name
 */
export function readTarget(): string {
  const target = core.getInput('target', { trimWhitespace: false }).replace(/^ +| +$/g, '');
  if (target !== '') checkTarget(target);
  return target;
}

/**
 * The `target` of a look-up: names separated by commas or line breaks. `*` means all, empty the wheel without a target.
 *
 * @throws WheelStoreError if one is not a valid name
 */
export function readTargets(): readonly string[] | '*' {
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

/**
 * Which runs' wheels are looked up, from `scope` and `run-id`.
 *
 * @returns the only run and attempt; a missing property means any
 * @throws WheelStoreError if the inputs are invalid, or cannot be combined
 */
export function readRuns({ run, attempt }: { readonly run: string; readonly attempt: string }): {
  readonly run?: string;
  readonly attempt?: string;
} {
  const scope = readChoice('scope', ['commit', 'run', 'attempt']);
  const id = core.getInput('run-id');
  if (id === '') return { commit: {}, run: { run }, attempt: { run, attempt } }[scope];
  if (!isDecimal(id)) {
    throw badInput('run-id', id, 'is not a run id', 'Write the number, such as ${{ github.run_id }}.');
  }
  if (scope !== 'commit') {
    throw badInput('run-id', id, `cannot be combined with scope: ${scope}`, 'Set only one of the two.');
  }
  return { run: id };
}

/**
 * The repository whose wheels are used: empty means this one, `*` any.
 *
 * @param here - `GITHUB_REPOSITORY`; undefined outside GitHub
 * @returns `owner/name`; undefined for any
 * @throws WheelStoreError if it is invalid
 */
export function readRepository(here: string | undefined): string | undefined {
  const text = core.getInput('repository');
  if (text === '*') return undefined;
  if (text === '') return here;
  if (/^[\w.-]{1,100}\/[\w.-]{1,100}$/.test(text)) return text;
  throw badInput('repository', text, 'is neither owner/name nor *', 'Write it like org/project.');
}

/**
 * The SHA-256 of the wheels that may be used, separated by commas or whitespace, each with an optional `sha256:`.
 *
 * @returns lower-case hex digits; empty for any
 * @throws WheelStoreError if one is invalid
 */
export function readSha256(): string[] {
  const listed = core.getInput('sha256').split(/[,\s]+/);
  const texts = listed.filter((text) => text !== '');
  return texts.map((text) => {
    const digits = text.toLowerCase().replace(/^sha256[:=]/, '');
    if (/^[0-9a-f]{64}$/.test(digits)) return digits;
    throw badInput('sha256', text, 'is not a SHA-256', 'Write its 64 hex digits, as in the output sha256.');
  });
}

/**
 * How many seconds a look-up waits for missing wheels; 0 if empty.
 *
 * @throws WheelStoreError if it is invalid
 */
export function readWait(): number {
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

/** In seconds; see {@link readRequestTimeout}. */
const DEFAULT_REQUEST_TIMEOUT = 60;

/**
 * `WHEEL_STORE_REQUEST_TIMEOUT`: how many seconds a request may take, until the last byte of the response; 60 if empty.
 *
 * @throws WheelStoreError if it is invalid
 */
export function readRequestTimeout(env: NodeJS.ProcessEnv): number {
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
 * The number of a pull request.
 *
 * @returns undefined if the input is empty
 * @throws WheelStoreError if it is invalid
 */
export function readPullRequest(): number | undefined {
  const text = core.getInput('pull-request');
  if (text === '') return undefined;
  if (/^[1-9][0-9]{0,9}$/.test(text)) return Number(text);
  throw badInput(
    'pull-request',
    text,
    'is not the number of a pull request',
    'Write the number alone, such as pull-request: 123, or leave it empty to use the pull request of the event.',
  );
}

/**
 * A variable that the runner sets to a decimal number.
 *
 * @throws WheelStoreError if it is unset or invalid
 */
export function readNumber(env: NodeJS.ProcessEnv, name: string): string {
  const text = env[name] ?? '';
  if (isDecimal(text)) return text;
  throw new WheelStoreError({
    title: 'Unknown run',
    reason: `${name} is ${text === '' ? 'not set' : JSON.stringify(text)}, so the run and attempt are unknown.`,
    remedy: `GitHub's runner sets it; on another runner, set ${name} to a decimal number in the env of the job.`,
  });
}

/**
 * One of several words; the first one if the input is empty.
 *
 * @throws WheelStoreError if it is none of them; the error lists them
 */
export function readChoice<Choice extends string>(
  name: string,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  const text = core.getInput(name);
  if (text === '') return choices[0];
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw badInput(name, text, `is not one of ${choices.join(', ')}`, `Write ${choices.join(' or ')}.`);
}

/**
 * `force-path-style`.
 *
 * @returns undefined for `auto`
 * @throws WheelStoreError if it is invalid
 */
export function readPathStyle(): boolean | undefined {
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

/**
 * How many seconds presigned URLs are valid. SigV4 allows at most seven days (S3 API, "Authenticating Requests: Using
 * Query Parameters").
 *
 * @returns undefined if URLs are not presigned
 * @throws WheelStoreError if it is invalid
 */
export function readPresign(): number | undefined {
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

/** Encoded in URLs of inputs, because URLs of wheels begin with them and are pasted into commands. */
const SHELL_CHARACTERS = /[\s$`"'\\;&|<>{}*!^]/gu;

/**
 * An http or https URL without user name, query and fragment. Characters that have a meaning for a shell are
 * percent-encoded.
 *
 * @returns undefined if the input is empty
 * @throws WheelStoreError if it is invalid; the error doesn't show the value, which may be secret
 */
export function readUrl(name: string): string | undefined {
  const text = core.getInput(name);
  if (text === '') return undefined;
  const url = URL.parse(text);
  const isPlain =
    url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (isPlain && (url.protocol === 'https:' || url.protocol === 'http:')) return encodeForShells(text);
  // Not shown, because it may contain a password or a signature.
  throw new WheelStoreError({
    title: 'Invalid input',
    reason: `The input '${name}' is not an http or https URL without user name, query and fragment.`,
    remedy: `Write it like ${name}: https://wheels.example.com.`,
  });
}

function encodeForShells(url: string): string {
  return url.replace(SHELL_CHARACTERS, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}

/**
 * The full hash of a commit.
 *
 * @throws WheelStoreError if it is empty, or could refer to another commit later
 */
export function readCommit(): string {
  const commit = core.getInput('commit');
  if (isCommit(commit)) return commit;
  throw badInput(
    'commit',
    commit,
    commit === '' ? 'is empty' : 'is not a full commit hash (40 or 64 lower-case hex digits)',
    'Give the full hash, such as ${{ github.sha }}; a branch, tag or short hash can point to another commit later.',
  );
}

/**
 * The first of these that is set: the input, AWS_REGION, AWS_DEFAULT_REGION; else us-east-1.
 *
 * @throws WheelStoreError if it is not a region name
 */
export function readRegion(env: NodeJS.ProcessEnv): string {
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

const REGION = /^[A-Za-z0-9-]{1,63}$/;

/** Whitespace and invisible characters: control characters, zero-width characters, byte order marks. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
  /[\u0000-\u0020\u007f-\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]/;
const QUOTED = /^["'`]|["'`]$/;

/**
 * Rejects credentials that contain extra characters, for example from copying. They would give wrong signatures, or
 * couldn't be sent. Access key and token are sent in headers, so they are printable ASCII. A secret key may contain
 * other characters, but no whitespace or invisible ones.
 *
 * @throws WheelStoreError that names the variable and never shows its value
 */
export function checkKeys(env: NodeJS.ProcessEnv): void {
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

/**
 * The error for an invalid environment variable.
 *
 * @param name - its name, followed by its value unless that may be secret
 * @param problem - the end of the sentence that begins with the name
 */
export function badVariable(name: string, problem: string, remedy: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Invalid variable',
    reason: `The variable ${name} ${problem}.`,
    remedy,
  });
}

/**
 * The name of the bucket.
 *
 * @throws WheelStoreError if it is empty or not a bucket name
 */
export function readBucketName(): string {
  const name = core.getInput('bucket');
  if (name === '')
    throw badInput('bucket', name, 'is required', "Set it to the bucket's name, such as bucket: my-wheels.");
  // S3 user guide, "General purpose bucket naming rules"; upper case and `_` occur in old buckets and on other engines.
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(name)) {
    throw badInput(
      'bucket',
      name,
      'is not a bucket name',
      'Write the name alone, such as my-wheels; folders go into prefix.',
    );
  }
  return name;
}

/**
 * The error for an invalid input. It shows the value, shortened if it is long.
 *
 * @param problem - the end of the sentence that begins with the input's name and value
 */
export function badInput(name: string, value: string, problem: string, remedy: string): WheelStoreError {
  const shown = value === '' ? '' : ` (${JSON.stringify(value.slice(0, 200))})`;
  return new WheelStoreError({
    title: 'Invalid input',
    reason: `The input '${name}'${shown} ${problem}.`,
    remedy,
  });
}
