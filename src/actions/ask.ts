/** The look-up as `find` and `fetch` ask it: with their inputs, waiting where they say so, warnings in the log. */
import type { Bucket } from '../bucket/bucket.ts';
import type { WheelStoreError } from '../errors.ts';
import type { LookUpInputs } from '../runner/inputs.ts';
import { say, warn } from '../runner/log.ts';
import { type Answer, describeQuery, lookUpUntil } from '../slots/lookup.ts';

/** GitHub shows ten annotations of a kind for a step. */
const MAX_WARNINGS = 10;

/** An answer, and what is not stored, as the end of a sentence. */
export interface Reply extends Answer {
  readonly notStored: string;
}

/**
 * Looks up what the inputs ask for.
 *
 * @throws WheelStoreError when the store gives no answer, or the interpreter of `for-python` does not
 */
export async function ask(bucket: Bucket, inputs: LookUpInputs, signal: AbortSignal): Promise<Reply> {
  const interpreter = inputs.forPython === undefined ? undefined : await interpreterOf(inputs.forPython);
  const started = process.uptime();
  const onWait = (failure: WheelStoreError | undefined) => {
    const why = failure?.message ?? `Not stored yet: ${describeQuery(inputs)}.`;
    say(`${why} Looking again for up to ${inputs.wait} seconds.`);
  };
  const answer = await lookUpUntil(inputs.wait, onWait, bucket, inputs, signal, interpreter);
  showWarnings(answer);
  const waited =
    inputs.wait === 0 ? '' : `, after ${Math.round(process.uptime() - started)} seconds of waiting`;
  return { ...answer, notStored: `${describeMissing(answer, inputs)}${waited}` };
}

/** Shows what a look-up has to say besides its answer. */
export function showWarnings({ warnings }: Pick<Answer, 'warnings'>): void {
  for (const { text, title } of warnings.slice(0, MAX_WARNINGS)) warn(text, title);
  if (warnings.length > MAX_WARNINGS)
    say(`${warnings.length - MAX_WARNINGS} more such warnings are not shown.`);
}

/** Only who asks for an interpreter pays for what asks it. */
async function interpreterOf(python: string) {
  const { queryInterpreter } = await import('../wheel/interpreter.ts');
  const interpreter = await queryInterpreter(python);
  say(`Selecting the wheel for ${interpreter.executable}, Python ${interpreter.version}.`);
  return interpreter;
}

function describeMissing({ missing, unfit, wheels }: Answer, inputs: LookUpInputs): string {
  if (unfit.length > 0 && missing.length === 0) {
    return `a wheel that ${inputs.forPython} can install; there are ${unfit.join(', ')}`;
  }
  return describeQuery(missing.length > 0 && wheels.length > 0 ? { ...inputs, targets: missing } : inputs);
}
