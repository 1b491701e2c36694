import { posix, win32 } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  expandHome,
  namesOtherHome,
  readFolder,
  readPathLines,
  replacementFor,
  unexpandedIn,
} from '../../src/disk/path-lines.ts';
import { WheelStoreError } from '../../src/errors.ts';

describe('case 53: the lines of path', () => {
  test.each<[text: string, lines: string[]]>([
    ['dist', ['dist']],
    ['dist\nout', ['dist', 'out']],
    ['  dist \r\n\r\n\tout/*.whl\n', ['dist', 'out/*.whl']],
    ['# built here\ndist\n  # not here\n#out', ['dist']],
    ['dist/**/*.whl\n!dist/old', ['dist/**/*.whl', '! dist/old']],
    ['dist\n! dist/a.whl\n!!dist/b.whl\n!!!c', ['dist', '! dist/a.whl', 'dist/b.whl', '! c']],
    ['dist\n!', ['dist']],
    ['my folder/a b.whl', ['my folder/a b.whl']],
  ])('%j', (text, lines) => {
    const read = readPathLines(text).map(({ text, isExcluded }) => (isExcluded ? `! ${text}` : text));
    expect(read).toEqual(lines);
  });

  test.each(['', '\n', '# dist', '!dist', '!dist\n# out', 'x'.repeat(5_000), 'dist\n'.repeat(101)])(
    '%j is refused',
    (text) => {
      expect(() => readPathLines(text)).toThrow(WheelStoreError);
    },
  );
});

describe('case 53, 54: the home folder', () => {
  test.each([
    ['~', '/home/me', 'C:\\Users\\me'],
    ['~/w', '/home/me/w', 'C:\\Users\\me\\w'],
    ['~/w/*.whl', '/home/me/w/*.whl', 'C:\\Users\\me\\w\\*.whl'],
    ['./~/w', './~/w', './~/w'],
    ['~user/w', '~user/w', '~user/w'],
    ['a/~', 'a/~', 'a/~'],
  ])('%s', (path, onPosix, onWindows) => {
    expect(expandHome(path, '/home/me', posix)).toBe(onPosix);
    expect(expandHome(path, 'C:\\Users\\me', win32)).toBe(onWindows);
  });

  test('on Windows with a backslash', () => {
    expect(expandHome('~\\w', 'C:\\Users\\me', win32)).toBe('C:\\Users\\me\\w');
  });

  test('of another user is recognised', () => {
    expect(['~user', '~user/w', '~+', '~1/x'].every(namesOtherHome)).toBe(true);
    expect(['~', '~/w', '~\\w', 'a~', './~user'].some(namesOtherHome)).toBe(false);
  });

  test('is an error if unknown', () => {
    expect(() => expandHome('~/w', undefined)).toThrow(/home folder is not known/);
  });
});

describe('case 53: what only a shell would expand', () => {
  test.each<[path: string, found: string | undefined, instead: string]>([
    ['$GITHUB_WORKSPACE/dist', '$GITHUB_WORKSPACE', 'leave "$GITHUB_WORKSPACE" out'],
    ['${GITHUB_WORKSPACE}/dist', '${GITHUB_WORKSPACE}', 'leave'],
    ['%GITHUB_WORKSPACE%\\dist', '%GITHUB_WORKSPACE%', 'leave'],
    ['$HOME/w', '$HOME', 'write ~'],
    ['%USERPROFILE%\\w', '%USERPROFILE%', 'write ~'],
    ['%ProgramFiles(x86)%\\w', '%ProgramFiles(x86)%', 'write'],
    ['$env:outDir', '$env:outDir', 'write ${{ env.outDir }}'],
    ['$env:RUNNER_TEMP\\w', '$env:RUNNER_TEMP', 'write ${{ runner.temp }}'],
    ['${OUT:-dist}', '${OUT:-dist}', 'write ${{ env.OUT }}'],
    ['${OUT', '${OUT', 'write ${{ env.OUT }}'],
    ['x/$OUT_DIR/y', '$OUT_DIR', 'write ${{ env.OUT_DIR }}'],
    ['$(pwd)/dist', '$(pwd)', 'leave'],
    ['`make out`/dist', '`make out`', 'write one such as'],
    ['${{ github.workspace }}/dist', '${{ github.workspace }}', 'leave "${{ github.workspace }}" out'],
    ['${{ runner.temp', '${{ runner.temp', 'write it in the workflow file'],
    ['dist', undefined, ''],
    ['a$', undefined, ''],
    ['100%/x', undefined, ''],
    ['a%20b', undefined, ''],
    ['$1', undefined, ''],
  ])('%s', (path, found, instead) => {
    expect(unexpandedIn(path)).toBe(found);
    if (found !== undefined) expect(replacementFor(found)).toContain(instead);
  });
});

describe('case 54: the folder to fetch into', () => {
  test.each([
    ['dist', 'dist'],
    [' dist ', 'dist'],
    ['/abs/w', '/abs/w'],
    ['~/w', '/home/me/w'],
    ['~', '/home/me'],
    ['./~', './~'],
    ['cost$', 'cost$'],
    ['a$b', 'a$b'],
    ['100%', '100%'],
  ])('%j', (text, folder) => {
    expect(readFolder(text, '/home/me', posix)).toBe(folder);
  });

  test.each([
    '$HOME/w',
    '${HOME}/w',
    'x/${NAME}',
    'x/$NAME',
    './$HOME/w',
    '%USERPROFILE%\\w',
    '$(pwd)',
    '`pwd`',
    '${{ runner.temp }}/w',
    '~user/w',
    'a\nb',
    'a\r\nb',
  ])('%j is refused', (text) => {
    expect(() => readFolder(text, '/home/me', posix)).toThrow(WheelStoreError);
  });
});
