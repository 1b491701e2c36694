/** Reads and writes the comments of a pull request. */
import { trace } from '../runner/log.ts';
import { type GitHub, isLimit, refusalIn } from './github.ts';
import type { ListedComment, OwnWrites } from './own-writes.ts';
import { type Decision, readMarker } from './text.ts';

/** A pull request, and the client to comment on it. */
export interface Thread {
  readonly github: GitHub;
  readonly issue: { readonly owner: string; readonly repo: string; readonly issue_number: number };
  /** The token's user, requested only if a user's comment has our marker; undefined for an app, which has no user. */
  readonly login: () => Promise<string | undefined>;
}

/** A decision that needs a write. */
export type Write = Exclude<Decision, { kind: 'done' | 'leave' }>;

/** Finds the comments with our marker, on all pages of the list. */
export async function findComments({ github, issue, login }: Thread, key: string): Promise<ListedComment[]> {
  const all = await github.paginate(github.rest.issues.listComments, {
    ...issue,
    per_page: 100,
  });
  const found: ListedComment[] = [];
  for (const { id, body = '', user, updated_at: updatedAt } of all) {
    const marker = readMarker(body);
    if (marker?.key !== key) continue;
    // Anyone can write the marker into their own comment, so the author must be a bot or the token's user.
    if (user?.type === 'Bot' || (user !== null && user.login === (await login())))
      found.push({ id, body, marker, updatedAt });
  }
  return found;
}

/** Requests the user of the token once, when it is first needed. */
export function loginOnce(github: GitHub): () => Promise<string | undefined> {
  let login: Promise<string | undefined> | undefined;
  return () => {
    login ??= github.rest.users.getAuthenticated().then(
      ({ data }) => data.login,
      (error: unknown) => {
        const refusal = refusalIn(error);
        // The token of an app, such as the job's own, has no user.
        if (refusal.status === 403 && !isLimit(refusal)) return undefined;
        throw error;
      },
    );
    return login;
  };
}

/**
 * Carries out a decision.
 *
 * @returns URL of the comment; empty if a comment was deleted
 */
export async function write({ github, issue }: Thread, decision: Write, own: OwnWrites): Promise<string> {
  trace(`Comment: ${decision.kind}.`);
  switch (decision.kind) {
    case 'create': {
      const { body } = decision;
      const { data } = await github.rest.issues.createComment({
        ...issue,
        body,
      });
      own.recordWrite(Number(data.id), body, data.updated_at);
      return data.html_url;
    }
    case 'update': {
      const { id, body } = decision;
      const { data } = await github.rest.issues.updateComment({
        owner: issue.owner,
        repo: issue.repo,
        comment_id: id,
        body,
      });
      own.recordWrite(id, body, data.updated_at);
      return data.html_url;
    }
    case 'remove':
      await github.rest.issues.deleteComment({
        owner: issue.owner,
        repo: issue.repo,
        comment_id: decision.id,
      });
      own.recordRemoval(decision.id);
      return '';
  }
}
