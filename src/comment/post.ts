/**
 * Keeps one comment on the pull request, even if many jobs of a matrix write at once. GitHub has no conditional writes
 * for comments. So each job reads the comment, lists the stored wheels, writes all of them, and reads again, until the
 * comment is complete. The job that writes last reads after all other writes.
 */
import { randomUUID } from 'node:crypto';
import type { Bucket } from '../bucket/bucket.ts';
import { plainUrl } from '../bucket/url.ts';
import { WheelStoreError } from '../errors.ts';
import type { CommentInputs, StoreInputs } from '../runner/inputs.ts';
import { info, trace } from '../runner/log.ts';
import { converge, type Next } from '../slots/converge.ts';
import { indexKey, SDIST_TARGET } from '../slots/layout.ts';
import { readCommit } from '../slots/lookup.ts';
import { fromPage } from '../slots/pinned.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { trustRepository } from '../slots/trust.ts';
import { openGitHub, type Patience, patienceUntil, pauseAfter, refusalIn } from './github.ts';
import { OwnWrites } from './own-writes.ts';
import { explainRefusal } from './refusals.ts';
import {
  type CommentContent,
  commentKey,
  type Decision,
  decideComment,
  isOlder,
  type Stamp,
} from './text.ts';
import { findComments, loginOnce, type Thread, type Write, write } from './thread.ts';

const MAX_ROUNDS = 40;

/**
 * How long to wait before the next round if the comment of an older commit was replaced. A job of the older run that
 * has read before may still overwrite it, and wouldn't notice. Longer than a write takes.
 */
const SETTLING_MS = 2_000;
/** Waits between reads until GitHub's list shows what was written. It can lag behind by seconds. */
const LAG_PAUSES_MS = [250, 500, 1_000, 2_000, 2_000];
/** A create without a response may have succeeded, so it is repeated only once. */
const MAX_UNANSWERED_CREATES = 2;

/**
 * Brings the comment up to date.
 *
 * @param pullRequest - its number
 * @throws WheelStoreError if GitHub or the store rejects a request; the reason of `signal` if it is aborted
 */
export async function commentOnPullRequest(
  bucket: Bucket,
  inputs: StoreInputs,
  comment: CommentInputs,
  pullRequest: number,
  signal: AbortSignal,
): Promise<void> {
  const [owner = '', repo = ''] = (inputs.repository ?? '').split('/');
  checkAccess(comment, owner, repo);
  const patience = patienceUntil(signal);
  const github = await openGitHub(
    { ...comment, proxies: inputs.proxies, requestTimeout: inputs.bucket.requestTimeout },
    patience,
  );
  const thread = { github, issue: { owner, repo, issue_number: pullRequest }, login: loginOnce(github) };
  try {
    await updateComment(bucket, inputs, comment, thread, patience);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw explainRefusal(error, { ...comment, pullRequest, repository: `${owner}/${repo}` });
  }
}

/** The progress of a step. */
interface Progress {
  readonly own: OwnWrites;
  /** URL of the comment; empty until this step has written it. */
  url: string;
  /** Consecutive failed writes. */
  failures: number;
  unansweredCreates: number;
  /** How often the step has waited for the list since the last write. */
  waits: number;
}

async function updateComment(
  bucket: Bucket,
  inputs: StoreInputs,
  comment: CommentInputs,
  thread: Thread,
  patience: Patience,
): Promise<void> {
  const stamp: Stamp = { ...comment.origin, commit: inputs.place.commit };
  const key = commentKey({
    // Without any password in the endpoint, because the comment shows a hash of this.
    endpoint: bucket.address,
    bucket: inputs.bucket.name,
    prefix: inputs.place.prefix,
    workflow: comment.workflow,
  });
  const by = randomUUID();
  const known = new Map<string, StoredWheel>();
  const progress: Progress = { own: new OwnWrites(), url: '', failures: 0, unansweredCreates: 0, waits: 0 };
  const round = async (number: number): Promise<Next> => {
    const view = progress.own.apply(await findComments(thread, key));
    const content = await readContent(bucket, inputs, known, patience.signal);
    const decision = decideComment(view.comments, { key, stamp, by, content });
    const lagMs = pauseForList(decision, view.isSettled, progress);
    if (lagMs !== undefined) return { pauseMs: lagMs };
    if (decision.kind === 'done' || decision.kind === 'leave') {
      logOutcome(decision, thread, stamp, progress.url);
      return 'done';
    }
    if (!(await tryToWrite(thread, decision, progress, patience))) return { pauseMs: 0 };
    if (decision.kind === 'update' && decision.replaces) return { pauseMs: SETTLING_MS };
    return number === 1 ? { pauseMs: 0 } : 'back-off';
  };
  await converge(round, { max: MAX_ROUNDS, signal: patience.signal, contended: conflictError });
}

