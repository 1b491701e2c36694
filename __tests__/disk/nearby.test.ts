import { mkdir, mkdtemp, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { wheelsNearby } from '../../src/disk/nearby.ts';

const W = 'demo-1.0-py3-none-any.whl';
const { signal } = new AbortController();

let workspace: string;
beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), 'nearby-'));
});
afterEach(() => rm(workspace, { recursive: true, force: true }));

async function put(...names: string[]): Promise<string[]> {
  const paths = names.map((name) => join(workspace, name));
  for (const path of paths) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, '');
  }
  return paths;
}

async function found(home?: string): Promise<string[]> {
  return (await wheelsNearby(workspace, signal, home)).map(({ path }) => path);
}

describe('case 53: a wheel elsewhere in the workspace', () => {
  test.each([
    `wheelhouse/${W}`,
    `dist/sub/${W}`,
    `target/wheels/${W}`,
    `build/cp312/wheel/${W}`,
    `python/dist/${W}`,
    `a/b/c/d/e/f/${W}`,
    W,
  ])('%s is found', async (name) => {
    const paths = await put(name);
    expect(await found()).toEqual(paths);
  });

  test.each([
    `node_modules/x/${W}`,
    `.git/${W}`,
    `.venv/${W}`,
    `.tox/dist/${W}`,
    `venv/lib/${W}`,
    `lib/site-packages/${W}`,
    `a/b/c/d/e/f/g/${W}`,
    `dist/.${W}`,
    'dist/demo-1.0.tar.gz',
  ])('%s is skipped', async (name) => {
    await put(name);
    expect(await found()).toEqual([]);
  });

  test('a virtual environment is skipped, whatever its name', async () => {
    await put('env/pyvenv.cfg', `env/${W}`, `env/lib/${W}`);
    expect(await found()).toEqual([]);
  });

  test('folders, dangling links and link loops do not count; a link to a wheel does', async () => {
    const [wheel] = await put(`out/${W}`);
    await mkdir(join(workspace, `folder/${W}`), { recursive: true });
    await symlink('gone', join(workspace, 'dangling.whl'));
    await symlink(workspace, join(workspace, 'loop'));
    await symlink(wheel!, join(workspace, `linked-${W}`));
    expect(await found()).toEqual([join(workspace, `linked-${W}`), wheel]);
  });

  test.each(['wheels', 'wheelhouse', 'target/wheels', 'dist'])(
    '~/%s is searched if the home folder is known',
    async (folder) => {
      const [wheel] = await put(`home/${folder}/${W}`);
      await put(`home/other/${W}`);
      const home = join(workspace, 'home');
      const nowhere = join(workspace, 'gone');
      expect((await wheelsNearby(nowhere, signal, home)).map(({ path }) => path)).toEqual([wheel]);
      expect(await wheelsNearby(nowhere, signal)).toEqual([]);
    },
  );

  test('each has its times, in milliseconds', async () => {
    const [wheel] = await put(`out/${W}`);
    await utimes(wheel!, 1_000, 1_000);
    const { ctimeMs } = await stat(wheel!);
    expect(await wheelsNearby(workspace, signal)).toEqual([
      { path: wheel, modified: 1_000_000, changed: ctimeMs },
    ]);
  });

  test('at most ten are returned', async () => {
    await put(...Array.from({ length: 30 }, (_, index) => `out/demo-1.${index}-py3-none-any.whl`));
    const paths = await found();
    expect(paths).toHaveLength(10);
    expect(paths).toEqual([...paths].sort());
  });

  test('a folder with more entries than the limit does not hide wheels in the usual folders', async () => {
    const [wheel] = await put(`dist/sub/${W}`);
    await mkdir(join(workspace, 'data'));
    await Promise.all(
      Array.from({ length: 6_000 }, (_, index) => writeFile(join(workspace, 'data', `${index}`), '')),
    );
    expect(await found()).toEqual([wheel]);
  });

  test('a signal ends the search', async () => {
    await put(W);
    await expect(wheelsNearby(workspace, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });
});
