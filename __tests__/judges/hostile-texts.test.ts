import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { NODE } from '../../testing/runner.ts';

interface Reading {
  readonly reader: string;
  readonly text: string;
  readonly milliseconds: number;
}

/**
 * CPU time, which does not depend on other processes. The slowest calls take about a second, or hours if one is
 * quadratic.
 */
const MAX_MILLISECONDS = 20_000;
const MINUTE = 60_000;

test(
  'case 51: every function that parses untrusted text handles a mebibyte quickly',
  () => {
    const script = join(import.meta.dirname, 'hostile-readers.ts');
    const { stdout, stderr } = spawnSync(NODE, ['--no-warnings', script], {
      encoding: 'utf8',
      timeout: 9 * MINUTE,
      maxBuffer: 1024 ** 3,
    });
    const lines = stdout.trim().split('\n');
    const readings = lines.slice(0, -1).map((line): Reading => JSON.parse(line));
    const slowest = readings.toSorted((a, b) => b.milliseconds - a.milliseconds).slice(0, 3);
    process.stdout.write(
      `hostile texts: ${readings.length} readings, the slowest ${JSON.stringify(slowest)}\n`,
    );
    // If the end is missing, the call after the last line has hung.
    expect({ last: lines.at(-1), stderr }).toEqual({ last: '"end"', stderr: '' });
    expect(slowest.filter(({ milliseconds }) => milliseconds > MAX_MILLISECONDS)).toEqual([]);
    expect(readings.length).toBeGreaterThan(1_500);
  },
  10 * MINUTE,
);
