/** The Python of the tools that scripts/bootstrap.mjs installs, and processes of it. */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './runner.ts';

const BIN = join(ROOT, '.tools/python', process.platform === 'win32' ? 'Scripts' : 'bin');
const SUFFIX = process.platform === 'win32' ? '.exe' : '';

/** A tool of the tools' environment: `python`, `pip`, `uv`. */
export function tool(name: string): string {
  return join(BIN, `${name}${SUFFIX}`);
}

/** What a process said and how it ended. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program to its end, with pip and uv cut off from configuration and indexes other than given. */
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

/** The Python that the outside oracles run with; WHEEL_STORE_TEST_PYTHON names another than the tools' own. */
export function toolsPython(): string {
  return process.env.WHEEL_STORE_TEST_PYTHON || tool('python');
}

/**
 * Runs a Python script that reads one JSON value from its input and prints one.
 *
 * @param script - absolute path
 * @throws Error with what Python printed when it fails
 */
export function askPython<Answer>(script: string, question: unknown): Answer {
  const { status, stdout, stderr, error } = spawnSync(toolsPython(), ['-X', 'utf8', script], {
    input: JSON.stringify(question),
    encoding: 'utf8',
    maxBuffer: 1024 ** 3,
  });
  if (status !== 0) throw new Error(`${script} failed: ${error?.message ?? stderr}`);
  return JSON.parse(stdout) as Answer;
}
