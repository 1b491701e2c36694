/**
 * Runs the tests, with arguments for jest; where WHEEL_STORE_TEST_REPORT names a file, jest's own counts are
 * written there.
 */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const report = process.env.WHEEL_STORE_TEST_REPORT;
// The first line takes minutes, since jest starts with the slowest files.
if (process.argv.length === 2)
  console.log('All tests: about a quarter of an hour on two cores; a line for each file …');
const child = spawn(
  process.execPath,
  [
    // jest runs ES modules only with the first option, and warns about it in every process.
    '--experimental-vm-modules',
    '--no-warnings',
    resolve(root, 'node_modules/jest/bin/jest.js'),
    // A failed test may leave a server open, which must not keep a CI job from ending.
    ...(report ? ['--json', `--outputFile=${report}`, '--forceExit'] : []),
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: report ? ['inherit', 'ignore', 'inherit'] : 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
