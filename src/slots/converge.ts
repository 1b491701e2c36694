/**
 * Read, list, write, read again: lets several jobs write the same page or comment without a lock. The job that writes
 * last also reads after all other writes, so nothing is lost.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { backoff, type Growth } from '../backoff.ts';
import type { WheelStoreError } from '../errors.ts';

/**
 * What to do after a round: stop, because everything is up to date; or run another round, after a pause or, if others
 * write at the same time, after a backoff.
 */
export type Next = 'done' | 'back-off' | { readonly pauseMs: number };

/** When to give up. */
export interface Rounds {
  readonly max: number;
  readonly signal: AbortSignal;
  /** Creates the error to throw after `max` rounds. */
  readonly contended: () => WheelStoreError;
}

const GROWTH: Growth = { firstMs: 100, maxMs: 2_000 };

/**
 * Runs rounds until one returns `done`.
 *
 * @param round - reads, and writes what is missing; called with its number, 1 for the first
 * @throws any error of a round; the reason of `signal`, or an AbortError, if that is aborted; the error of `contended`
 *   after `max` rounds
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
