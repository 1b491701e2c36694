/** Sdists, judged by packaging (names), pip (archives) and setuptools (which builds one). */
import { mkdir, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { inspectSdist, type SdistContents } from '../../src/wheel/sdist.ts';
import { readSdistFilename } from '../../src/wheel/sdist-filename.ts';
import { runProgram, runPython, tool } from '../../testing/python.ts';
import { type TarEntry, tarBytes } from '../../testing/raw-tar.ts';
import { sdistBytes } from '../../testing/sdists.ts';

const S = 'demo-1.0.tar.gz';
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sdists-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface Verdicts {
  readonly names: readonly ({ readonly project: string; readonly version: string } | null)[];
  readonly archives: readonly boolean[];
}

const judge = (question: Partial<Record<'names' | 'archives', readonly string[]>>) =>
  runPython<Verdicts>(join(import.meta.dirname, 'judge_sdists.py'), { names: [], archives: [], ...question });

async function inspect(path: string, filename = S): Promise<SdistContents> {
  const file = await open(path);
  try {
    return await inspectSdist(file, readSdistFilename(filename)!);
  } finally {
    await file.close();
  }
}

test('filenames are read as packaging reads them', () => {
  const names = [
    'demo-1.0.tar.gz',
    'foo_bar-1.0.tar.gz',
    'foo-bar-1.0.tar.gz',
    'Foo.Bar-1.0rc1.tar.gz',
    'foo-1.0-1.tar.gz',
    'foo-1!2.0.tar.gz',
    'foo-1.0+local.1.tar.gz',
    'foo-v1.0.tar.gz',
    'foo-latest.tar.gz',
    'foo.tar.gz',
    'foo-1.0.tgz',
    'foo-1.0.TAR.GZ',
    'foo-.tar.gz',
    'foo-1.0.tar.gz.asc',
  ];
  const read = names.map((name) => {
    const parsed = readSdistFilename(name);
    return parsed === undefined ? null : { project: parsed.project, version: parsed.version.text };
  });
  expect(read).toEqual(judge({ names }).names);
  expect(read.filter((each) => each !== null).length).toBeGreaterThan(6);
});

test.each(['-1.0.tar.gz', 'foo-1.0$(id).tar.gz', 'foo bar-1.0.tar.gz', `${'f'.repeat(1020)}-1.0.tar.gz`])(
  '%j is not the filename of an sdist',
  (name) => {
    expect(readSdistFilename(name)).toBeUndefined();
  },
);

describe('archives', () => {
  const inner = (entry: TarEntry) => sdistBytes(S, [entry]);
  const whole = sdistBytes(S);
  const tar = gunzipSync(whole);
  const flipped = Buffer.from(whole);
  flipped.writeUInt8(flipped.readUInt8(flipped.length - 6) ^ 1, flipped.length - 6);
  const accepted: [title: string, bytes: Buffer][] = [
    ['as it should be', whole],
    ['a link to a file in the folder', inner({ name: 'demo-1.0/a', type: '2', target: 'PKG-INFO' })],
    ['a link one folder up', inner({ name: 'demo-1.0/a/b', type: '2', target: '../PKG-INFO' })],
    ['a link down and up', inner({ name: 'demo-1.0/a/b', type: '2', target: 'c/../../PKG-INFO' })],
    ['a hard link', inner({ name: 'demo-1.0/a', type: '1', target: 'demo-1.0/PKG-INFO' })],
  ];
  const refused: [title: string, bytes: Buffer][] = [
    ['empty', Buffer.alloc(0)],
    ['a web page', Buffer.from('<html>')],
    ['a tar archive without compression', tar],
    ['cut off', whole.subarray(0, -20)],
    ['an entry that leads up', inner({ name: '../evil', body: Buffer.from('x') })],
    [
      'an entry that leads up from its folder',
      inner({ name: 'demo-1.0/../../evil', body: Buffer.from('x') }),
    ],
    ['a link to outside', inner({ name: 'demo-1.0/a', type: '2', target: '../../etc/passwd' })],
    ['an absolute link', inner({ name: 'demo-1.0/a', type: '2', target: '/etc/passwd' })],
    ['a hard link to outside', inner({ name: 'demo-1.0/a', type: '1', target: '../evil' })],
    ['a device', inner({ name: 'demo-1.0/a', type: '3' })],
    ['a named pipe', inner({ name: 'demo-1.0/a', type: '6' })],
  ];

  test('pip unpacks those that are accepted, and refuses those that are refused', async () => {
    const all = [...accepted, ...refused];
    const paths = all.map((_, index) => join(folder, String(index), S));
    for (const [index, [, bytes]] of all.entries()) {
      await mkdir(join(folder, String(index)));
      await writeFile(paths[index]!, bytes);
    }
    const ours = await Promise.all(
      paths.map((path) =>
        inspect(path).then(
          () => true,
          () => false,
        ),
      ),
    );
    const titled = (verdicts: readonly boolean[]) => all.map(([title], index) => [title, verdicts[index]]);
    expect(titled(ours)).toEqual(titled([...accepted.map(() => true), ...refused.map(() => false)]));
    expect(titled(judge({ archives: paths }).archives)).toEqual(titled(ours));
  });

  const stricter: [title: string, bytes: Buffer, message: string][] = [
    // pip doesn't read to the end.
    ['a wrong checksum', flipped, '(incorrect data check)'],
    ['a tar archive that ends in the middle', gzipSync(tar.subarray(0, 1600)), 'is truncated'],
    // pip strips the slash.
    ['an absolute entry', inner({ name: '/evil', body: Buffer.from('x') }), 'leaves its folder'],
    // pip unpacks it, and fails to find a project.
    ['two folders', inner({ name: 'other/x', body: Buffer.from('x') }), 'has two folders'],
    ['no PKG-INFO', gzipSync(tarBytes([{ name: 'demo-1.0/x', body: Buffer.from('x') }])), 'no PKG-INFO'],
    ['another version', sdistBytes('demo-2.0.tar.gz'), '"2.0" in its PKG-INFO, but "1.0"'],
    ['another project', sdistBytes('other-1.0.tar.gz'), '"other" in its PKG-INFO, but "demo"'],
  ];
  test.each(stricter)('refused by us alone: %s', async (title, bytes, message) => {
    const path = join(folder, `${title}.tar.gz`);
    await writeFile(path, bytes);
    await expect(inspect(path)).rejects.toMatchObject({
      title: 'Broken sdist',
      message: expect.stringContaining(message),
    });
  });

  test('a name that PEP 625 does not allow: a warning', async () => {
    const path = join(folder, 'Foo.Bar-1.0.tar.gz');
    await writeFile(path, sdistBytes('Foo.Bar-1.0.tar.gz'));
    const { warnings } = await inspect(path, 'Foo.Bar-1.0.tar.gz');
    expect(warnings).toEqual([expect.stringContaining('is not named foo_bar-1.0.tar.gz')]);
  });
});

test('an sdist that setuptools builds is accepted without a warning', async () => {
  const project = join(folder, 'project');
  await mkdir(project);
  const toml =
    '[project]\nname = "Foo.Bar"\nversion = "1.0"\nrequires-python = ">=3.9"\n[tool.setuptools]\npackages = []\n';
  await writeFile(join(project, 'pyproject.toml'), toml);
  const build = `import os, setuptools.build_meta as b; os.chdir(${JSON.stringify(project)}); b.build_sdist("out")`;
  const { code, output } = await runProgram(tool('python'), ['-c', build]);
  if (code !== 0) throw new Error(output);
  const [name = ''] = await readdir(join(project, 'out'));
  expect(await inspect(join(project, 'out', name), name)).toEqual({
    project: 'Foo.Bar',
    version: '1.0',
    requiresPython: '>=3.9',
    warnings: [],
  });
});
