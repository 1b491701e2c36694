/**
 * Markers that tell the steps that publish to a channel at the same time about each other, so that none removes what
 * another one is about to link. Each step writes its marker before it lists: of a step that publishes and one that
 * removes, at least one sees the other.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { backoff, type Growth } from '../backoff.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { cleanUpDeadline, withGracePeriod } from '../bucket/deadline.ts';
import { deleteObject, putEmptyObject } from '../bucket/objects.ts';
import type { Warn } from '../errors.ts';
import { type ChannelMarker, type ChannelPlace, channelMarkerKey, pageKeys } from '../slots/layout.ts';
import { type ChannelContent, type ListedMarker, listChannel } from './content.ts';

/** A step's presence in a channel. */
export interface Presence {
  /** Unique. */
  readonly id: string;
  /**
   * Says that this step is about to remove files.
   *
   * @returns what lies in the channel, and a signal that aborts when the removal must have ended; undefined if another
   *   step is publishing. Then nothing may be removed.
   */
  beginRemoval(): Promise<{ readonly content: ChannelContent; readonly until: AbortSignal } | undefined>;
  /** Removes the markers of this step. Only warns if that fails. */
  leave(): Promise<void>;
}

/** How long a step removes files. */
const REMOVAL_MS = 20_000;
/** A marker that is older was left behind by a step that was killed. */
const STALE_MS = { removing: 60_000, publishing: 6 * 60 * 60_000 };
const POLL_GROWTH: Growth = { firstMs: 200, maxMs: 2_000 };
/** More than a minute of polls: by then, any marker of a removal is stale. */
const MAX_POLLS = 100;

/**
 * Announces that this step publishes to a channel. Waits while another step removes files from it.
 *
 * @throws WheelStoreError if the store rejects a request. Then no marker is left.
 */
export async function announce(
  bucket: Bucket,
  place: ChannelPlace,
  warn: Warn,
  signal: AbortSignal,
): Promise<Presence> {
  const id = randomUUID();
  const markers = ownMarkers(bucket, place, id, warn, signal);
  try {
    await markers.put('publishing');
    await waitForRemovals(bucket, place, id, signal);
  } catch (error) {
    await markers.removeAll();
    throw error;
  }
  return {
    id,
    async beginRemoval() {
      const until = AbortSignal.any([signal, AbortSignal.timeout(REMOVAL_MS)]);
      await markers.put('removing');
      const content = await listChannel(bucket, place, signal);
      const others = activeMarkers(content.markers, id);
      return others.length === 0 ? { content, until } : undefined;
    },
    leave: markers.removeAll,
  };
}

function ownMarkers(bucket: Bucket, place: ChannelPlace, id: string, warn: Warn, signal: AbortSignal) {
  const onBehalfOf = pageKeys(place).file;
  const cleanUpSignal = cleanUpDeadline(signal);
  const keys: string[] = [];
  return {
    async put(action: ChannelMarker['action']) {
      const key = channelMarkerKey(place, id, action);
      // If the request fails, the object may exist anyway.
      keys.push(key);
      await putEmptyObject(bucket, key, onBehalfOf, withGracePeriod(signal));
    },
    async removeAll() {
      for (const key of keys.splice(0).reverse()) {
        try {
          await deleteObject(bucket, key, cleanUpSignal);
        } catch (error) {
          warn(
            `The empty object ${key}, a marker for other steps, could not be removed. ${(error as Error).message}`,
            'Empty object left in the store',
          );
        }
      }
    },
  };
}

async function waitForRemovals(
  bucket: Bucket,
  place: ChannelPlace,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const started = process.uptime();
  for (let poll = 1; poll <= MAX_POLLS; poll += 1) {
    const { markers } = await listChannel(bucket, place, signal);
    const waited = (process.uptime() - started) * 1000;
    const removals = activeMarkers(markers, id, waited).filter(({ action }) => action === 'removing');
    if (removals.length === 0) return;
    await delay(backoff(poll, POLL_GROWTH), undefined, { signal });
  }
}

/**
 * The markers of other steps, without those that killed steps left behind.
 *
 * @param markers - also the own one, whose time tells what the store's clock showed
 * @param since - milliseconds since the own marker was put
 */
export function activeMarkers(markers: readonly ListedMarker[], id: string, since = 0): ListedMarker[] {
  const own = markers.filter((marker) => marker.id === id).map(timeOf);
  const now = Math.max(...own) + since;
  return markers.filter((marker) => marker.id !== id && !(now - timeOf(marker) > STALE_MS[marker.action]));
}

function timeOf({ lastModified }: ListedMarker): number {
  return lastModified?.getTime() ?? Number.NaN;
}
