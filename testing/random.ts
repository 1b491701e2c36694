/** Pseudo-random numbers that are the same in every run. */

/** How often randomised tests repeat; higher in CI. */
export const ROUNDS = Number(process.env.WHEEL_STORE_TEST_ROUNDS ?? '5');

/**
 * The generator mulberry32.
 *
 * @returns a function that returns numbers from 0 up to, but not including, 1
 */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
