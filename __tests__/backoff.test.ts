import { describe, expect, test } from '@jest/globals';
import { backoff, exponential } from '../src/backoff.ts';

describe('exponential backoff', () => {
  test('doubles from try to try, up to the limit', () => {
    const growth = { firstMs: 100, maxMs: 500 };
    expect([1, 2, 3, 4, 60, 2_000].map((tries) => exponential(tries, growth))).toEqual([
      100, 200, 400, 500, 500, 500,
    ]);
    expect(exponential(5, { firstMs: 100 })).toBe(1_600);
  });

  test('waits a random share of that', () => {
    expect(backoff(3, { firstMs: 100 }, 0)).toBe(0);
    expect(backoff(3, { firstMs: 100 }, 0.5)).toBe(200);
    const waits = Array.from({ length: 1_000 }, () => backoff(3, { firstMs: 100 }));
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...waits)).toBeLessThan(400);
    expect(new Set(waits).size).toBeGreaterThan(900);
  });
});
