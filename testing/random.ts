/** Numbers that look random and are the same in every run. */

/** How often a test repeats what it leaves to chance; CI asks for more. */
export const ROUNDS = Number(process.env.WHEEL_STORE_TEST_ROUNDS ?? '5');

/**
 * mulberry32, by its well-known constants.
 *
 * @returns a function that gives numbers from 0 to 1
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
