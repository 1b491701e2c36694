/** The look-up that `find` and `fetch` share: waits as long as `wait` allows, and logs the warnings. */
import type { Bucket } from '../bucket/bucket.ts';
import type { WheelStoreError } from '../errors.ts';
import type { LookUpInputs } from '../runner/inputs.ts';
import { info, warn } from '../runner/log.ts';
import { describeQuery, type LookUpResult, lookUpUntil } from '../slots/lookup.ts';

/** GitHub shows at most ten annotations of each kind per step. */
const MAX_WARNINGS = 10;

/** The result of a look-up. */
export interface LookUpOutcome extends LookUpResult {
  /** What is not stored, as the end of a sentence. */
  readonly notStored: string;
}

/**
 * Looks up the wheels that the inputs select.
 *
 * @throws WheelStoreError if the store cannot be read, or the interpreter of `for-python` cannot be run
 */
export async function lookUpWheels(
  bucket: Bucket,
  inputs: LookUpInputs,
  signal: AbortSignal,
): Promise<LookUpOutcome> {
  const interpreter = inputs.forPython === undefined ? undefined : await readInterpreter(inputs.forPython);
  const started = process.uptime();
  const onWait = (failure: WheelStoreError | undefined) => {
    const why = failure?.message ?? `Not stored yet: ${describeQuery(inputs)}.`;
    info(`${why} Looking again for up to ${inputs.wait} seconds.`);
  };
  const result = await lookUpUntil(inputs.wait, onWait, bucket, inputs, signal, interpreter);
  showWarnings(result);
  const waited =
    inputs.wait === 0 ? '' : `, after ${Math.round(process.uptime() - started)} seconds of waiting`;
  return { ...result, notStored: `${describeMissing(result, inputs)}${waited}` };
}

/** Logs the warnings of a look-up. */
export function showWarnings({ warnings }: Pick<LookUpResult, 'warnings'>): void {
  for (const { text, title } of warnings.slice(0, MAX_WARNINGS)) warn(text, title);
  if (warnings.length > MAX_WARNINGS)
    info(`${warnings.length - MAX_WARNINGS} more such warnings are not shown.`);
}

async function readInterpreter(python: string) {
  // Loaded only if needed, because it slows the start down.
  const { queryInterpreter } = await import('../wheel/interpreter.ts');
  const interpreter = await queryInterpreter(python);
  info(`Selecting the wheel for ${interpreter.executable}, Python ${interpreter.version}.`);
  return interpreter;
}

function describeMissing({ missing, incompatible, wheels }: LookUpResult, inputs: LookUpInputs): string {
  if (incompatible.length > 0 && missing.length === 0) {
    return `a wheel that ${inputs.forPython} can install; there are ${incompatible.join(', ')}`;
  }
  return describeQuery(missing.length > 0 && wheels.length > 0 ? { ...inputs, targets: missing } : inputs);
}
