/** The titles of errors, in the order of docs/errors.md, which explains each. `npm run check` compares the two. */
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
  'Two wheels with the same target',
  'No target for the wheel',
  'Expected wheel missing',
  'Not a wheel filename',
  'Broken wheel',
  'Broken sdist',
  'No sdist',
  'More than one sdist',
  'Not an sdist filename',
  'Wheel unreadable',
  'Search too large',
  'Wheel changed',
  'Slot taken',
  'Same filename, different content',
  'Wheel disappeared from its slot',
  'Not all wheels stored',
  'Index page conflict',
  'Published with other bytes',
  'Channel too large',
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

/** The title of an error. Some warnings share these titles. */
export type ErrorTitle = (typeof ERROR_TITLES)[number];

/** The titles of warnings and notices that docs/errors.md doesn't explain, because their text is enough. */
export type WarningTitle =
  | 'Actions cache failed'
  | 'Different commit checked out'
  | 'Empty object left in the store'
  | 'Folders not served'
  | 'Presigned URL for this job only'
  | 'No conditional writes'
  | 'Cached wheel does not match'
  | 'Parts left in the store'
  | 'Proxy not used'
  | 'Unknown SHA-256'
  | 'Unknown targets'
  | 'Unusual wheel'
  | 'Version differs from the tag'
  | 'Wheel left in the store';

/** The title of an annotation. */
export type Title = ErrorTitle | WarningTitle;

/** Shows a warning with a title. */
export type Warn = (text: string, title: Title) => void;

/** What a user reads when a step fails: a title, one sentence of cause, one of remedy. */
export interface Problem {
  /** Short and fixed; also the heading in docs/errors.md. */
  readonly title: ErrorTitle;
  /** One sentence: what happened, with the names of the bucket, key, file or input involved. */
  readonly reason: string;
  /** One sentence: what the reader can do about it. */
  readonly remedy: string;
}

/**
 * The only error that this action throws on purpose. Any other error is a bug in the action, and is reported as one.
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
