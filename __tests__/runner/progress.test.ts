import { describe, expect, test } from '@jest/globals';
import { progressLine } from '../../src/runner/progress.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

describe('the line of progress', () => {
  test.each([
    [
      'none before ten seconds',
      { done: 5 * MIB, total: GIB, started: 0, now: 9_999, lastShown: undefined },
      undefined,
    ],
    [
      'after ten seconds',
      { done: 256 * MIB, total: GIB, started: 0, now: 10_000, lastShown: undefined },
      'Uploaded 25%: 256.0 MiB of 1.0 GiB, 25.6 MiB/s, 30 s left.',
    ],
    [
      'none within ten seconds after the last',
      { done: 300 * MIB, total: GIB, started: 0, now: 19_999, lastShown: 10_000 },
      undefined,
    ],
    [
      'ten seconds after the last',
      { done: 512 * MIB, total: GIB, started: 1_000, now: 21_000, lastShown: 11_000 },
      'Uploaded 50%: 512.0 MiB of 1.0 GiB, 25.6 MiB/s, 20 s left.',
    ],
    [
      'without a remaining time if no bytes have arrived',
      { done: 0, total: GIB, started: 0, now: 60_000, lastShown: undefined },
      'Uploaded 0%: 0 bytes of 1.0 GiB, 0 bytes/s.',
    ],
    [
      'in minutes, rounded up',
      { done: 60 * MIB, total: 1200 * MIB, started: 0, now: 60_000, lastShown: 50_000 },
      'Uploaded 5%: 60.0 MiB of 1.2 GiB, 1.0 MiB/s, 19 min left.',
    ],
    [
      'in hours',
      { done: MIB, total: 1024 * MIB, started: 0, now: 10_000, lastShown: undefined },
      'Uploaded 0%: 1.0 MiB of 1.0 GiB, 102.4 KiB/s, 2 h 51 min left.',
    ],
    [
      '99% until the end',
      { done: GIB - 1, total: GIB, started: 0, now: 100_000, lastShown: undefined },
      'Uploaded 99%: 1.0 GiB of 1.0 GiB, 10.2 MiB/s, 1 s left.',
    ],
    ['none at the end', { done: GIB, total: GIB, started: 0, now: 100_000, lastShown: 50_000 }, undefined],
    [
      'none for an empty transfer',
      { done: 0, total: 0, started: 0, now: 100_000, lastShown: undefined },
      undefined,
    ],
  ])('%s', (_title, transfer, line) => {
    expect(progressLine('Uploaded', transfer)).toBe(line);
  });
});
