/** Reads a stored wheel from its key and metadata, or finds the reason to ignore it. */
import type { Bucket } from '../bucket/bucket.ts';
import { hashObject, headObject, type ListedObject, type ObjectHead } from '../bucket/objects.ts';
import { WheelStoreError } from '../errors.ts';
import { type CommitPlace, commitFolder, type PlacedWheel } from './layout.ts';
import type { ListedWheel, LookUpWarning } from './listing.ts';
import { reasonToIgnore, storedSha256, type Trust } from './trust.ts';

/** A wheel in the store. */
export interface StoredWheel extends PlacedWheel, Omit<ListedObject, 'key'> {
  /** Lower-case hex; undefined if it was stored without one, as in the old layout. */
  readonly sha256: string | undefined;
  readonly requiresPython: string | undefined;
  /** `GITHUB_REF` of the run that stored it, unchecked; undefined if it wasn't recorded. */
  readonly ref: string | undefined;
}

/** A stored wheel whose bytes can be verified. */
export type HashedWheel = StoredWheel & { readonly sha256: string };

/** Whether the SHA-256 is known: stored with the wheel, or computed since. */
export function isHashed(wheel: StoredWheel): wheel is HashedWheel {
  return wheel.sha256 !== undefined;
}

/** How many wheels of a target to ignore before the look-up fails. Each takes a request. */
const MAX_IGNORED = 50;

/** Combines a wheel's key with the response to its HEAD. */
export function withHead(
  wheel: PlacedWheel,
  { size, etag, lastModified, metadata }: ObjectHead,
): StoredWheel {
  return {
    ...wheel,
    size,
    etag,
    lastModified,
    sha256: storedSha256(metadata),
    requiresPython: metadata['requires-python'],
    ref: metadata.ref,
  };
}

/** Reads the metadata of stored wheels, and collects warnings about those that it ignores. */
export interface WheelReader {
  /**
   * @returns with the time from the listing; undefined if the wheel is gone or must not be used
   * @throws WheelStoreError if the store doesn't respond as S3 does, or too many wheels of a target must not be used
   */
  read(wheel: ListedWheel): Promise<StoredWheel | undefined>;
  readonly warnings: readonly LookUpWarning[];
}

/**
 * Creates a reader for the wheels of one commit.
 *
 * @param known - wheels by key, for which no request is sent. Wheels that are read are added.
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
      const { lastModified } = wheel;
      const cached = known.get(wheel.key);
      // HEAD and listing may differ by a second. All jobs must see the same time, or each would write another page.
      if (cached !== undefined) return { ...cached, lastModified };
      const head = await headObject(bucket, wheel.key, signal);
      if (head === undefined) return undefined;
      const stored = withHead(wheel, head);
      // Download an object to hash it only if the look-up is for a certain SHA-256.
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
      if (sha256 === undefined && wheel.run !== undefined) warnings.push(noSha256(bucket, wheel));
      const usable = { ...stored, sha256, lastModified };
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

function noSha256(bucket: Bucket, { key }: ListedWheel): LookUpWarning {
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
