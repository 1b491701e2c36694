/** A C compiler for the demo's wheel: that of the machine, or one from PyPI. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../testing/runner.ts';

/** A compiler and the environment to use it. */
export interface Compiler {
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Finds a C compiler. If the machine has none, installs the package `ziglang` (a wheel) into .tools.
 *
 * @param python - the Python whose pip installs it
 */
export async function describeCompiler(python: string): Promise<Compiler> {
  const command = process.env.CC ?? 'cc';
  if (process.platform === 'win32') return { name: 'the C compiler that setuptools finds', env: {} };
  if (spawnSync(command, ['--version']).status === 0) return { name: command, env: {} };
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
