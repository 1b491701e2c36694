/** Runs one action: signals in, failures out. */
import { WheelStoreError } from '../errors.ts';
import { messageOf, stackOf } from '../untrusted/foreign-text.ts';
import { complain, say } from './log.ts';

/** What an action is: everything from reading its inputs to setting its outputs. */
export type Action = (signal: AbortSignal) => Promise<void>;

/**
 * Runs the action as a step of a job. A failure becomes one annotation and exit status 1. SIGINT and SIGTERM, which
 * the runner sends to cancel a job, abort the action's signal and leave it the time to clean up.
 *
 * @param setFailureOutputs - sets what later steps read of a step that failed
 */
export async function run(action: Action, setFailureOutputs: () => void): Promise<void> {
  const cancellation = new AbortController();
  // They stay until the process ends: a signal that comes when the work is done must not undo its success.
  const cancel = (signal: NodeJS.Signals) => cancellation.abort(cancelled(signal));
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
  // Nobody may be reading any more; what cannot be said must not keep the step from ending.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    await action(cancellation.signal);
  } catch (error) {
    failOnce(cancellation.signal.aborted ? cancellation.signal.reason : error);
  }
  // A pause before another try, or a process that was to give credentials, must not outlast the step.
  if (cancellation.signal.aborted || failure.isReported) process.stdout.write('', () => process.exit());
}

const DEFECT = { title: 'Bug in wheel-store-action' } as const;

function fail(error: unknown, setFailureOutputs: () => void): void {
  process.exitCode = 1;
  try {
    setFailureOutputs();
  } catch {
    // Where the outputs cannot be written, the error itself must still be seen.
  }
  if (error instanceof WheelStoreError) {
    complain(error.message, error.title);
    return;
  }
  complain(
    `${messageOf(error)} This is a bug in wheel-store-action: please report it with the lines below.`,
    DEFECT.title,
  );
  stackOf(error).forEach(say);
}

function cancelled(signal: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Cancelled',
    reason: `The step was cancelled (${signal}); what it had started was cleaned up.`,
    remedy: 'Run the job again if you need its result.',
  });
}
