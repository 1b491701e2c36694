import { describe, expect, test } from '@jest/globals';
import { type ListedComment, OwnWrites } from '../../src/comment/own-writes.ts';
import { readMarker, renderComment } from '../../src/comment/text.ts';
import { content, marker } from '../../testing/marked-comments.ts';

describe('case 73: a list that lags behind, corrected by a step’s own writes', () => {
  const OLD = '2026-01-01T00:00:01Z';
  const NOW = '2026-01-01T00:00:02Z';
  const listed = (id: number, body: string, updatedAt = OLD): ListedComment => ({
    id,
    body,
    marker: readMarker(body)!,
    updatedAt,
  });
  const [before, ours, other] = ['one', 'two', 'three'].map((target) =>
    renderComment(marker({ by: target.length.toString(16) }), content(target)),
  ) as [string, string, string];
  type Case = [title: string, list: ListedComment[], shows: [number, string][], isSettled: boolean];
  test.each<Case>([
    ['shows the write', [listed(1, ours, NOW)], [[1, ours]], true],
    [
      'shows the write with other line breaks',
      [listed(1, `${ours.trimEnd()}\r\n`, NOW)],
      [[1, `${ours.trimEnd()}\r\n`]],
      true,
    ],
    ['is empty', [], [[1, ours]], false],
    ['shows the previous text', [listed(1, before)], [[1, ours]], false],
    ['shows the previous text, written again by another job', [listed(1, before, NOW)], [[1, ours]], false],
    ['shows an older text of another job', [listed(1, other)], [[1, ours]], false],
    ['shows a newer text of another job', [listed(1, other, '2026-01-01T00:00:03Z')], [[1, other]], true],
    ['shows another job’s text of the same second', [listed(1, other, NOW)], [[1, other]], false],
    [
      'shows the write and another comment',
      [listed(1, ours, NOW), listed(2, other)],
      [
        [1, ours],
        [2, other],
      ],
      true,
    ],
    [
      'shows only another comment',
      [listed(2, other)],
      [
        [2, other],
        [1, ours],
      ],
      false,
    ],
  ])('a list that %s', (_title, list, shows, isSettled) => {
    const own = new OwnWrites();
    own.apply([listed(1, before)]);
    own.recordWrite(1, ours, NOW);
    const view = own.apply(list);
    expect(view.comments.map(({ id, body }) => [id, body])).toEqual(shows);
    expect(view.isSettled).toBe(isSettled);
  });

  test('a deleted comment is ignored, even if it is still listed', () => {
    const own = new OwnWrites();
    own.recordWrite(1, ours, NOW);
    own.recordRemoval(1);
    for (let look = 0; look < 3; look += 1)
      expect(own.apply([listed(1, ours, NOW)])).toEqual({ comments: [], isSettled: true });
  });

  test('without writes, the list is not changed', () => {
    const list = [listed(1, before), listed(2, other)];
    expect(new OwnWrites().apply(list)).toEqual({ comments: list, isSettled: true });
  });
});
