/** Turns errors of GitHub's API into errors with a cause and a remedy. */
import { type Problem, WheelStoreError } from '../errors.ts';
import { isHttpError, isLimit, type Refusal, refusalIn } from './github.ts';

/** What the requests were for. */
export interface CommentPurpose {
  readonly repository: string;
  readonly pullRequest: number;
  readonly isFork: boolean;
  readonly apiUrl: string;
}

/** @returns the error to throw: `error` itself if it is not from GitHub's API */
export function explainRefusal(error: unknown, purpose: CommentPurpose): unknown {
  if (!isHttpError(error)) return error;
  return new WheelStoreError(problemOf(refusalIn(error), purpose), { cause: error });
}

function problemOf(refusal: Refusal, purpose: CommentPurpose): Problem {
  const { status, message } = refusal;
  const which = `#${purpose.pullRequest} of ${purpose.repository}`;
  if (status === undefined) {
    return {
      title: 'GitHub unreachable',
      reason: `No connection to ${hostOf(purpose.apiUrl)}: ${message}`,
      remedy: 'Check the network and the proxy settings of the runner.',
    };
  }
  if (status === 403 && /locked/i.test(message)) {
    return {
      title: 'Comment refused',
      reason: `The conversation of pull request ${which} is locked.`,
      remedy: 'Unlock it, or remove comment: true.',
    };
  }
  if (isLimit(refusal)) {
    return {
      title: 'Comment refused',
      reason: `GitHub is rate limiting requests (${status}: ${message}).`,
      remedy: 'Run the job again later. In a large matrix, comment from one job at the end.',
    };
  }
  if (status === 401 || status === 403) return notAllowed(refusal, purpose, which);
  if (status === 404) {
    return {
      title: 'Comment not allowed',
      reason: `This token cannot see pull request ${which}.`,
      remedy: `Check the number. ${remedyOf(purpose)}`,
    };
  }
  return {
    title: 'Comment refused',
    reason: `GitHub refused the comment on pull request ${which} (${status}: ${message}).`,
    remedy:
      status >= 500
        ? 'Run the job again in a few minutes.'
        : "Follow GitHub's message, or remove comment: true.",
  };
}

function notAllowed({ status, message }: Refusal, purpose: CommentPurpose, which: string): Problem {
  return {
    title: 'Comment not allowed',
    reason: `The token may not comment on pull request ${which} (${status}: ${message}).`,
    remedy: remedyOf(purpose),
  };
}

function remedyOf({ isFork }: CommentPurpose): string {
  return isFork
    ? "In runs of pull requests from forks GitHub's token may only read: comment from a workflow that starts on workflow_run, with the number in 'pull-request'."
    : "Give the job 'permissions: pull-requests: write', in addition to its other permissions.";
}

function hostOf(apiUrl: string): string {
  return URL.parse(apiUrl)?.host ?? 'the API';
}