function conflictError(): WheelStoreError {
  return new WheelStoreError({
    title: 'Comment conflict',
    reason: `Something else changed the comment in each of ${MAX_ROUNDS} rounds.`,
    remedy: 'The next store step of this commit updates it. If not, find out what else edits the comment.',
  });
}

/**
 * How long to wait before the next read, if a list that lags behind could lead to a wrong decision: to create a second
 * comment because the first is not listed yet, or to end the step although other jobs have created comments meanwhile.
 *
 * @returns milliseconds; undefined if there is no need to wait, or the step has waited long enough
 */
function pauseForList({ kind }: Decision, isSettled: boolean, progress: Progress): number | undefined {
  const isMisleading =
    (kind === 'done' && !isSettled) || (kind === 'create' && progress.unansweredCreates > 0);
  const milliseconds = LAG_PAUSES_MS[progress.waits];
  if (!isMisleading || milliseconds === undefined) return undefined;
  progress.waits += 1;
  trace(`Comment: GitHub does not list it yet. Looking again in ${milliseconds} ms.`);
  return milliseconds;
}

/**
 * @returns false if the write failed, but the next round may succeed
 * @throws the error of the request, if a retry would not help
 */
async function tryToWrite(
  thread: Thread,
  decision: Write,
  progress: Progress,
  patience: Patience,
): Promise<boolean> {
  try {
    progress.url = (await write(thread, decision, progress.own)) || progress.url;
    progress.failures = 0;
    progress.waits = 0;
    return true;
  } catch (error) {
    const { status } = refusalIn(error);
    // The comment was deleted after it was listed. The list may still show it for a while.
    if (decision.kind !== 'create' && status === 404) {
      progress.own.recordRemoval(decision.id);
      return false;
    }
    progress.failures += 1;
    if (decision.kind === 'create' && (status === undefined || status >= 500)) {
      progress.unansweredCreates += 1;
      progress.waits = 0;
      if (progress.unansweredCreates === MAX_UNANSWERED_CREATES) throw error;
    }
    await pauseAfter(error, progress.failures, patience);
    return false;
  }
}

async function readContent(
  bucket: Bucket,
  { place, repository, commitLabel }: StoreInputs,
  known: Map<string, StoredWheel>,
  signal: AbortSignal,
): Promise<CommentContent> {
  const stored = await readCommit(bucket, place, trustRepository(repository), known, signal);
  const { hasIndex } = stored;
  // Reviewers install wheels.
  const wheels = stored.wheels.filter(({ target }) => target !== SDIST_TARGET);
  const indexUrl = hasIndex ? await plainUrl(bucket, indexKey(place)) : undefined;
  const names = wheels.map(({ name }) => name);
  const isShared = new Set(names.map(({ project }) => project)).size > 1;
  return {
    entries: await Promise.all(
      wheels.map(async ({ target, name, key, size }) => ({
        target,
        filename: name.filename,
        url: await plainUrl(bucket, key),
        size,
      })),
    ),
    indexUrl,
    commitLabel,
    together: isShared && indexUrl !== undefined ? fromPage(indexUrl, names) : undefined,
  };
}

function logOutcome(
  decision: Exclude<Decision, Write>,
  { issue }: Thread,
  stamp: Stamp,
  written: string,
): void {
  const which = `pull request #${issue.issue_number}`;
  if (decision.kind === 'done') {
    info(
      written === '' ? `The comment on ${which} is already up to date.` : `Commented on ${which}: ${written}`,
    );
    return;
  }
  const { shown } = decision;
  info(
    !isOlder(stamp, shown)
      ? `The comment on ${which} was not changed: this run has already written commit ${shown.commit} there, and this job has commit ${stamp.commit}. Give all jobs of a workflow the same 'commit'.`
      : `The comment on ${which} was not changed: it shows commit ${shown.commit} of run ${shown.run}, attempt ${shown.attempt}, which is newer than run ${stamp.run}, attempt ${stamp.attempt}.`,
  );
}

function checkAccess({ token, apiUrl }: CommentInputs, owner: string, repo: string): void {
  if (token === '') {
    throw new WheelStoreError({
      title: 'Comment not allowed',
      reason: "The input 'token' is empty, as secrets are in runs for pull requests from forks.",
      remedy: "Remove 'token' to comment with the job's own token, or pass a token that the run has.",
    });
  }
  if (
    !/^https?:$/.test(URL.parse(apiUrl)?.protocol ?? '') ||
    !/^[\w.-]+$/.test(owner) ||
    !/^[\w.-]+$/.test(repo)
  ) {
    throw new WheelStoreError({
      title: 'GitHub unreachable',
      reason: 'GITHUB_API_URL or GITHUB_REPOSITORY does not name an API and a repository.',
      remedy: "GitHub's runner sets both; on another runner, set them in the env of the job.",
    });
  }
}
