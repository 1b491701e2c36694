/** The headings that docs/errors.md explains, in its order. `npm run check` compares the two. */
export const ERROR_TITLES = [
  'Invalid input',
  'Invalid variable',
  'Bucket in the endpoint',
  'Invalid proxy',
  'Invalid prefix',
  'Unknown run',
  'Python interpreter not usable',
  'Cancelled',
  'Bug in wheel-store-action',
  'No wheel',
  'Wheel older than the job',
  'Wheel from another commit',
  'More than one wheel',
  'Not a wheel filename',
  'Broken wheel',
  'Wheel unreadable',
  'Search too large',
  'Wheel changed',
  'Slot taken',
  'Same filename, different content',
  'Wheel disappeared from its slot',
  'Index page conflict',
  'Wheel not stored',
  'Slot with two wheels',
  'Stored wheel ignored',
  'No stored SHA-256',
  'Too many wheels ignored',
  'Several wheels in the old flat layout',
  'Two wheels with the same filename',
  'Checksum mismatch',
  'Wheel changed in the store',
  'Download interrupted',
  'Wrong range in response',
  'Not enough disk space',
  'Folder not writable',
  'Comment not allowed',
  'Comment refused',
  'Comment conflict',
  'GitHub unreachable',
  'Not a GitHub response',
  'No AWS credentials',
  'AWS credentials unavailable',
  'AWS credentials expired',
  'AWS credentials refused',
  'Access denied',
  'KMS refused',
  'No such bucket',
  'Wrong region',
  'Clock out of sync',
  'Store full',
  'Request too large',
  'Store is failing',
  'Store refused the request',
  'Store unreachable',
  'TLS certificate not trusted',
  'Proxy refused',
  'Not an S3 response',
  'Store too slow',
  'Too many wheels',
  'Endless listing',
] as const;

/** The heading of an error; some of them are also headings of warnings. */
export type ErrorTitle = (typeof ERROR_TITLES)[number];

/** The headings of warnings and notices that need no more explanation than their text gives. */
export type WarningTitle =
  | 'Actions cache failed'
  | 'Different commit checked out'
  | 'Empty object left in the store'
  | 'Presigned URL for this job only'
  | 'No conditional writes'
  | 'Cached wheel does not match'
  | 'Parts left in the store'
  | 'Proxy not used'
  | 'Unknown SHA-256'
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
