/** The slot protocol in all schedules: see testing/simulation. Longer searches: see testing/simulation/simulate.ts. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { NODE, ROOT } from '../../testing/runner.ts';

/** Runs a search in a separate process. It exits with 1 if it finds a broken invariant, and prints the schedule. */
async function simulate(...args: readonly string[]): Promise<string[]> {
  const script = join(ROOT, 'testing/simulation/simulate.ts');
  const { stdout } = await promisify(execFile)(NODE, ['--no-warnings', script, ...args], {
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${error.stdout}${error.stderr}`);
  });
  return stdout.trimEnd().split('\n');
}

test('every state of two steps with a fault, and of three steps and of two index writers without', async () => {
  const lines = await simulate('--faults', '1');
  expect(lines.filter((line) => !line.startsWith('✓'))).toEqual([]);
  // On each of four engines, three pairs, four sets of three, and rivals with an index page; on AWS, a matrix of two.
  expect(lines).toHaveLength(4 * (3 + 4 + 1) + 1);
});

test('random schedules of up to five steps with up to three faults', async () => {
  expect(await simulate('--seeds', '100000')).toEqual([
    expect.stringMatching(`^✓ 100000 random schedules from seed 1: at most \\d\\d requests$`),
  ]);
});

test('the search finds what each precaution of the protocol is for', async () => {
  const verdicts = (await simulate('--mutants')).filter((line) => !line.startsWith(' '));
  expect(verdicts.filter((line) => !line.startsWith('✓ killed'))).toEqual([]);
  expect(verdicts).toHaveLength(16);
});

test('two schedules in which a reported wheel was once removed', async () => {
  const results = (await simulate('--holes')).filter((line) => !line.startsWith(' '));
  expect(results).toEqual([
    expect.stringMatching(/^✓ as it is, .*no invariant is broken$/),
    expect.stringMatching(/^✓ ignoring claims, .*its wheel, and it is gone$/),
    expect.stringMatching(/^✓ as it is, .*no invariant is broken$/),
    expect.stringMatching(/^✓ ignoring claims, .*its wheel, and it is gone$/),
  ]);
});

test('32 jobs that write one index page lose no link', async () => {
  const lines = await simulate('--writers', '32');
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(line).toMatch(/^✓ 32 steps .*: at most \d\d requests$/);
});
