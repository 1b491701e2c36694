/** Shows stored wheels on the commit's index pages and in the comment on the pull request. */
import type { Bucket } from '../bucket/bucket.ts';
import { WheelStoreError } from '../errors.ts';
import type { StoreInputs } from '../runner/inputs.ts';
import { describeError, info, trace, warn } from '../runner/log.ts';
import { indexKey } from '../slots/layout.ts';
import { publishIndex } from '../slots/publish.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { stackOf } from '../untrusted/foreign-text.ts';

/**
 * The wheels are stored by now, so neither a failure to write the page nor a cancellation fails the step.
 *
 * @returns the wheels on the page; undefined if it was not updated
 */
export async function updateIndex(
  bucket: Bucket,
  inputs: StoreInputs,
  stored: readonly StoredWheel[],
  signal: AbortSignal,
): Promise<readonly StoredWheel[] | undefined> {
  if (!inputs.index) {
    info('The index page was not updated (index: false).');
    return undefined;
  }
  try {
    const listed = await publishIndex(bucket, inputs, stored, signal);
    info(`Updated the index page: ${bucket.uri(indexKey(inputs.place))}.`);
    return listed;
  } catch (error) {
    if (!(error instanceof WheelStoreError) && !signal.aborted) throw error;
    const { message, title } = error instanceof WheelStoreError ? error : (signal.reason as WheelStoreError);
    warn(`${areStored(stored)}, but the commit's index page could not be updated. ${message}`, title);
    return undefined;
  }
}

/** The wheels are stored by now, so a failure to write the comment doesn't fail the step. */
export async function updateComment(
  bucket: Bucket,
  inputs: StoreInputs,
  stored: readonly StoredWheel[],
  signal: AbortSignal,
): Promise<void> {
  if (inputs.comment === undefined) return;
  const { pullRequest } = inputs.comment;
  if (pullRequest === undefined) {
    info("No comment: this run has no pull request, and the input 'pull-request' is empty.");
    return;
  }
  try {
    // Loaded only if needed, because GitHub's client slows the start down.
    const { commentOnPullRequest } = await import('../comment/post.ts');
    await commentOnPullRequest(bucket, inputs, inputs.comment, pullRequest, signal);
  } catch (error) {
    stackOf(error).forEach(trace);
    const { title, text } = describeError(error);
    warn(
      `${areStored(stored)}, but the comment on pull request #${pullRequest} was not updated. ${text}`,
      title,
    );
  }
}

/** The beginning of a sentence. */
function areStored(wheels: readonly unknown[]): string {
  return wheels.length === 1 ? 'The wheel is stored' : `${wheels.length} wheels are stored`;
}
