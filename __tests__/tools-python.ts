/** The Python that the outside oracles run with: the one that scripts/bootstrap.mjs makes. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** The absolute path of that Python; WHEEL_STORE_TEST_PYTHON names another one. */
export function toolsPython(): string {
  const inVenv = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python'];
  return process.env.WHEEL_STORE_TEST_PYTHON || join(ROOT, '.tools', 'python', ...inVenv);
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
