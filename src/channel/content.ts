/** Lists what lies in a channel. */
import type { Bucket } from '../bucket/bucket.ts';
import { type ListedObject, listObjects } from '../bucket/objects.ts';
import { WheelStoreError } from '../errors.ts';
import {
  type ChannelFile,
  type ChannelMarker,
  type ChannelPlace,
  channelFolder,
  metadataKey,
  pageKeys,
  readChannelKey,
} from '../slots/layout.ts';

/** A wheel or sdist in a channel, as listed. */
export interface ListedFile extends ChannelFile, Omit<ListedObject, 'key'> {
  /** Whether its core metadata lies beside it. */
  readonly hasMetadata: boolean;
}

/** A marker, and when it was put. */
export type ListedMarker = ChannelMarker & Pick<ListedObject, 'lastModified'>;

/** What lies in a channel, according to its keys. */
export interface ChannelContent {
  readonly files: readonly ListedFile[];
  /** Keys of core metadata without a file: a step was stopped between the two. */
  readonly strayMetadata: readonly string[];
  readonly markers: readonly ListedMarker[];
  /** Projects that have a page. */
  readonly projects: ReadonlySet<string>;
}

/** Thousands of wheels, each with its core metadata. */
const MAX_OBJECTS = 40_000;

/**
 * Lists a channel. Other objects and empty files are ignored.
 *
 * @throws WheelStoreError if the store doesn't respond as S3 does, or the channel has more than 40,000 objects
 */
export async function listChannel(
  bucket: Bucket,
  place: ChannelPlace,
  signal: AbortSignal,
): Promise<ChannelContent> {
  const folder = channelFolder(place);
  const keep = (key: string) =>
    projectOfPage(place, key) !== undefined || readChannelKey(place, key) !== undefined;
  const exceeded = () => tooLarge(bucket, place, `has more than ${MAX_OBJECTS} objects`);
  const objects = await listObjects(bucket, folder, {
    signal,
    keep,
    most: { objects: MAX_OBJECTS, exceeded },
  });
  return sortOut(place, objects);
}

/** Sorts the objects of a channel by what they are. */
export function sortOut(place: ChannelPlace, objects: readonly ListedObject[]): ChannelContent {
  const keys = new Set(objects.map(({ key }) => key));
  const files: ListedFile[] = [];
  const strayMetadata: string[] = [];
  const markers: ListedMarker[] = [];
  const projects = new Set<string>();
  for (const { key, size, etag, lastModified } of objects) {
    const entry = readChannelKey(place, key);
    const project = entry === undefined ? projectOfPage(place, key) : undefined;
    if (project !== undefined) projects.add(project);
    if (entry?.kind === 'marker') markers.push({ ...entry, lastModified });
    if (entry?.kind === 'metadata' && !keys.has(entry.of)) strayMetadata.push(key);
    if (entry?.kind !== 'file' || size === 0) continue;
    const { commit, name } = entry;
    files.push({ key, commit, name, size, etag, lastModified, hasMetadata: keys.has(metadataKey(key)) });
  }
  return { files, strayMetadata, markers, projects };
}

/** @returns undefined if it is not the key of a project's page */
function projectOfPage(place: ChannelPlace, key: string): string | undefined {
  const [project = '', page] = key.slice(channelFolder(place).length).split('/', 2);
  return page !== undefined && key === pageKeys(place, project).file ? project : undefined;
}

/**
 * The error for a channel that is too large.
 *
 * @param what - the end of a sentence whose subject is the channel
 */
export function tooLarge(bucket: Bucket, place: ChannelPlace, what: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Channel too large',
    reason: `The channel ${bucket.uri(channelFolder(place))} ${what}.`,
    remedy: "Set 'keep' to the number of versions to keep, or publish to another channel.",
  });
}
