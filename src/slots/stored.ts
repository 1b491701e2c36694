/** A stored wheel: what its key and its object's head say, read unless it must not be used. */
import type { Bucket } from '../bucket/bucket.ts';
import { hashObject, headObject, type ListedObject, type ObjectHead } from '../bucket/objects.ts';
import { WheelStoreError } from '../errors.ts';
import { type CommitPlace, commitFolder, type PlacedWheel } from './layout.ts';
import type { ListedWheel, LookUpWarning } from './listing.ts';
import { reasonToIgnore, storedSha256, type Trust } from './trust.ts';

/** A wheel in the store. */
export interface StoredWheel extends PlacedWheel, Pick<ListedObject, 'size' | 'etag'> {
  /** Lower-case hex; undefined when whoever stored it noted none (the old layout). */
  readonly sha256: string | undefined;
  readonly requiresPython: string | undefined;
}

/** A stored wheel whose bytes can be verified. */
export type HashedWheel = StoredWheel & { readonly sha256: string };

/** Whether a SHA-256 was stored with the wheel, or was computed since. */
export function isHashed(wheel: StoredWheel): wheel is HashedWheel {
  return wheel.sha256 !== undefined;
}

/** Wheels of one target that may be ignored before the look-up gives up: each costs a request. */
const MAX_IGNORED = 50;

/** Joins what the key says with what the object's head says. */
export function withHead(wheel: PlacedWheel, { size, etag, metadata }: ObjectHead): StoredWheel {
  return {
    ...wheel,
    size,
    etag,
    sha256: storedSha256(metadata),
    requiresPython: metadata['requires-python'],
  };
}

/** Reads what is stored with each wheel, and collects what is to be said of those that it ignores. */
export interface WheelReader {
  /**
   * @returns undefined if the wheel is gone, or must not be used
   * @throws WheelStoreError when the store does not answer, or too many wheels of a target must not be used
   */
  read(wheel: ListedWheel): Promise<StoredWheel | undefined>;
  readonly warnings: readonly LookUpWarning[];
}

/**
 * A reader of the wheels of one commit.
 *
 * @param known - wheels by key, which need no request; what is read is added
 */
export function readerOf(
  bucket: Bucket,
  place: CommitPlace,
  trust: Trust,
  signal: AbortSignal,
  known = new Map<string, StoredWheel>(),
): WheelReader {
  const warnings: LookUpWarning[] = [];
  const ignored = new Map<string, number>();
  return {
    warnings,
    async read(wheel) {
      const before = known.get(wheel.key);
      if (before !== undefined) return before;
      const head = await headObject(bucket, wheel.key, signal);
      if (head === undefined) return undefined;
      const stored = withHead(wheel, head);
      // Only a reader who names a hash pays for reading an object that has none with it.
      const sha256 =
        stored.sha256 === undefined && trust.sha256.length > 0
          ? await hashObject(bucket, head, signal)
          : stored.sha256;
      const reason = reasonToIgnore(wheel, place.commit, head.metadata, sha256, trust);
      if (reason !== undefined) {
        const count = (ignored.get(wheel.target) ?? 0) + 1;
        ignored.set(wheel.target, count);
        if (count > MAX_IGNORED) throw tooManyIgnored(bucket, place);
        warnings.push(ignoredWarning(bucket, wheel, reason));
        return undefined;
      }
      if (sha256 === undefined && wheel.run !== undefined) warnings.push(unvouched(bucket, wheel));
      const usable = { ...stored, sha256 };
      known.set(wheel.key, usable);
      return usable;
    },
  };
}

function ignoredWarning(bucket: Bucket, { key }: ListedWheel, reason: string): LookUpWarning {
  return {
    title: 'Stored wheel ignored',
    text: `Ignored ${bucket.uri(key)}: ${reason}.`,
  };
}

function unvouched(bucket: Bucket, { key }: ListedWheel): LookUpWarning {
  return {
    title: 'No stored SHA-256',
    text: `${bucket.uri(key)} has no SHA-256 in its metadata, so its bytes cannot be verified: it was overwritten, or copied by a tool that drops metadata. Find out who can write to this prefix.`,
  };
}

function tooManyIgnored(bucket: Bucket, place: CommitPlace): WheelStoreError {
  return new WheelStoreError({
    title: 'Too many wheels ignored',
    reason: `More than ${MAX_IGNORED} wheels of one target below ${bucket.uri(commitFolder(place))} do not match their keys or the request.`,
    remedy: 'Find out what else writes to this prefix, and delete those objects.',
  });
}
