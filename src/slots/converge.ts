/**
 * Read, list, write, look again: how several jobs that write the same page or comment come to agree on it without a
 * lock. Whoever wrote last has looked after everybody else's write.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { backoff, type Growth } from '../backoff.ts';
import type { WheelStoreError } from '../errors.ts';

/**
 * What follows from a round: nothing, since everything is as it should be; or another look, after so many milliseconds,
 * or after a backoff, because others write at the same moment.
 */
export type Next = 'done' | 'back-off' | { readonly pauseMs: number };

/** How long to go on. */
export interface Rounds {
  readonly max: number;
  readonly signal: AbortSignal;
  /** Makes the error to throw if the last round was not enough. */
  readonly contended: () => WheelStoreError;
}

const GROWTH: Growth = { firstMs: 100, maxMs: 2_000 };

/**
 * Goes from round to round until one says that it is done.
 *
 * @param round - looks, and writes what is missing; is told its number, 1 for the first
 * @throws what the round throws; the reason of `signal`, or an AbortError, when that is aborted; the error of
 *   `contended` after `max` rounds
 */
export async function converge(
  round: (number: number) => Promise<Next>,
  { max, signal, contended }: Rounds,
): Promise<void> {
  for (let number = 1; number <= max; number += 1) {
    signal.throwIfAborted();
    const next = await round(number);
    if (next === 'done') return;
    const pauseMs = next === 'back-off' ? backoff(number, GROWTH) : next.pauseMs;
    if (pauseMs > 0) await delay(pauseMs, undefined, { signal });
  }
  throw contended();
}
