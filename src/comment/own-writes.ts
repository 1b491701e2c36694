/**
 * What a step wrote itself, over what GitHub lists: its list of comments may lag behind by seconds, and shows neither
 * a comment that was just created nor the new text of one that was just edited. Values in, values out.
 */
import { type MarkedComment, normaliseBody, readMarker } from './text.ts';

/** A comment as GitHub lists it. */
export interface ListedComment extends MarkedComment {
  /** GitHub's `updated_at`: a UTC time in ISO 8601, to the second. */
  readonly updatedAt: string;
}

/** The comments as this step has to take them, and whether the list shows everything that the step wrote. */
export interface View {
  readonly comments: readonly MarkedComment[];
  readonly isSettled: boolean;
}

interface Write {
  readonly comment: ListedComment;
  /** Texts of this comment that were listed before the write. */
  readonly earlier: ReadonlySet<string>;
}

/** The writes of one step. */
export class OwnWrites {
  readonly #listed = new Map<number, Set<string>>();
  readonly #written = new Map<number, Write>();
  readonly #removed = new Set<number>();

  /** Notes that GitHub has taken a comment's text. */
  recordWrite(id: number, body: string, updatedAt: string): void {
    const marker = readMarker(body);
    if (marker === undefined) return;
    const earlier = new Set(this.#listed.get(id));
    this.#written.set(id, { comment: { id, body, marker, updatedAt }, earlier });
  }

  /** Notes that a comment is gone, by this step or by somebody else. */
  recordRemoval(id: number): void {
    this.#removed.add(id);
    this.#written.delete(id);
  }

  /** Lays what this step wrote over a list. A comment of ours that the list lacks is there all the same. */
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

/** Which came first: what is listed, or what this step wrote. Within one second there may be no telling. */
function ageOf(listed: ListedComment, { comment, earlier }: Write): 'ours' | 'earlier' | 'later' | 'unknown' {
  if (normaliseBody(listed.body) === normaliseBody(comment.body)) return 'ours';
  if (earlier.has(normaliseBody(listed.body)) || listed.updatedAt < comment.updatedAt) return 'earlier';
  return listed.updatedAt > comment.updatedAt ? 'later' : 'unknown';
}
