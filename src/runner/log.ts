/** The job's log. This action prints every line through this module. */
import * as core from '@actions/core';
import { s3Uri } from '../bucket/names.ts';
import type { SentRequest } from '../bucket/observe.ts';
import { type Title, WheelStoreError } from '../errors.ts';
import type { PlacedWheel } from '../slots/layout.ts';
import { messageOf, withoutSecrets } from '../untrusted/foreign-text.ts';
import { escapeUnprintable } from '../untrusted/quote.ts';

/**
 * Makes text safe for one line of a log. Secrets are removed. Invisible characters, including those that change the
 * direction of text, are escaped. Text that the runner would read as a command (`::name::` at the start of a line,
 * `##[name]` anywhere) is broken up.
 */
export function printable(text: string): string {
  return escapeUnprintable(withoutSecrets(text), '\\x')
    .replaceAll('##[', '# #[')
    .replace(/^(\s*)::/, '$1: :');
}

/** Logs one line: what was done, or what was decided and why. */
export function info(text: string): void {
  core.info(printable(text));
}

/** The most lines of one kind that are shown without a group. */
const MAX_UNFOLDED = 3;

/**
 * Logs several lines of one kind, in a collapsed group if there are many. All lines are passed at once, so that an
 * error never ends up in the group.
 */
export function infoGroup(heading: string, lines: readonly string[]): void {
  if (lines.length <= MAX_UNFOLDED) {
    lines.forEach(info);
    return;
  }
  core.startGroup(printable(heading));
  lines.forEach(info);
  core.endGroup();
}

/** The title and text of an annotation for an error. Any that isn't a WheelStoreError is a bug. */
export function describeError(error: unknown): { readonly title: Title; readonly text: string } {
  if (error instanceof WheelStoreError) return { title: error.title, text: error.message };
  return {
    title: 'Bug in wheel-store-action',
    text: `${messageOf(error)} This is a bug in wheel-store-action: please report it with the job's debug log.`,
  };
}

/** Creates a red annotation. */
export function reportError(text: string, title: Title): void {
  core.error(annotation(text), { title: printable(title) });
}

/** Creates a yellow annotation. */
export function warn(text: string, title: Title): void {
  core.warning(annotation(text), { title: printable(title) });
}

/** Creates a blue annotation. */
export function notice(text: string, title: Title): void {
  core.notice(annotation(text), { title: printable(title) });
}

const MAX_ANNOTATION_CHARACTERS = 4_000;

/** Shortens long text in the middle, because the cause is at the beginning and the remedy at the end. */
function annotation(text: string): string {
  const line = printable(text);
  if (line.length <= MAX_ANNOTATION_CHARACTERS) return line;
  const half = MAX_ANNOTATION_CHARACTERS / 2;
  return `${line.slice(0, half)} […] ${line.slice(-half)}`;
}

/** Logs one line that is shown only if step debugging is on. */
export function trace(text: string): void {
  core.debug(printable(text));
}

/**
 * A callback that logs each request to the store if step debugging is on; undefined if it is off. The runner sets
 * RUNNER_DEBUG=1 for the secret or variable ACTIONS_STEP_DEBUG (GitHub docs, "Enabling debug logging").
 */
export function requestTracer(): ((request: SentRequest) => void) | undefined {
  return core.isDebug() ? (request) => trace(describeRequest(request)) : undefined;
}

/** One line with the request, the response, its request id, the number of the attempt and the time that it took. */
export function describeRequest(request: SentRequest): string {
  const { method, operation, key, part, status, code, requestId, attempt, milliseconds } = request;
  const about = [method, operation, key, part].filter((word) => word !== '').join(' ');
  const response = [status ?? 'no response', code].filter((word) => word !== '').join(' ');
  const id = requestId === '' ? 'no request id' : `request id ${requestId}`;
  return `${about}: ${response}, ${id}, attempt ${attempt}, ${Math.round(milliseconds)} ms`;
}

/** Where a wheel is stored and which run stored it, to be used as a noun in a sentence. */
export function describeWheel(
  { key, run, attempt }: Pick<PlacedWheel, 'key' | 'run' | 'attempt'>,
  here: { readonly bucket: { readonly name: string }; readonly run: string; readonly attempt: string },
): string {
  const where = s3Uri(here.bucket.name, key);
  if (run === undefined) return `${where} (the old flat layout, which records no run)`;
  if (run !== here.run) return `${where}, stored by run ${run}, attempt ${attempt}`;
  return `${where}, stored by this run's attempt ${attempt}${attempt === here.attempt ? '' : ` (this is attempt ${here.attempt})`}`;
}
