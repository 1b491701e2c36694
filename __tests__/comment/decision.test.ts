import { describe, expect, test } from '@jest/globals';
import {
  type Decision,
  type Draft,
  decideComment,
  type MarkedComment,
  type Marker,
  renderComment,
} from '../../src/comment/text.ts';
import { COMMIT } from '../../testing/job.ts';
import { content, KEY, marker } from '../../testing/marked-comments.ts';

const OTHER_COMMIT = 'b'.repeat(40);

describe('what to do', () => {
  const draft = (
    changes: Partial<Draft> & { run?: string; attempt?: string; commit?: string } = {},
  ): Draft => ({
    key: KEY,
    stamp: { run: changes.run ?? '7', attempt: changes.attempt ?? '1', commit: changes.commit ?? COMMIT },
    by: changes.by ?? 'mine',
    content: changes.content ?? content('one'),
  });
  const found = (id: number, changes: Partial<Marker> = {}, shown = content('one')): MarkedComment => {
    const written = marker(changes);
    return { id, marker: written, body: renderComment(written, shown) };
  };
  type Expected = { kind: Decision['kind']; id?: number; replaces?: boolean; text?: string };
  test.each<[title: string, comments: readonly MarkedComment[], draft: Draft, expected: Expected]>([
    ['no comment', [], draft(), { kind: 'create', text: 'by=mine' }],
    ['a complete comment', [found(1)], draft(), { kind: 'done', id: 1 }],
    [
      'a comment with a missing line',
      [found(1)],
      draft({ content: content('one', 'two') }),
      { kind: 'update', id: 1, replaces: false, text: '/two/' },
    ],
    [
      'a comment with an extra line',
      [found(1, {}, content('one', 'two'))],
      draft(),
      { kind: 'update', id: 1, replaces: false },
    ],
    [
      'an update does not change the creator',
      [found(1)],
      draft({ content: content('two') }),
      { kind: 'update', id: 1, text: 'by=ffff' },
    ],
    [
      'an older run’s of another commit',
      [found(1, { run: '6', commit: OTHER_COMMIT })],
      draft(),
      { kind: 'update', id: 1, replaces: true, text: `run=7 attempt=1 commit=${COMMIT}` },
    ],
    [
      'an older run’s of this commit',
      [found(1, { run: '6' })],
      draft(),
      { kind: 'update', id: 1, replaces: false, text: 'run=7' },
    ],
    [
      'an older attempt’s of another commit',
      [found(1, { commit: OTHER_COMMIT })],
      draft({ attempt: '2' }),
      { kind: 'update', id: 1, replaces: true },
    ],
    [
      'a newer run’s of another commit',
      [found(1, { run: '10', commit: OTHER_COMMIT })],
      draft({ run: '9' }),
      { kind: 'leave' },
    ],
    [
      'a newer attempt’s of another commit',
      [found(1, { attempt: '10', commit: OTHER_COMMIT })],
      draft({ attempt: '9' }),
      { kind: 'leave' },
    ],
    ['a newer run’s of this commit, complete', [found(1, { run: '10' })], draft(), { kind: 'done', id: 1 }],
    [
      'a newer run’s of this commit, with a missing line',
      [found(1, { run: '10' })],
      draft({ content: content('two') }),
      { kind: 'update', id: 1, text: 'run=10' },
    ],
    ['this run’s of another commit', [found(1, { commit: OTHER_COMMIT })], draft(), { kind: 'leave' }],
    [
      'two, the later one of this step',
      [found(2, { by: 'mine' }), found(1)],
      draft(),
      { kind: 'remove', id: 2 },
    ],
    [
      'two, the earlier one of this step',
      [found(1, { by: 'mine' }), found(2)],
      draft(),
      { kind: 'done', id: 1 },
    ],
    ['two of this run, neither of this step', [found(1), found(2)], draft(), { kind: 'done', id: 1 }],
    [
      'a later one of an earlier run',
      [found(1, { run: '5' }), found(2, { run: '6' })],
      draft(),
      { kind: 'remove', id: 2 },
    ],
    [
      'a later one of a newer run',
      [found(1), found(2, { run: '8', commit: OTHER_COMMIT })],
      draft(),
      { kind: 'leave' },
    ],
    [
      'one of this step after a newer run’s',
      [found(1, { run: '8', commit: OTHER_COMMIT }), found(2, { by: 'mine' })],
      draft(),
      { kind: 'remove', id: 2 },
    ],
  ])('%s', (_title, comments, wanted, { text, ...expected }) => {
    const decision = decideComment(comments, wanted);
    expect(decision).toMatchObject(expected);
    if (text !== undefined) expect((decision as { body: string }).body).toContain(text);
  });

  test('the line breaks of GitHub’s editor do not count as a change', () => {
    const { id, body, marker: written } = found(1);
    const edited = { id, marker: written, body: body.trimEnd().replaceAll('\n', '\r\n') };
    expect(decideComment([edited], draft())).toEqual({ kind: 'done', id: 1 });
  });
});
