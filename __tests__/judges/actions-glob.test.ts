/** What `path` matches, compared with `@actions/glob`, which `actions/upload-artifact` uses. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findWheels } from '../../src/disk/find-wheels.ts';

const SCRIPT = join(import.meta.dirname, 'actions_glob.ts');
/** Those of actions/upload-artifact 4 and later. */
const AS_UPLOAD_ARTIFACT = { matchDirectories: false, excludeHiddenFiles: true };

let workspace: string;
beforeAll(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), 'judge-glob-')));
  for (const file of [
    'root.whl',
    'dist/a-1.whl',
    'dist/b-2.whl',
    'dist/a-1.tar.gz',
    'dist/.hidden.whl',
    'dist/sub/c.whl',
    'dist/sub/deep/d.whl',
    'wheelhouse/a-1.whl',
    'target/wheels/a-1.whl',
    'py/39/build/wheel/a.whl',
    'py/40/build/wheel/b.whl',
    'py/40/build/other/b.whl',
    'my dist/a.whl',
    '.hidden/a.whl',
    '[x]/a.whl',
    'x/a.whl',
    'home/wheels/a.whl',
    'home/target/wheels/a.whl',
  ]) {
    await mkdir(dirname(join(workspace, file)), { recursive: true });
    await writeFile(join(workspace, file), '');
  }
});
afterAll(() => rm(workspace, { recursive: true, force: true }));

