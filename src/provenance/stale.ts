/** What becomes of a wheel that seems to be another build's. */
import { type Problem, WheelStoreError } from '../errors.ts';
import { warn } from '../runner/log.ts';

/** @throws WheelStoreError unless `allowStale` makes a warning of it */
export function refuseStale(problem: Problem, allowStale: boolean): void {
  if (!allowStale) throw new WheelStoreError(problem);
  warn(`${problem.reason} Storing it anyway (allow-stale-wheel: true).`, problem.title);
}
