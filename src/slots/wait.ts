/** Looks several commits up, and waits for wheels that another workflow is still building. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../bucket/bucket.ts';
import { isTransient } from '../bucket/failures.ts';
import { WheelStoreError } from '../errors.ts';
import type { Interpreter } from '../wheel/interpreter.ts';
import type { LookUpWarning } from './listing.ts';
import { isComplete, type LookUpResult, lookUp, type Query } from './lookup.ts';

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 10_000;

/** What to look up: one commit after another, until one has all that is requested. */
export type Queries = readonly [Query, ...Query[]];

/**
 * Looks commits up, and stops at the first that has all requested wheels.
 *
 * @returns the result for that commit; if there is none, that for the first commit. With the warnings of all.
 * @throws WheelStoreError as {@link lookUp} does
 */
async function lookUpFirst(
  bucket: Bucket,
  queries: Queries,
  signal: AbortSignal,
  interpreter?: Interpreter,
): Promise<LookUpResult> {
  const warnings: LookUpWarning[] = [];
  let first: LookUpResult | undefined;
  for (const query of queries) {
    const result = await lookUp(bucket, query, signal, interpreter);
    warnings.push(...result.warnings);
    if (isComplete(result)) return { ...result, warnings };
    first ??= result;
  }
  return { ...first!, warnings };
}

/**
 * Looks commits up, and stops at the first that has all requested wheels. Repeats this until there is one, or `seconds`
 * have passed. Also retries after transient errors.
 *
 * @param onWait - called before the first wait, and whenever look-ups begin to fail or to succeed again; with the error
 *   if the last look-up failed
 * @throws WheelStoreError if the last look-up failed, or one failed with an error that isn't transient
 */
export async function lookUpUntil(
  seconds: number,
  onWait: (failure: WheelStoreError | undefined) => void,
  ...parameters: Parameters<typeof lookUpFirst>
): Promise<LookUpResult> {
  const [, , signal] = parameters;
  // Not performance.now(), which loads half a dozen of Node's modules.
  const end = process.uptime() + seconds;
  let wasFailing: boolean | undefined;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, MAX_PAUSE_MS)) {
    const result = await lookUpFirst(...parameters).catch(transientFailure);
    const left = (end - process.uptime()) * 1000;
    const isFailing = result instanceof WheelStoreError;
    if (isFailing && left <= 0) throw result;
    if (!isFailing && (left <= 0 || isComplete(result))) return result;
    if (isFailing !== wasFailing) onWait(isFailing ? result : undefined);
    wasFailing = isFailing;
    await delay(Math.min(pause, left), undefined, { signal });
  }
}

function transientFailure(error: unknown): WheelStoreError {
  if (error instanceof WheelStoreError && isTransient(error)) return error;
  throw error;
}
