/** What the event that started the run says: its pull request, and whether that comes from a fork. */
import { readFileSync } from 'node:fs';

/** The parts of a webhook's payload that are read here (GitHub docs, "Webhook events and payloads"). */
export interface EventPayload {
  readonly pull_request?: {
    readonly number?: unknown;
    readonly head?: { readonly repo?: { readonly full_name?: unknown } | null };
  };
  readonly issue?: { readonly number?: unknown; readonly pull_request?: unknown };
  readonly workflow_run?: {
    readonly id?: unknown;
    readonly run_attempt?: unknown;
    readonly pull_requests?: readonly { readonly number?: unknown }[];
  };
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
export function originOf(
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

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}
