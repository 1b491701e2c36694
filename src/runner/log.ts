/** What the job's log shows. Every line that leaves this action goes through here. */
import * as core from '@actions/core';
import { s3Uri } from '../bucket/names.ts';
import type { SentRequest } from '../bucket/observe.ts';
import type { Title } from '../errors.ts';
import type { PlacedWheel } from '../slots/layout.ts';
import { withoutSecrets } from '../untrusted/foreign-text.ts';
import { escapeUnprintable } from '../untrusted/quote.ts';

/**
 * Makes text safe for one line of a log: secrets are removed; characters that cannot be seen, those that change the
 * direction of text among them, are shown instead of sent; and what the runner would read as a command (`::name::` at
 * the start of a line, `##[name]` anywhere) is broken up.
 */
export function printable(text: string): string {
  return escapeUnprintable(withoutSecrets(text), '\\x')
    .replaceAll('##[', '# #[')
    .replace(/^(\s*)::/, '$1: :');
}

/** One line: what was done, or decided and why. */
export function say(text: string): void {
  core.info(printable(text));
}

/** So many lines of one kind still are taken in at a glance. */
const MAX_UNFOLDED = 3;

/**
 * One line for each of several things that were done, folded under a heading where they are many. They are
 * finished before the group is opened, so no error ever ends up in a fold.
 */
export function sayAll(heading: string, lines: readonly string[]): void {
  if (lines.length <= MAX_UNFOLDED) {
    lines.forEach(say);
    return;
  }
  core.startGroup(printable(heading));
  lines.forEach(say);
  core.endGroup();
}

/** A red annotation. */
export function complain(text: string, title: Title): void {
  core.error(annotation(text), { title: printable(title) });
}

/** A yellow annotation. */
export function warn(text: string, title: Title): void {
  core.warning(annotation(text), { title: printable(title) });
}

/** A blue annotation. */
export function note(text: string, title: Title): void {
  core.notice(annotation(text), { title: printable(title) });
}

const MAX_ANNOTATION_CHARACTERS = 4_000;

/** What is too long loses its middle: the cause stands at the beginning, the remedy at the end. */
function annotation(text: string): string {
  const line = printable(text);
  if (line.length <= MAX_ANNOTATION_CHARACTERS) return line;
  const half = MAX_ANNOTATION_CHARACTERS / 2;
  return `${line.slice(0, half)} […] ${line.slice(-half)}`;
}

/** A line that shows only with step debugging on. */
export function trace(text: string): void {
  core.debug(printable(text));
}

/**
 * What shows each request to the store in the log while step debugging is on; undefined while it is off.
 * The runner sets RUNNER_DEBUG=1 for the secret or variable ACTIONS_STEP_DEBUG ("Enabling debug logging").
 */
export function requestTracer(): ((request: SentRequest) => void) | undefined {
  return core.isDebug() ? (request) => trace(describeRequest(request)) : undefined;
}

/** One line: what was asked, what came back, S3's id of it, which try it was and how long it took. */
export function describeRequest(request: SentRequest): string {
  const { method, operation, key, part, status, code, requestId, attempt, milliseconds } = request;
  const about = [method, operation, key, part].filter((word) => word !== '').join(' ');
  const answer = [status ?? 'no answer', code].filter((word) => word !== '').join(' ');
  const id = requestId === '' ? 'no request id' : `request id ${requestId}`;
  return `${about}: ${answer}, ${id}, attempt ${attempt}, ${Math.round(milliseconds)} ms`;
}

/** Where a wheel was found and who stored it, as the object of a sentence. */
export function describeWheel(
  { key, run, attempt }: Pick<PlacedWheel, 'key' | 'run' | 'attempt'>,
  here: { readonly bucket: { readonly name: string }; readonly run: string; readonly attempt: string },
): string {
  const where = s3Uri(here.bucket.name, key);
  if (run === undefined) return `${where} (the old flat layout, which records no run)`;
  if (run !== here.run) return `${where}, stored by run ${run}, attempt ${attempt}`;
  return `${where}, stored by this run's attempt ${attempt}${attempt === here.attempt ? '' : ` (this is attempt ${here.attempt})`}`;
}
