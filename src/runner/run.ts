/** Runs one action: handles signals and failures. */
import { WheelStoreError } from '../errors.ts';
import { stackOf } from '../untrusted/foreign-text.ts';
import { describeError, info, reportError } from './log.ts';

/** An action: everything from reading its inputs to setting its outputs. */
export type Action = (signal: AbortSignal) => Promise<void>;

/**
 * Runs the action as a step of a job. A failure becomes one annotation and exit status 1. The runner sends SIGINT and
 * SIGTERM to cancel a job. They abort the action's signal, and the action cleans up before it ends.
 *
 * @param setFailureOutputs - sets the outputs of a failed step
 */
export async function run(action: Action, setFailureOutputs: () => void): Promise<void> {
  const cancellation = new AbortController();
  // Never removed: a signal after the work is done must not make the step fail.
  const cancel = (signal: NodeJS.Signals) => cancellation.abort(cancellationError(signal));
  process.on('SIGINT', cancel).on('SIGTERM', cancel);
  const failure = { isReported: false };
  const failOnce = (error: unknown) => {
    if (!failure.isReported) fail(error, setFailureOutputs);
    failure.isReported = true;
  };
  process.on('uncaughtException', (error) => {
    failOnce(error);
    cancellation.abort(error);
  });
  // The reader may be gone. A failure to print must not keep the step from ending.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    await action(cancellation.signal);
  } catch (error) {
    failOnce(cancellation.signal.aborted ? cancellation.signal.reason : error);
  }
  // A pending retry or credential process must not outlive the step.
  if (cancellation.signal.aborted || failure.isReported) process.stdout.write('', () => process.exit());
}

function fail(error: unknown, setFailureOutputs: () => void): void {
  process.exitCode = 1;
  try {
    setFailureOutputs();
  } catch {
    // Even if the outputs cannot be written, the error must be shown.
  }
  const { text, title } = describeError(error);
  reportError(text, title);
  if (!(error instanceof WheelStoreError)) stackOf(error).forEach(info);
}

function cancellationError(signal: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Cancelled',
    reason: `The step was cancelled (${signal}); unfinished work was cleaned up.`,
    remedy: 'Run the job again if you need its result.',
  });
}
