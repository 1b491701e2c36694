/** A C compiler for the demo's wheel: the machine's own, or one that PyPI carries. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../testing/runner.ts';

/** How to build with it. */
export interface Compiler {
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Finds a C compiler; where the machine has none, the package `ziglang` (a wheel) brings one into .tools.
 *
 * @param python - the Python whose pip installs it
 */
export async function describeCompiler(python: string): Promise<Compiler> {
  const named = process.env.CC ?? 'cc';
  if (process.platform === 'win32') return { name: 'the C compiler that setuptools finds', env: {} };
  if (spawnSync(named, ['--version']).status === 0) return { name: named, env: {} };
  const library = join(ROOT, '.tools/zig');
  if (!existsSync(join(library, 'ziglang'))) {
    console.log('  No C compiler on this machine: installing one from PyPI (ziglang, 80 MB) …');
    const { status } = spawnSync(
      python,
      ['-m', 'pip', '--quiet', 'install', '--target', library, 'ziglang==0.15.1'],
      {
        stdio: 'inherit',
      },
    );
    if (status !== 0) throw new Error('The demo builds a C module: install a C compiler (gcc or clang).');
  }
  return { name: 'zig cc', env: { CC: `${python} -m ziglang cc`, PYTHONPATH: library } };
}
