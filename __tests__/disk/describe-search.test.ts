import { describe, expect, test } from '@jest/globals';
import { describeOthers, describeSearch } from '../../src/disk/describe-search.ts';
import type { LineSearch, Search } from '../../src/disk/find-wheels.ts';

function searched(...lines: Partial<LineSearch>[]): Search {
  const nothing = { line: 'dist', wheels: [], sdists: [], folder: '/w/dist', others: [] };
  return { wheels: [], sdists: [], excluded: [], lines: lines.map((line) => ({ ...nothing, ...line })) };
}

describe('a search that found nothing', () => {
  test.each<[found: Partial<LineSearch>, text: string]>([
    [{}, '/w/dist is empty'],
    [{ others: ['demo-1.0.tar.gz', 'sub/'] }, '/w/dist contains only demo-1.0.tar.gz, sub/'],
    [{ folder: '/w', missing: '/w/dist' }, 'there is no /w/dist, and nothing in /w'],
    [{ folder: '/w', missing: '/w/dist', others: ['out/'] }, 'there is no /w/dist, and only out/ in /w'],
    [{ others: ['a\n::error::b\u202e'] }, '/w/dist contains only a ::error::b\\u202e'],
    [{ others: Array.from({ length: 12 }, (_, index) => `${index}`) }, '8, 9 and 2 more'],
  ])('%j: %s', (found, text) => {
    expect(describeSearch('dist', searched(found))).toContain(text);
  });

  test('on several lines, with wheels that are excluded and wheels elsewhere', () => {
    const [excluded, elsewhere] = ['/w/dist/a.whl', '/w/out/b.whl'];
    const search = {
      ...searched({ wheels: [excluded] }, { line: 'x', folder: '/w', missing: '/w/x', others: ['dist/'] }),
      excluded: [{ wheel: excluded, line: '!dist/*' }],
    };
    expect(describeSearch('dist\nx\n!dist/*', search, [{ path: excluded }, { path: elsewhere }])).toBe(
      "no wheel at 'dist' (found 1 there, all excluded), nor at 'x' (there is no /w/x, and only dist/ in /w); " +
        "excluded: /w/dist/a.whl by '!dist/*'; elsewhere, found /w/out/b.whl",
    );
  });
});

test('the files beside the wheels are named, each once', () => {
  const found = { wheels: ['/w/dist/a.whl'], others: ['b.tar.gz', 'c/'] };
  expect(describeOthers(searched(found, found, { others: ['d'] }))).toBe(
    "Also at 'path', not stored: b.tar.gz, c/.",
  );
  expect(describeOthers(searched({ wheels: ['/w/dist/a.whl'] }))).toBeUndefined();
  expect(describeOthers(searched({ others: ['d'] }))).toBeUndefined();
});
