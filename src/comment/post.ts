/**
 * Keeps one comment on the pull request, however many jobs of a matrix write at once. GitHub has no conditional
 * writes for comments, so the store is the source: each job reads the comment, lists what is stored, writes all
 * of it, and looks again. Whoever wrote last has looked after everybody else's write.
 */
import { randomUUID } from 'node:crypto';
import type { Bucket } from '../bucket/bucket.ts';
import { plainUrl } from '../bucket/url.ts';
import { WheelStoreError } from '../errors.ts';
import type { CommentInputs, StoreInputs } from '../runner/inputs.ts';
import { info, trace } from '../runner/log.ts';
import { converge, type Next } from '../slots/converge.ts';
import { indexKey } from '../slots/layout.ts';
import { readCommit } from '../slots/lookup.ts';
import type { StoredWheel } from '../slots/stored.ts';
import type { Trust } from '../slots/trust.ts';
import {
  type GitHub,
  isLimit,
  openGitHub,
  type Patience,
  patienceUntil,
  pauseAfter,
  refusalIn,
} from './github.ts';
import { type ListedComment, OwnWrites } from './own-writes.ts';
import { explainRefusal } from './refusals.ts';
import {
  type CommentContent,
  commentKey,
  type Decision,
  decideComment,
  isOlder,
  readMarker,
  type Stamp,
} from './text.ts';

/** A pull request and who speaks to it. */
interface Thread {
  readonly github: GitHub;
  readonly issue: { readonly owner: string; readonly repo: string; readonly issue_number: number };
  /** Asked for when a comment by a person carries our marker; undefined: an app, whose token has no person. */
  readonly login: () => Promise<string | undefined>;
}

/** What is to be done when nothing is in the way any more. */
type Write = Exclude<Decision, { kind: 'done' | 'leave' }>;

const MAX_ROUNDS = 40;
/**
 * After an older commit's comment was replaced: a job of that run that had read before may still write after, and
 * sees nothing amiss. Longer than a write takes.
 */
const SETTLING_MS = 2_000;
/** How long to wait until the list shows what was written, look by look. It lags behind by seconds at times. */
const LAG_PAUSES_MS = [250, 500, 1_000, 2_000, 2_000];
/** Of a create without an answer nobody knows what it did, so it is tried a second time only once. */
const MAX_UNANSWERED_CREATES = 2;

/**
 * Brings the comment up to date.
 *
 * @param pullRequest - its number
 * @throws WheelStoreError when GitHub or the store refuses; the reason of `signal` when that is aborted
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

/** What a step has done so far. */
interface Progress {
  readonly own: OwnWrites;
  /** Where the comment is; empty until this step has written it. */
  url: string;
  /** Writes that failed one after another. */
  failures: number;
  unansweredCreates: number;
  /** How often the list was waited for since the last write. */
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
    // Without the password that the endpoint may hold: the comment shows a hash of all this.
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
    reason: `The comment was changed by others in each of ${MAX_ROUNDS} rounds.`,
    remedy: 'The next store step of this commit updates it. If not, find out what else edits the comment.',
  });
}

/**
 * How long to wait before another look where a list that lags behind would mislead: before a second comment is created
 * because the first is not listed, and before the step ends without having seen the comments that others created
 * meanwhile.
 *
 * @returns milliseconds; undefined when there is no need, or the list has had its time
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
 * @returns false when the write failed and another look may help
 * @throws the error, when it is of no use to try again
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
    // What was deleted since it was listed is gone, however long the list goes on to show it.
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

/** All pages, because ours may be on any of them. */
async function findComments({ github, issue, login }: Thread, key: string): Promise<ListedComment[]> {
  const all = await github.paginate('GET /repos/{owner}/{repo}/issues/{issue_number}/comments', {
    ...issue,
    per_page: 100,
  });
  const found: ListedComment[] = [];
  for (const { id, body = '', user, updated_at: updatedAt } of all) {
    const marker = readMarker(body);
    if (marker?.key !== key) continue;
    // Anybody can write the marker into a comment of their own.
    if (user?.type === 'Bot' || (user !== null && user.login === (await login())))
      found.push({ id, body, marker, updatedAt });
  }
  return found;
}

function loginOnce(github: GitHub): () => Promise<string | undefined> {
  let answer: Promise<string | undefined> | undefined;
  return () => {
    answer ??= github.request('GET /user').then(
      ({ data }) => data.login,
      (error: unknown) => {
        const refusal = refusalIn(error);
        // An app's token, such as the job's own, speaks for no person.
        if (refusal.status === 403 && !isLimit(refusal)) return undefined;
        throw error;
      },
    );
    return answer;
  };
}

async function readContent(
  bucket: Bucket,
  { place, repository }: StoreInputs,
  known: Map<string, StoredWheel>,
  signal: AbortSignal,
): Promise<CommentContent> {
  const trust: Trust = { repository, sha256: [], requireSha256: false };
  const { wheels, hasIndex } = await readCommit(bucket, place, trust, known, signal);
  return {
    entries: await Promise.all(
      wheels.map(async ({ target, name, key, size }) => ({
        target,
        filename: name.filename,
        url: await plainUrl(bucket, key),
        size,
      })),
    ),
    indexUrl: hasIndex ? await plainUrl(bucket, indexKey(place)) : undefined,
  };
}

/** @returns where the comment is; empty when one was taken away */
async function write({ github, issue }: Thread, decision: Write, own: OwnWrites): Promise<string> {
  trace(`Comment: ${decision.kind}.`);
  switch (decision.kind) {
    case 'create': {
      const { body } = decision;
      const { data } = await github.request('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', {
        ...issue,
        body,
      });
      own.recordWrite(Number(data.id), body, data.updated_at);
      return data.html_url;
    }
    case 'update': {
      const { id, body } = decision;
      const { data } = await github.request('PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}', {
        owner: issue.owner,
        repo: issue.repo,
        comment_id: id,
        body,
      });
      own.recordWrite(id, body, data.updated_at);
      return data.html_url;
    }
    case 'remove':
      await github.request('DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}', {
        owner: issue.owner,
        repo: issue.repo,
        comment_id: decision.id,
      });
      own.recordRemoval(decision.id);
      return '';
  }
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
      ? `The comment on ${which} was not changed: this run has already written commit ${shown.commit} there, and ${stamp.commit} is another. Give all jobs of a workflow the same 'commit'.`
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