function judge(paths: readonly string[], options: object): string[][] {
  const output = execFileSync(process.execPath, [SCRIPT], {
    cwd: workspace,
    env: { ...process.env, HOME: join(workspace, 'home'), USERPROFILE: join(workspace, 'home') },
    input: JSON.stringify(paths.map((path) => ({ path, options }))),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(output.slice(output.lastIndexOf('\n'))) as string[][];
}

async function found(path: string): Promise<string[]> {
  const { wheels } = await findWheels(path, workspace, { home: join(workspace, 'home') });
  return wheels.map((wheel) => relative(workspace, wheel)).sort();
}

const isWheel = (path: string) => path.endsWith('.whl');

test('paths as workflows have them find the wheels that actions/upload-artifact would take', async () => {
  const paths = [
    './wheelhouse/*.whl',
    'wheelhouse/*.whl',
    './wheelhouse',
    'wheelhouse/',
    'wheelhouse//*.whl',
    ' wheelhouse/*  ',
    'dist/*.whl',
    'dist/*.whl\ndist/*.tar.gz',
    'dist/*.whl\n!dist/b*',
    'dist/a-*.whl',
    'dist/?-[0-9].whl',
    'dist/[!a]-*.whl',
    'dist/**/*.whl',
    'dist/**/*',
    'dist/**',
    '**/*.whl',
    '**/dist/*.whl',
    '**/wheels/*.whl\n!home',
    'target/wheels',
    'target/wheels/',
    'target/wheels/*',
    'target/**/*.whl',
    '~/wheels',
    '~/target/wheels',
    '~/target/wheels/*.whl',
    'py/*/build/wheel',
    'py/*/build/wheel/',
    'py/*/build/wheel/*.whl',
    'py/**/wheel/*.whl\n!py/39',
    'my dist/*.whl',
    'my dist',
    '*.whl',
    './*.whl',
    '# comment\n\n  dist/*.whl  \n#dist/sub',
    'dist/**\n!dist/sub/\n!dist/b-*',
    'dist/**/*.whl\n!dist/*/',
    'dist/**/*.whl\n!dist/sub/**',
    'dist/**/*.whl\n!**/deep\ndist/sub/deep/d.whl',
    'dist/**/*.whl\n! dist/sub\n!!dist/sub/c.whl',
    '[[]x]/*.whl',
    'wheelhouse/*\ndist/a-1.whl\nwheelhouse/a-1.whl',
    'gone/*.whl',
    'dist/a-1.whl/*',
    ...(process.platform === 'win32'
      ? ['dist\\*.whl', 'target\\wheels', '.\\wheelhouse\\*.whl', 'DIST\\*.WHL']
      : ['\\[x\\]/*.whl', 'dist/\\*.whl', 'DIST/*.whl']),
  ];
  const judged = judge(paths, AS_UPLOAD_ARTIFACT);
  for (const [index, path] of paths.entries()) {
    expect([path, await found(path)]).toEqual([path, judged[index]!.filter(isWheel)]);
  }
});

describe('the differences that docs/environments.md lists', () => {
  test.each<[difference: string, path: string, ours: string[], theirs: unknown]>([
    [
      'a folder',
      'dist',
      ['dist/a-1.whl', 'dist/b-2.whl'],
      ['dist/a-1.whl', 'dist/b-2.whl', 'dist/sub/c.whl', 'dist/sub/deep/d.whl'],
    ],
    ['braces', '{wheelhouse,out}/*.whl', ['wheelhouse/a-1.whl'], []],
    ['a dot in the pattern', '.hidden/*.whl', ['.hidden/a.whl'], []],
    ['an existing name', '[x]', ['[x]/a.whl'], ['x/a.whl']],
    ['..', 'py/../wheelhouse/*.whl', ['wheelhouse/a-1.whl'], expect.stringContaining('not allowed')],
  ])('%s: %s', async (_, path, ours, theirs) => {
    expect(await found(path)).toEqual(ours);
    const [judged] = judge([path], AS_UPLOAD_ARTIFACT);
    expect(Array.isArray(judged) ? judged.filter(isWheel) : judged).toEqual(theirs);
  });
});

/**
 * What @actions/glob matches line by line, taken as we do: the wheels directly in a folder count, and what is below an
 * excluded folder does not.
 */
function combine(lines: readonly string[], matches: readonly string[][], all: readonly string[]): string[] {
  const taken = new Set<string>();
  for (const [index, line] of lines.entries()) {
    const matched = new Set(matches[index]);
    const isDirect = (wheel: string) => matched.has(wheel) || matched.has(dirname(wheel).replace(/^\.$/, ''));
    const isBelow = (path: string): boolean =>
      matched.has(path) || matched.has('') || (path !== '.' && isBelow(dirname(path)));
    for (const wheel of all) {
      if (line.startsWith('!')) isBelow(wheel) && taken.delete(wheel);
      else if (isDirect(wheel)) taken.add(wheel);
    }
  }
  return [...taken].sort();
}

test('arbitrary patterns match what @actions/glob matches', async () => {
  const part = fc.constantFrom(
    'a',
    'b',
    '1',
    '-',
    '.whl',
    '*',
    '?',
    '[ab]',
    '[!a]',
    '[a-c]',
    'dist',
    'py',
    '39',
    '\\a',
  );
  const segment = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom('dist', 'sub', 'py', '*', '**', '*.whl', 'build', 'wheel', '[[]x]'),
    },
    { weight: 1, arbitrary: fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')) },
  );
  const line = fc
    .tuple(
      fc.constantFrom('', '', '!'),
      fc.array(segment, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('', '', '/'),
    )
    .map(([mark, segments, end]) => `${mark}${segments.join('/')}${end}`)
    // Backslashes are separators on Windows.
    .filter((text) => process.platform !== 'win32' || !text.includes('\\'));
  const lists = fc
    .sample(fc.array(line, { minLength: 1, maxLength: 3 }), { seed: 20260101, numRuns: 1_000 })
    .filter((lines) => lines.some((one) => !one.startsWith('!')));
  const judged = judge(
    lists.flat().map((one) => one.replace(/^!/, '')),
    { implicitDescendants: false, excludeHiddenFiles: true },
  );
  const all = (await found('**/*.whl')).filter((path) => !/(^|\/)\./.test(path));
  let matched = 0;
  for (const lines of lists) {
    const expected = combine(lines, judged.splice(0, lines.length), all);
    const path = lines.join('\n');
    expect([path, await found(path)]).toEqual([path, expected]);
    matched += Number(expected.length > 0);
  }
  expect(matched).toBeGreaterThan(100);
});
