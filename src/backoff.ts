/** How long to wait before a retry. Pure functions. */

/** How the delay grows from one try to the next. */
export interface Growth {
  /** Delay after the first try, in milliseconds; it doubles with each further try. */
  readonly firstMs: number;
  /** Maximum delay, in milliseconds; no limit by default. */
  readonly maxMs?: number;
}

/**
 * Exponential backoff.
 *
 * @param tries - number of tries so far, 1 after the first
 * @returns milliseconds
 */
export function exponential(tries: number, { firstMs, maxMs = Infinity }: Growth): number {
  return Math.min(firstMs * 2 ** (tries - 1), maxMs);
}

/**
 * Exponential backoff with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"), so that clients that
 * failed at the same time don't retry at the same time.
 *
 * @param tries - number of tries so far, 1 after the first
 * @param random - at least 0 and below 1
 * @returns milliseconds: `random` times {@link exponential}
 */
export function backoff(tries: number, growth: Growth, random = Math.random()): number {
  return random * exponential(tries, growth);
}
