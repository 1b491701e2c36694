import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { inspectWheel } from '../../src/wheel/archive.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';
import type { Inventory } from '../../src/wheel/largest.ts';
import { readWheel } from '../../src/wheel/read-wheel.ts';
import { runPython, toolsPython } from '../../testing/python.ts';
import { describeBrokenWheels } from './broken-wheels.ts';
import { realWheels } from './real-wheels.ts';

interface Reading {
  readonly packaging: string;
  readonly wheels: readonly {
    readonly project: string;
    readonly version: string;
    readonly requiresPython: string | null;
    readonly tags: readonly string[];
    readonly inventory: Inventory;
    readonly entries: number;
  }[];
}

const MINUTES = 60_000;

let built: string;
let downloaded: readonly string[];
let paths: readonly string[];

beforeAll(async () => {
  built = await mkdtemp(join(tmpdir(), 'built-wheels-'));
  downloaded = await realWheels();
  paths = [...downloaded, ...(await buildWheels(built))];
}, 10 * MINUTES);
afterAll(() => rm(built, { recursive: true }));

/** Builds wheels with a local version, which PyPI does not accept, and with other tags. */
async function buildWheels(folder: string): Promise<string[]> {
  const project = join(folder, 'project');
  await mkdir(project);
  await writeFile(
    join(project, 'pyproject.toml'),
    `[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n` +
      `[project]\nname = "Made.Here"\nversion = "1!2.0rc1+Ubuntu-1"\nrequires-python = ">=3.9,<4"\n`,
  );
  await writeFile(join(project, 'made_here.py'), 'VALUE = 1\n');
  run(
    '-m',
    'pip',
    '--isolated',
    'wheel',
    '--quiet',
    '--no-index',
    '--no-build-isolation',
    '-w',
    folder,
    project,
  );
  const [plain] = (await readdir(folder)).filter((name) => name.endsWith('.whl'));
  run('-m', 'wheel', 'tags', '--build', '7', join(folder, plain!));
  run(
    '-m',
    'wheel',
    'tags',
    '--python-tag',
    'cp312',
    '--abi-tag',
    'abi3',
    '--platform-tag',
    'win_amd64',
    join(folder, plain!),
  );
  return (await readdir(folder)).filter((name) => name.endsWith('.whl')).map((name) => join(folder, name));
}

function run(...args: readonly string[]): void {
  const { status, stderr } = spawnSync(toolsPython(), args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

describe('real wheels', () => {
  test("are read as by packaging's metadata parser and Python's zipfile", async () => {
    const { packaging, wheels } = runPython<Reading>(join(import.meta.dirname, 'read_wheels.py'), paths);
    const read = [];
    for (const path of paths) {
      const contents = await inspectWheel(path, parseWheelFilename(basename(path)));
      read.push({
        ...contents,
        requiresPython: contents.requiresPython ?? null,
        tags: contents.tags.toSorted(),
      });
    }
    const entries = wheels.reduce((sum, wheel) => sum + wheel.entries, 0);
    const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
    const megabytes = Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1e6);
    process.stdout.write(
      `real wheels: ${paths.length} (${megabytes} MB, the largest ${Math.round(Math.max(...sizes) / 1e6)} MB, ${entries} entries) read as packaging ${packaging} reads them\n`,
    );
    expect(read).toEqual(wheels.map(({ entries: _, ...wheel }) => ({ ...wheel, warnings: [] })));
    expect(paths.length).toBeGreaterThanOrEqual(43);
    expect(Math.max(...sizes)).toBeGreaterThan(100e6);
  });

  test(
    'cases 48, 49: are read completely without a warning, and all hashes match RECORD',
    async () => {
      const found: Record<string, unknown> = {};
      for (const path of paths) {
        const name = parseWheelFilename(basename(path));
        const { wheel, contents } = await readWheel(path, name, new AbortController().signal);
        await wheel.file.close();
        if (contents.warnings.length > 0) found[basename(path)] = contents.warnings;
      }
      expect(found).toEqual({});
    },
    5 * MINUTES,
  );

  test('include every kind of filename, tag and folder', () => {
    const names = paths.map((path) => parseWheelFilename(basename(path)));
    const kinds = {
      abi3: names.some(({ tags }) => tags.some((tag) => tag.includes('-abi3-'))),
      build: names.filter(({ build }) => build !== undefined).length > 1,
      local: names.some(({ version }) => version.local !== undefined),
      epoch: names.some(({ version }) => version.epoch > 0n),
      'free-threaded': names.some(({ tags }) => tags.some((tag) => tag.includes('-cp314t-'))),
      pure: names.some(({ tags }) => tags.includes('py3-none-any')),
      old: names.some(({ tags }) => tags.includes('py2-none-any')),
      macos: names.some(({ tags }) => tags.some((tag) => tag.includes('-macosx_'))),
      windows: names.some(({ tags }) => tags.some((tag) => tag.endsWith('-win_amd64'))),
      musl: names.some(({ tags }) => tags.some((tag) => tag.includes('-musllinux_'))),
    };
    expect(Object.entries(kinds).filter(([, isIncluded]) => !isIncluded)).toEqual([]);
  });
});

describeBrokenWheels(() => downloaded);
