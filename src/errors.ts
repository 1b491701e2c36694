/** The headings that docs/errors.md explains, in its order. `npm run check` compares the two. */
export const ERROR_TITLES = [
  'Bad input',
  'Bad variable',
  'Bucket in the endpoint',
  'Bad proxy',
  'Bad prefix',
  'Run unknown',
  'Python interpreter not usable',
  'Cancelled',
  'Defect in wheel-store-action',
  'No wheel',
  'Wheel older than the job',
  'Wheel of another commit',
  'More than one wheel',
  'Not a wheel filename',
  'Broken wheel',
  'Wheel not readable',
  'Search too large',
  'Wheel changed',
  'Slot taken',
  'Other bytes under the same name',
  'Wheel vanished from its slot',
  'Index page contended',
  'Wheel not stored',
  'Slot with two wheels',
  'Stored wheel ignored',
  'No stored SHA-256',
  'Too many wheels ignored',
  'Several wheels in the old flat layout',
  'Two wheels of one name',
  'Wheel is not what was stored',
  'Wheel changed in the store',
  'Download broke off',
  'Wrong answer to a range',
  'Disk too full',
  'Folder not writable',
  'Comment not allowed',
  'Comment refused',
  'Comment contended',
  'GitHub not reached',
  'Not a GitHub answer',
  'No AWS credentials',
  'AWS credentials not obtained',
  'AWS credentials expired',
  'AWS credentials refused',
  'Access denied',
  'KMS refused',
  'No such bucket',
  'Wrong region',
  'Clock is wrong',
  'Store is full',
  'Request too large',
  'Store is failing',
  'Store refused the request',
  'Store not reached',
  'TLS certificate not trusted',
  'Proxy refused',
  'Not an S3 answer',
  'Store too slow',
  'Too many wheels',
  'Endless listing',
] as const;

/** The heading of an error; some of them are also headings of warnings. */
export type ErrorTitle = (typeof ERROR_TITLES)[number];

/** The headings of warnings and notices that need no more explanation than their text gives. */
export type WarningTitle =
  | 'Actions cache failed'
  | 'Another commit is checked out'
  | 'Empty object left in the store'
  | 'For the steps of this job only'
  | 'No conditional writes'
  | 'Not the wheel that was kept'
  | 'Parts left in the store'
  | 'Proxy not used'
  | 'SHA-256 not known'
  | 'Unusual wheel'
  | 'Wheel left in the store';

/** The heading of an annotation. */
export type Title = ErrorTitle | WarningTitle;

/** Shows a warning under a heading. */
export type Warn = (text: string, title: Title) => void;

/** What a user reads when a step goes wrong: a heading, one sentence of cause, one of remedy. */
export interface Problem {
  /** A short, fixed heading. It also names the problem in docs/errors.md. */
  readonly title: ErrorTitle;
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
  readonly title: ErrorTitle;
  readonly reason: string;
  readonly remedy: string;

  constructor(problem: Problem, options?: ErrorOptions) {
    super(`${problem.reason} ${problem.remedy}`, options);
    this.title = problem.title;
    this.reason = problem.reason;
    this.remedy = problem.remedy;
  }
}
