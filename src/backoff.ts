/** How long to wait before another try. Values in, values out. */

/** How waits grow from try to try. */
export interface Growth {
  /** Milliseconds after the first try; each further wait may take twice as long. */
  readonly firstMs: number;
  /** Milliseconds that no wait exceeds; left out: no limit. */
  readonly maxMs?: number;
}

/**
 * Exponential backoff.
 *
 * @param tries - how many there were, 1 after the first
 * @returns milliseconds
 */
export function exponential(tries: number, { firstMs, maxMs = Infinity }: Growth): number {
  return Math.min(firstMs * 2 ** (tries - 1), maxMs);
}

/**
 * Exponential backoff with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"), so that those who
 * failed at the same moment do not come back at the same moment.
 *
 * @param tries - how many there were, 1 after the first
 * @param random - at least 0 and below 1
 * @returns milliseconds: that share of {@link exponential}
 */
export function backoff(tries: number, growth: Growth, random = Math.random()): number {
  return random * exponential(tries, growth);
}
