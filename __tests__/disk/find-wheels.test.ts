import { posix, win32 } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { folderOfGlobs, readGlobs, type System } from '../../src/disk/glob.ts';

const folderOfGlob = (pattern: string, workspace: string, system: System) =>
  folderOfGlobs(readGlobs(pattern, workspace, system), system);

describe('the folder that a glob starts in', () => {
  const cases: [pattern: string, posix: string, windows: string][] = [
    ['dist/*.whl', '/w/repo/dist', 'D:\\a\\repo\\dist'],
    ['dist/**/*.whl', '/w/repo/dist', 'D:\\a\\repo\\dist'],
    ['*.whl', '/w/repo', 'D:\\a\\repo'],
    ['dist/demo-*-py3*.whl', '/w/repo/dist', 'D:\\a\\repo\\dist'],
    ['dist/demo[0-9].whl', '/w/repo/dist', 'D:\\a\\repo\\dist'],
    ['{dist,out}/*.whl', '/w/repo', 'D:\\a\\repo'],
    ['{dist/a,dist/b}/*.whl', '/w/repo/dist', 'D:\\a\\repo\\dist'],
    ['{dist,distance}/*.whl', '/w/repo', 'D:\\a\\repo'],
    ['../other/*.whl', '/w/other', 'D:\\a\\other'],
    ['gone', '/w/repo', 'D:\\a\\repo'],
    ['gone/demo.whl', '/w/repo/gone', 'D:\\a\\repo\\gone'],
    ['/abs/*.whl', '/abs', 'D:\\abs'],
  ];
  test.each(cases)('%s', (pattern, onPosix, onWindows) => {
    expect(folderOfGlob(pattern, '/w/repo', posix)).toBe(onPosix);
    expect(folderOfGlob(pattern, 'D:\\a\\repo', win32)).toBe(onWindows);
  });

  test.each([
    ['target\\wheels\\*.whl', 'D:\\a\\repo\\target\\wheels'],
    ['C:\\out\\*.whl', 'C:\\out'],
    ['C:/out/*.whl', 'C:\\out'],
    ['C:\\*.whl', 'C:\\'],
    ['\\\\server\\share\\*.whl', '\\\\server\\share\\'],
  ])('%s on Windows', (pattern, folder) => {
    expect(folderOfGlob(pattern, 'D:\\a\\repo', win32)).toBe(folder);
  });

  test('a workspace with wildcards in its name is taken literally', () => {
    expect(folderOfGlob('dist/*.whl', '/w/[a] {b}/repo', posix)).toBe('/w/[a] {b}/repo/dist');
  });
});
