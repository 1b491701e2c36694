/**
 * Corrects GitHub's list of comments by what this step wrote itself. The list may lag behind by seconds: it may neither
 * contain a comment that was just created, nor show the new text of one that was just edited. Sends no requests.
 */
import { type MarkedComment, normaliseBody, readMarker } from './text.ts';

/** A comment in GitHub's list. */
export interface ListedComment extends MarkedComment {
  /** GitHub's `updated_at`: a UTC time in ISO 8601, to the second. */
  readonly updatedAt: string;
}

/** The corrected list. */
export interface View {
  readonly comments: readonly MarkedComment[];
  /** Whether GitHub's own list showed everything that this step wrote. */
  readonly isSettled: boolean;
}

interface Write {
  readonly comment: ListedComment;
  /** Normalised texts of this comment that were listed before the write. */
  readonly earlier: ReadonlySet<string>;
}

/** Records the writes of one step. */
export class OwnWrites {
  readonly #listed = new Map<number, Set<string>>();
  readonly #written = new Map<number, Write>();
  readonly #removed = new Set<number>();

  /** Records that GitHub accepted a comment's text. */
  recordWrite(id: number, body: string, updatedAt: string): void {
    const marker = readMarker(body);
    if (marker === undefined) return;
    const earlier = new Set(this.#listed.get(id));
    this.#written.set(id, { comment: { id, body, marker, updatedAt }, earlier });
  }

  /** Records that a comment was deleted, by this step or by someone else. */
  recordRemoval(id: number): void {
    this.#removed.add(id);
    this.#written.delete(id);
  }

  /** Applies the writes to a list. A comment of this step that is missing from the list is added. */
  apply(listed: readonly ListedComment[]): View {
    const shown = new Set<number>();
    const comments = listed
      .filter(({ id }) => !this.#removed.has(id))
      .map((comment) => {
        const write = this.#written.get(comment.id);
        this.#recordListed(comment);
        if (write === undefined) return comment;
        const age = ageOf(comment, write);
        if (age === 'ours') shown.add(comment.id);
        if (age === 'later') this.#written.delete(comment.id);
        return age === 'earlier' ? write.comment : comment;
      });
    const ids = new Set(comments.map(({ id }) => id));
    const hidden = [...this.#written.values()].map(({ comment }) => comment).filter(({ id }) => !ids.has(id));
    return {
      comments: [...comments, ...hidden],
      isSettled: [...this.#written.keys()].every((id) => shown.has(id)),
    };
  }

  #recordListed({ id, body }: MarkedComment): void {
    const bodies = this.#listed.get(id) ?? new Set();
    this.#listed.set(id, bodies.add(normaliseBody(body)));
  }
}

/**
 * Whether a listed text is this step's own, or older or newer than that.
 *
 * @returns 'unknown' if both are from the same second
 */
function ageOf(listed: ListedComment, { comment, earlier }: Write): 'ours' | 'earlier' | 'later' | 'unknown' {
  if (normaliseBody(listed.body) === normaliseBody(comment.body)) return 'ours';
  if (earlier.has(normaliseBody(listed.body)) || listed.updatedAt < comment.updatedAt) return 'earlier';
  return listed.updatedAt > comment.updatedAt ? 'later' : 'unknown';
}
