/** Reads the inputs that say which commits, targets and wheels a step is about. */
import * as core from '@actions/core';
import { isCommit, isDecimal, isTarget } from '../slots/layout.ts';
import { normaliseProject } from '../wheel/filename.ts';
import { readVersion, type Version } from '../wheel/version.ts';
import { badInput, readChoice } from './values.ts';

/** The `target` that means all: in store, each wheel at `path` in its own slot; in a look-up, each stored one. */
export const ALL_TARGETS = '*';
/** Core metadata specification, "Name". */
const PROJECT = /^[a-z0-9](?:[a-z0-9._-]{0,212}[a-z0-9])?$/i;

/**
 * The full hashes of commits, one a line.
 *
 * @param max - how many are allowed
 * @returns at least one, in the order of the input, without duplicates
 * @throws WheelStoreError if there are none or too many, or one could refer to another commit later
 */
export function readCommits(max: number): [string, ...string[]] {
  const text = core.getInput('commit');
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const [first = '', ...more] = new Set(lines.filter((line) => line !== ''));
  for (const commit of [first, ...more]) {
    if (isCommit(commit)) continue;
    throw badInput(
      'commit',
      commit,
      commit === '' ? 'is empty' : 'is not a full commit hash (40 or 64 lower-case hex digits)',
      'Give the full hash, such as ${{ github.sha }}; a branch, tag or short hash can point to another commit later.',
    );
  }
  if (more.length < max) return [first, ...more];
  throw badInput(
    'commit',
    text,
    `holds ${more.length + 1} commits`,
    max === 1 ? 'A wheel is stored for one commit.' : `At most ${max} are looked up: shorten the list.`,
  );
}

/** Enough for the names and versions of several projects. */
const MAX_LABEL_CHARACTERS = 100;

/**
 * The text to show instead of the commit; empty if there is none.
 *
 * @throws WheelStoreError if it has more than 100 characters, or is not on one line
 */
export function readCommitLabel(): string {
  const label = core.getInput('commit-label');
  const example = 'such as duckdb v1.4.0 + httpfs 1a2b3c4';
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(label)) {
    const problem = 'contains a line break or another control character';
    throw badInput('commit-label', label, problem, `Write it on one line, ${example}.`);
  }
  if ([...label].length > MAX_LABEL_CHARACTERS) {
    const problem = `is longer than ${MAX_LABEL_CHARACTERS} characters`;
    throw badInput('commit-label', label, problem, `Shorten it to names and versions, ${example}.`);
  }
  return label;
}

/**
 * The `target` of a store step: one name, empty for the only wheel, or `*` for each wheel its own.
 *
 * @throws WheelStoreError if it is not a valid name
 */
export function readTarget(): string {
  // Line breaks are not trimmed: they would mean a list, which store does not take, so they are an error.
  const target = core.getInput('target', { trimWhitespace: false }).replace(/^ +| +$/g, '');
  if (target !== '' && target !== ALL_TARGETS) checkTarget(target);
  return target;
}

/**
 * The `target` of a look-up: names separated by commas or line breaks. `*` means all, empty the wheel without a target.
 *
 * @throws WheelStoreError if one is not a valid name
 */
export function readTargets(): readonly string[] | typeof ALL_TARGETS {
  const names = readNames('target');
  if (names.length === 0) return [''];
  if (names.length === 1 && names[0] === ALL_TARGETS) return ALL_TARGETS;
  for (const name of names) checkTarget(name);
  return names;
}

/**
 * The `expect` of a step: names of targets that must be among all.
 *
 * @param targets - `*`: all
 * @throws WheelStoreError if one is not a valid name, or `target` is not `*`
 */
export function readExpect(targets: readonly string[] | typeof ALL_TARGETS): readonly string[] {
  const names = readNames('expect');
  for (const name of names) checkTarget(name, 'expect');
  if (names.length === 0 || targets === ALL_TARGETS) return names;
  throw badInput(
    'expect',
    names.join(', '),
    "is set, but 'target' is not *",
    "Set target: '*', or leave expect empty: all named targets are required anyway.",
  );
}

/**
 * The `project` of a look-up: names of projects.
 *
 * @returns normalised names (PEP 503); empty: all
 * @throws WheelStoreError if one is not a valid name
 */
export function readProjects(): readonly string[] {
  const names = readNames('project');
  for (const name of names) {
    if (PROJECT.test(name)) continue;
    throw badInput('project', name, 'is not the name of a Python project', 'Write it as on PyPI.');
  }
  return [...new Set(names.map(normaliseProject))];
}

/**
 * The `version` that the wheels must have.
 *
 * @returns undefined if the input is empty: any
 * @throws WheelStoreError if it is not a version
 */
export function readWantedVersion(): Version | undefined {
  const text = core.getInput('version');
  if (text === '') return undefined;
  const version = readVersion(text);
  if (version !== undefined) return version;
  throw badInput(
    'version',
    text,
    'is not a version as Python defines it',
    'Write it like 1.2.3 or v1.2.3. For runs that are not for a tag, leave it empty.',
  );
}

/** Names separated by commas or line breaks, without duplicates. */
function readNames(input: string): string[] {
  const names = core.getInput(input).split(/[,\r\n]/);
  return [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))];
}

function checkTarget(target: string, input = 'target'): void {
  if (isTarget(target)) return;
  throw badInput(
    input,
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
