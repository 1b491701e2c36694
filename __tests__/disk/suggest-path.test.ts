import { posix, win32 } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { LineSearch, Search } from '../../src/disk/find-wheels.ts';
import { inputFor, mistakeIn, suggestPath } from '../../src/disk/suggest-path.ts';

const BASE = { workspace: '/w/repo', home: '/home/me' };
const W = 'demo-1.0-py3-none-any.whl';

function searched(line: string, found: Partial<LineSearch> = {}): Search {
  const missing = '/w/repo/gone';
  const nothing = {
    line,
    wheels: [],
    sdists: [],
    folder: '/w/repo',
    others: [],
    ...(found.folder === undefined ? { missing } : {}),
  };
  return { wheels: [], sdists: [], excluded: [], lines: [{ ...nothing, ...found }] };
}

const suggest = (search: Search, ...paths: string[]) =>
  suggestPath(
    search,
    paths.map((path) => ({ path })),
    BASE,
    posix,
  );

describe('a wheel elsewhere: did you mean', () => {
  test.each<[line: string, wheels: string[], inputs: string]>([
    ['dist', [`/w/repo/target/wheels/${W}`], 'path: target/wheels?'],
    ['dist', [`/w/repo/${W}`], 'path: .?'],
    ['dist', [`/home/me/target/wheels/${W}`], 'path: ~/target/wheels?'],
    ['dist', [`/mnt/out/${W}`], 'path: /mnt/out?'],
    ['Dist', [`/w/repo/build/${W}`, `/w/repo/dist/${W}`], 'path: dist or path: build?'],
    ['Dist/*.whl', [`/w/repo/build/${W}`, `/w/repo/dist/${W}`], 'path: dist or path: build?'],
    ['dist', [`/w/repo/a/${W}`, `/w/repo/b/${W}`, `/w/repo/c/${W}`], 'path: a or path: b?'],
    ['dist', [`/w/repo/a/${W}`, '/w/repo/a/x.whl'], 'path: a?'],
    ['dist', [`/w/repo/my dist/${W}`], 'path: "my dist"?'],
    ['dist', [`/w/repo/~/${W}`], 'path: ./~?'],
    ['dist', [`/w/repo/::error::\n/${W}`], 'path: "::error::\\n"?'],
  ])('%s %j: %s', (line, wheels, inputs) => {
    expect(suggest(searched(line), ...wheels)).toBe(`Did you mean ${inputs}`);
  });

  test('first the one below the searched folder', () => {
    const search = searched('dist', { folder: '/w/repo/dist' });
    expect(suggest(search, `/w/repo/build/${W}`, `/w/repo/dist/sub/${W}`)).toBe(
      'Did you mean path: dist/sub or path: build?',
    );
  });

  test.each([
    ['D:\\a\\repo\\target\\wheels', 'target/wheels'],
    ['C:\\Users\\me\\wheels', '~/wheels'],
    ['E:\\out', 'E:/out'],
  ])('%s on Windows: %s', (folder, input) => {
    expect(inputFor(folder, { workspace: 'D:\\a\\repo', home: 'C:\\Users\\me' }, win32)).toBe(input);
  });
});

describe('without a wheel elsewhere', () => {
  test('the exclusions, if they removed all wheels', () => {
    const search = {
      ...searched('dist', { wheels: ['/w/repo/dist/a.whl'] }),
      excluded: [{ wheel: '/w/repo/dist/a.whl', line: '!dist/*' }],
    };
    expect(suggest(search, '/w/repo/dist/a.whl')).toContain('begin with !');
  });

  test('the wheel that is still to be built, if there is a source distribution', () => {
    const others = ['demo-1.0.tar.gz'];
    expect(suggest(searched('dist', { folder: '/w/repo/dist', others }))).toContain('build the wheel too');
    expect(suggest(searched('dist', { others }))).toContain('Check that the build ran');
  });

  test('the build', () => {
    expect(suggest(searched('dist'))).toContain('Check that the build ran');
  });
});

describe('a mistake in the text', () => {
  test.each<[line: string, remedy: string]>([
    ['"dist/*.whl"', 'without the quotes, which are part of the name here: path: dist/*.whl.'],
    ["'my dist'", 'path: "my dist".'],
    ['- dist', 'leave the hyphen out: path: dist.'],
    ['dist/*.whl # ours', 'comment on its own line: path: dist/*.whl.'],
    ['dist/*.whl, out/*.whl', 'on its own line'],
    ['dist/*.whl out/*.whl', 'on its own line'],
    ['a.whl;b.whl', 'on its own line'],
    ['target\\wheels\\*.whl', 'separated by / on this system: path: target/wheels/*.whl.'],
    ['~\\wheels', 'path: ~/wheels.'],
    ['/dist/*.whl', 'root of the disk: did you mean path: dist/*.whl?'],
  ])('%s: %s', (line, remedy) => {
    expect(mistakeIn(line, '/dist', '/w/repo', posix)).toContain(remedy);
    expect(suggest(searched(line, { missing: '/dist' }), `/w/repo/dist/${W}`)).toContain(remedy);
  });

  test.each([
    'dist',
    'my dist',
    'dist/my wheel.whl',
    '{a/b,c/*}',
    'a#b',
    'dist/#1',
    '"',
    '-dist',
    '~/wheels',
  ])('%s: none', (line) => {
    expect(mistakeIn(line, '/w/repo/dist', '/w/repo', posix)).toBeUndefined();
  });

  test('a path on the host in a container', () => {
    const line = '/home/runner/work/repo/repo/dist/*.whl';
    const remedy = mistakeIn(line, '/home/runner', '/__w/repo/repo', posix);
    expect(remedy).toContain('In a container');
    expect(remedy).toContain('write path: dist/*.whl.');
    expect(mistakeIn('/__w/repo/repo/dist', '/__w/repo/repo/dist', '/__w/repo/repo', posix)).toBeUndefined();
  });

  test('a path of Git Bash on Windows', () => {
    const at = (line: string) => mistakeIn(line, 'D:\\d', 'D:\\a\\repo', win32);
    expect(at('/d/a/repo/dist')).toContain('path: D:/a/repo/dist.');
    expect(at('target\\wheels')).toBeUndefined();
  });

  test('long texts of such characters take little time', () => {
    const began = process.cpuUsage();
    for (const part of ['"', ' ', ' #', ', ', '\\', '/', '- '])
      mistakeIn(part.repeat(4_096 / part.length), '/x', '/__w/a/a', posix);
    expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
  });
});
