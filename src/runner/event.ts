/** Reads the event that started the run: its pull request, whether that is from a fork, the commit before. */
import { readFileSync } from 'node:fs';
import { isCommit } from '../slots/layout.ts';

/** The parts of a webhook's payload that are read here (GitHub docs, "Webhook events and payloads"). */
export interface EventPayload {
  readonly pull_request?: {
    readonly number?: unknown;
    readonly base?: { readonly sha?: unknown };
    readonly head?: { readonly sha?: unknown; readonly repo?: { readonly full_name?: unknown } | null };
  };
  readonly merge_group?: { readonly base_sha?: unknown; readonly head_sha?: unknown };
  /** The commit of a branch before a push, and after it. */
  readonly before?: unknown;
  readonly after?: unknown;
  readonly issue?: { readonly number?: unknown; readonly pull_request?: unknown };
  readonly workflow_run?: {
    readonly id?: unknown;
    readonly run_attempt?: unknown;
    readonly pull_requests?: readonly { readonly number?: unknown }[];
  };
}

/** The commit before the change that the run is about. */
export interface EarlierCommit {
  readonly commit: string;
  /** Which commit it is, for the summary. */
  readonly description: string;
}

/** @returns the payload that the runner wrote; undefined if it cannot be read */
export function readEvent(env: NodeJS.ProcessEnv): EventPayload | undefined {
  try {
    const payload: unknown = JSON.parse(readFileSync(env.GITHUB_EVENT_PATH ?? '', 'utf8'));
    return typeof payload === 'object' && payload !== null ? payload : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The number of the pull request that the event is about: that of a `pull_request` event, of a comment, or of the run
 * that a `workflow_run` event reports. GitHub omits the last if the head is in a fork.
 *
 * @returns undefined if the event has no pull request, such as a push
 */
export function pullRequestOf(event: EventPayload | undefined): number | undefined {
  const commented = event?.issue?.pull_request ? event.issue.number : undefined;
  const number = event?.pull_request?.number ?? commented ?? event?.workflow_run?.pull_requests?.[0]?.number;
  return isCount(number) ? number : undefined;
}

/**
 * The run and attempt whose results this run handles. For `workflow_run`, that is the run that has ended: of two such
 * runs, the one that began earlier may end later.
 *
 * @returns undefined if this run handles its own results
 */
export function endedRunOf(
  event: EventPayload | undefined,
): { readonly run: string; readonly attempt: string } | undefined {
  const { id, run_attempt: attempt } = event?.workflow_run ?? {};
  return isCount(id) && isCount(attempt) ? { run: String(id), attempt: String(attempt) } : undefined;
}

/** GitHub withholds secrets, OIDC tokens and write access from runs of pull requests whose head is in a fork. */
export function isForkPullRequest(
  name: string | undefined,
  event: EventPayload | undefined,
  repository: string | undefined,
): boolean {
  if (event === undefined || !/^pull_request(?!_target)/.test(name ?? '')) return false;
  return event.pull_request?.head?.repo?.full_name !== repository;
}

/**
 * The commit that a change starts from: the base of a pull request or merge group, or the branch's commit before a
 * push. It is read from the payload, because a checkout usually doesn't contain the history.
 *
 * @param commit - the result of the change
 * @param runCommit - `GITHUB_SHA`; undefined outside GitHub
 * @returns undefined if the event doesn't contain it, or is about another commit
 */
export function commitBefore(
  event: EventPayload | undefined,
  commit: string,
  runCommit: string | undefined,
): EarlierCommit | undefined {
  const { pull_request: pull, merge_group: group } = event ?? {};
  const [description, before, ...after] =
    pull instanceof Object
      ? ['the base of the pull request', pull.base?.sha, pull.head?.sha, runCommit]
      : group instanceof Object
        ? ['the base of the merge group', group.base_sha, group.head_sha]
        : ['where the branch was before this push', event?.before, event?.after];
  const isKnown = typeof before === 'string' && isCommit(before) && !/^0+$/.test(before);
  return isKnown && before !== commit && after.includes(commit) ? { commit: before, description } : undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}
