/** What a user reads when a step goes wrong: a heading, one sentence of cause, one of remedy. */
export interface Problem {
  /** A short, fixed heading. It also names the problem in docs/errors.md. */
  readonly title: string;
  /** One sentence: what happened, with the names (bucket, key, file, input) it happened to. */
  readonly reason: string;
  /** One sentence: what the reader can do about it. */
  readonly remedy: string;
}

/**
 * The one kind of error that this action throws on purpose. Anything else that is thrown is a
 * defect, and is reported as one.
 */
export class WheelStoreError extends Error {
  override readonly name = 'WheelStoreError';
  readonly title: string;
  readonly reason: string;
  readonly remedy: string;

  constructor(problem: Problem, options?: ErrorOptions) {
    super(`${problem.reason} ${problem.remedy}`, options);
    this.title = problem.title;
    this.reason = problem.reason;
    this.remedy = problem.remedy;
  }
}
