/** Runs Python and the other tools that scripts/bootstrap.mjs installs. */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './runner.ts';

const BIN = join(ROOT, '.tools/python', process.platform === 'win32' ? 'Scripts' : 'bin');
const SUFFIX = process.platform === 'win32' ? '.exe' : '';

/** The path of a tool, such as `python`, `pip` or `uv`. */
export function tool(name: string): string {
  return join(BIN, `${name}${SUFFIX}`);
}

/** The exit status of a process, and its output. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program until it ends. pip and uv see only the configuration in `args`, not the machine's. */
export async function runProgram(file: string, args: readonly string[], input = ''): Promise<Ended> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PIP|UV)_/.test(name));
  const child = spawn(file, args, { env: Object.fromEntries(kept), stdio: ['pipe', 'pipe', 'pipe'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stdin.end(input);
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => done({ code, output: Buffer.concat(chunks).toString('utf8') }));
  });
}

/** The Python that runs the scripts of the tests: WHEEL_STORE_TEST_PYTHON, or the installed one. */
export function toolsPython(): string {
  return process.env.WHEEL_STORE_TEST_PYTHON || tool('python');
}

/**
 * Runs a Python script that reads a JSON value from stdin and prints one.
 *
 * @param script - absolute path
 * @throws Error with the output of Python if it fails
 */
export function runPython<Result>(script: string, input: unknown): Result {
  const { status, stdout, stderr, error } = spawnSync(toolsPython(), ['-X', 'utf8', script], {
    input: JSON.stringify(input),
    encoding: 'utf8',
    maxBuffer: 1024 ** 3,
  });
  if (status !== 0) throw new Error(`${script} failed: ${error?.message ?? stderr}`);
  return JSON.parse(stdout) as Result;
}
