import { describe, expect, test } from '@jest/globals';
import { renderCompleteness } from '../../src/runner/completeness.ts';

/** The cells of the table, without its second line and without markup. */
function cellsOf(stored: readonly string[], missing: readonly string[]): string[][] {
  const table = renderCompleteness([
    ...stored.map((name) => ({ name, origin: 'run 7' })),
    ...missing.map((name) => ({ name, origin: undefined })),
  ]);
  const [head, , ...rows] = table.split('\n');
  const plain = (line: string) =>
    line
      .replace(/<\/?code>|\*\*/g, '')
      .replaceAll('&#95;', '_')
      .slice(2, -2)
      .split(' | ');
  return [head!, ...rows].map(plain);
}

describe('names that consist of Python and platform: a grid', () => {
  const run = 'run 7';
  const cases: [title: string, stored: string[], missing: string[], cells: string[][]][] = [
    [
      'as cibuildwheel names builds',
      ['cp312-manylinux_x86_64', 'cp313t-manylinux_x86_64', 'cp312-macosx_arm64'],
      ['cp313t-macosx_arm64', 'cp39-abi3-win_amd64'],
      [
        ['', 'cp312', 'cp313t', 'cp39-abi3'],
        ['manylinux_x86_64', run, run, ''],
        ['macosx_arm64', run, 'missing', ''],
        ['win_amd64', '', '', 'missing'],
      ],
    ],
    [
      'platform first',
      ['linux-x86_64-cp312', 'linux-x86_64-3.13'],
      ['cu128-linux-cp312'],
      [
        ['', 'cp312', '3.13'],
        ['linux-x86_64', run, run],
        ['cu128-linux', 'missing', ''],
      ],
    ],
    [
      'several projects',
      ['foo.cp312-win32', 'bar.py2.py3-none-any'],
      ['foo.bar.3.13-win32'],
      [
        ['', 'cp312', 'py2.py3-none', '3.13'],
        ['foo win32', run, '', ''],
        ['bar any', '', run, ''],
        ['foo.bar win32', '', '', 'missing'],
      ],
    ],
  ];
  test.each(cases)('%s', (_title, stored, missing, cells) => {
    expect(cellsOf(stored, missing)).toEqual(cells);
  });
});

describe('a row for each target', () => {
  test.each<[title: string, names: string[]]>([
    ['other names', ['linux', 'macos']],
    ['some other names', ['cp312-win32', 'cp313-win32', 'docs']],
    ['one Python', ['cp312-win32', 'cp312-win_amd64']],
    ['many Pythons', Array.from({ length: 13 }, (_, index) => `cp3${index}-win32`)],
  ])('%s', (_title, names) => {
    expect(cellsOf(names.slice(0, 1), names.slice(1))).toEqual([
      ['Target', 'Stored by'],
      [names[0], 'run 7'],
      ...names.slice(1).map((name) => [name, 'missing']),
    ]);
  });

  test('the wheel without a target', () => {
    expect(cellsOf(['', 'x'], [])[1]).toEqual(['without a target', 'run 7']);
  });
});
