/** Removes files from a channel that have had no link since an earlier step. */
import type { Bucket } from '../bucket/bucket.ts';
import { deleteObject } from '../bucket/objects.ts';
import { getText } from '../bucket/text.ts';
import { type ChannelPlace, metadataKey, pageKeys } from '../slots/layout.ts';
import { type ChannelPages, linkedKeys, readPair } from './pages.ts';
import type { Presence } from './publishers.ts';

/** The outcome of a removal. */
export interface Removal {
  /** Keys of the wheels and sdists that were deleted. */
  readonly deleted: readonly string[];
  /** Whether nothing was deleted because another step was publishing. */
  readonly isPostponed: boolean;
}

/** How many files to delete at the same time. */
const CONCURRENCY = 8;

/**
 * Deletes the files of this step's projects that neither had a link when the step began nor have one now: replaced ones,
 * those of versions beyond `keep`, and those of sets that were never completed. Whoever read the page before the step
 * began, and still installs from it, finds all that was linked then.
 *
 * @throws WheelStoreError if the store rejects a request
 */
export async function removeUnlinked(
  bucket: Bucket,
  place: ChannelPlace,
  { selected, linkedBefore }: ChannelPages,
  presence: Presence,
  signal: AbortSignal,
): Promise<Removal> {
  const candidates = [...selected.values()]
    .flatMap(({ hidden, incomplete }) => [...hidden, ...incomplete])
    .filter(({ key }) => !linkedBefore.has(key));
  if (candidates.length === 0) return { deleted: [], isPostponed: false };
  const removal = await presence.beginRemoval();
  if (removal === undefined) return { deleted: [], isPostponed: true };
  // Another step may have published since we read the pages, and ended.
  const linked = await linkedNow(bucket, place, [...selected.keys()], removal.content.files, signal);
  const unlinked = candidates.filter(({ key }) => !linked.has(key)).map(({ key }) => key);
  const deleted: string[] = [];
  for (let start = 0; start < unlinked.length && !removal.until.aborted; start += CONCURRENCY) {
    const some = unlinked.slice(start, start + CONCURRENCY);
    // First the metadata: what a step that is stopped in between leaves is still found as a wheel.
    await Promise.all(some.map((key) => deleteObject(bucket, metadataKey(key), removal.until)));
    await Promise.all(some.map((key) => deleteObject(bucket, key, removal.until)));
    deleted.push(...some);
  }
  // No other step is publishing, so these are from steps that were killed.
  const { strayMetadata, markers } = removal.content;
  const stray = [...strayMetadata, ...markers.filter(({ id }) => id !== presence.id).map(({ key }) => key)];
  for (const key of stray) if (!removal.until.aborted) await deleteObject(bucket, key, removal.until);
  return { deleted, isPostponed: deleted.length < unlinked.length };
}

async function linkedNow(
  bucket: Bucket,
  place: ChannelPlace,
  projects: readonly string[],
  files: Parameters<typeof linkedKeys>[0],
  signal: AbortSignal,
): Promise<Set<string>> {
  const pages = await Promise.all(
    projects.map(async (project) => {
      const keys = pageKeys(place, project);
      const [file, folder] = await Promise.all([
        getText(bucket, keys.file, signal),
        getText(bucket, keys.folder, signal),
      ]);
      return readPair({ keys, file, folder });
    }),
  );
  return linkedKeys(files, pages);
}
