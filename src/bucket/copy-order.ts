/** What `copyObject` is asked for. */
import type { Warn } from '../errors.ts';
import type { Bucket } from './bucket.ts';
import type { ListedObject } from './objects.ts';

/** What to copy, and what the copy is to be. */
export interface Copy {
  readonly from: Bucket;
  readonly source: ListedObject;
  /** Of the source, lower-case hex. */
  readonly sha256: string;
  /** The key of the copy. */
  readonly key: string;
  readonly contentType: string;
  readonly cacheControl: string;
  /** Replaces the source's. Must contain `put-id`, which must be unique. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Objects up to this size are copied in one request: S3's limit, unless it is set. */
  readonly maxSingleBytes?: number;
  readonly signal: AbortSignal;
  readonly warn: Warn;
}
