/** What the event that started the run says: its pull request, whether that comes from a fork, what was before. */
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
  /** Where a branch was before a push, and where it is since. */
  readonly before?: unknown;
  readonly after?: unknown;
  readonly issue?: { readonly number?: unknown; readonly pull_request?: unknown };
  readonly workflow_run?: {
    readonly id?: unknown;
    readonly run_attempt?: unknown;
    readonly pull_requests?: readonly { readonly number?: unknown }[];
  };
}

/** A commit from before the change that the run is about, and which one it is, for people. */
export interface EarlierCommit {
  readonly commit: string;
  readonly description: string;
}

/** Reads the payload that the runner left; undefined where there is none that can be read. */
export function readEvent(env: NodeJS.ProcessEnv): EventPayload | undefined {
  try {
    const payload: unknown = JSON.parse(readFileSync(env.GITHUB_EVENT_PATH ?? '', 'utf8'));
    return typeof payload === 'object' && payload !== null ? payload : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The number of the pull request that the event is about: its own, that of the comment, or that of the run which
 * has ended. GitHub leaves the last one out where the head is in a fork.
 *
 * @returns undefined where the event is about none, as a push
 */
export function pullRequestOf(event: EventPayload | undefined): number | undefined {
  const commented = event?.issue?.pull_request ? event.issue.number : undefined;
  const number = event?.pull_request?.number ?? commented ?? event?.workflow_run?.pull_requests?.[0]?.number;
  return isCount(number) ? number : undefined;
}

/**
 * The run and attempt whose work this is: for `workflow_run` those of the run that has ended, because a run that
 * began earlier may end later.
 *
 * @returns undefined where it is the present run's own
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
 * The commit that a change starts from: the base of a pull request or merge group, or where the branch was
 * before a push. Without a payload that tells, it would take the commit's own history, of which a checkout
 * usually has nothing.
 *
 * @param commit - that the change led to; of any other commit an event says nothing
 * @param runCommit - `GITHUB_SHA`; undefined outside GitHub
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
