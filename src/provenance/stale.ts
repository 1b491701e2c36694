/** Handles a wheel that seems to be from another build. */
import { type Problem, WheelStoreError } from '../errors.ts';
import { warn } from '../runner/log.ts';

/** @throws WheelStoreError unless `allowStale` turns it into a warning */
export function refuseStale(problem: Problem, allowStale: boolean): void {
  if (!allowStale) throw new WheelStoreError(problem);
  warn(`${problem.reason} Storing it anyway (allow-stale-wheel: true).`, problem.title);
}
