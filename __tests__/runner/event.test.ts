import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { commitBefore, endedRunOf, pullRequestOf, readEvent } from '../../src/runner/event.ts';

const [base, head, merge, other] = ['b', 'd', 'e', 'f'].map((digit) => digit.repeat(40)) as [
  string,
  string,
  string,
  string,
];
const pull = { pull_request: { base: { sha: base }, head: { sha: head } } };
const push = { before: base, after: head };
const group = { merge_group: { base_sha: base, head_sha: head } };

describe('the commit before a change', () => {
  test.each([
    ['of a push', push, head, head, base, 'where the branch was before this push'],
    ['of a pull request’s merge commit', pull, merge, merge, base, 'the base of the pull request'],
    ['of a pull request’s head', pull, head, merge, base, 'the base of the pull request'],
    [
      'of a pull request after a push',
      { ...pull, before: other, after: head },
      head,
      merge,
      base,
      'the base of the pull request',
    ],
    ['of a merge group', group, head, head, base, 'the base of the merge group'],
  ])('%s', (_title, event, commit, runCommit, before, description) => {
    expect(commitBefore(event, commit, runCommit)).toEqual({ commit: before, description });
  });

  test.each<[string, object, string]>([
    ['a new branch', { before: '0'.repeat(40), after: head }, head],
    ['a commit other than the pushed one', push, other],
    ['a hash of sources', push, '1'.repeat(64)],
    ['the base itself', { ...pull }, base],
    ['no payload', {}, head],
    ['a payload of other types', { before: 7, after: head }, head],
    ['objects that are missing', { pull_request: null, merge_group: 'x' }, head],
    ['a short hash', { before: 'b1b1b1b', after: head }, head],
    ['a path instead of a commit', { before: `${'../'.repeat(13)}x`, after: head }, head],
  ])('none for %s', (_title, event, commit) => {
    expect(commitBefore(event, commit, base)).toBeUndefined();
  });
});

test.each([
  ['a payload', '{"before":"x"}', { before: 'x' }],
  ['a truncated file', '{"before":', undefined],
  ['a number', '7', undefined],
  ['null', 'null', undefined],
])('the event file: %s', async (_title, text, payload) => {
  const folder = await mkdtemp(join(tmpdir(), 'event-'));
  await writeFile(join(folder, 'event.json'), text);
  expect(readEvent({ GITHUB_EVENT_PATH: join(folder, 'event.json') })).toEqual(payload);
  await rm(folder, { recursive: true });
});

test('no event file', () => {
  expect(readEvent({})).toBeUndefined();
});

describe('the event', () => {
  test.each<[event: unknown, number: number | undefined]>([
    [undefined, undefined],
    [{}, undefined],
    [{ pull_request: { number: 5 } }, 5],
    [{ pull_request: { number: 5.5 } }, undefined],
    [{ pull_request: { number: -5 } }, undefined],
    [{ issue: { number: 5, pull_request: {} } }, 5],
    [{ issue: { number: 5 } }, undefined],
    [{ workflow_run: { pull_requests: [{ number: 5 }, { number: 6 }] } }, 5],
    [{ workflow_run: { pull_requests: [] } }, undefined],
  ])('%j: pull request %p', (event, number) => {
    expect(pullRequestOf(event as Parameters<typeof pullRequestOf>[0])).toBe(number);
  });

  test.each<[event: unknown, origin: object | undefined]>([
    [{ workflow_run: { id: 12, run_attempt: 3 } }, { run: '12', attempt: '3' }],
    [{ workflow_run: { id: 12 } }, undefined],
    [{ pull_request: { number: 5 } }, undefined],
  ])('%j: run %p', (event, origin) => {
    expect(endedRunOf(event as Parameters<typeof endedRunOf>[0])).toEqual(origin);
  });
});
