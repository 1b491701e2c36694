/** Puts stored wheels into a channel, by copying them within the store. */
import { randomUUID } from 'node:crypto';
import type { Bucket } from '../bucket/bucket.ts';
import { type CopyOutcome, copyObject } from '../bucket/copy.ts';
import { hashObject, headObject } from '../bucket/objects.ts';
import { openObject } from '../bucket/ranges.ts';
import { getText, replaceText } from '../bucket/text.ts';
import { type Warn, WheelStoreError } from '../errors.ts';
import { type ChannelPlace, channelKey, metadataKey, SDIST_TARGET } from '../slots/layout.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { type CoreMetadata, readCoreMetadata } from '../wheel/core-metadata.ts';
import type { ListedFile } from './content.ts';
import { type Facts, factsOf, metadataOf, setOf } from './facts.ts';

/** A stored wheel or sdist, and what it becomes in the channel. */
export interface PreparedWheel {
  readonly wheel: StoredWheel;
  readonly commit: string;
  /** In the channel. */
  readonly key: string;
  readonly facts: Facts;
  /** undefined for an sdist. */
  readonly core: CoreMetadata | undefined;
}

/** A file in the channel, and how it came there. */
export interface PublishedWheel {
  readonly prepared: PreparedWheel;
  /** `was-there`: the same bytes were published before. */
  readonly how: Exclude<CopyOutcome, { outcome: 'taken' }> | 'was-there';
}

/** One year. What a URL serves never changes. */
const CACHE_CONTROL = 'public, max-age=31536000, immutable';
/** How many wheels to process at the same time. */
const CONCURRENCY = 4;

/**
 * Reads what the channel's pages have to say about wheels: the core metadata, by a few ranged requests, and a SHA-256 that
 * was not stored.
 *
 * @param repository - `owner/name` of the repository that stored them; undefined if unknown
 * @throws WheelStoreError if two have the same filename, or one is damaged
 */
export async function prepareWheels(
  bucket: Bucket,
  place: ChannelPlace,
  commit: string,
  wheels: readonly StoredWheel[],
  repository: string | undefined,
  signal: AbortSignal,
): Promise<PreparedWheel[]> {
  refuseSameNames(wheels);
  const read = await inTurn(wheels, async (wheel) => {
    const sha256 = wheel.sha256 ?? (await hashObject(bucket, wheel, signal));
    const isSdist = wheel.target === SDIST_TARGET;
    const core = isSdist
      ? undefined
      : await readCoreMetadata(openObject(bucket, wheel, signal), wheel.size, wheel.name);
    return { wheel, commit, sha256, core, key: channelKey(place, commit, wheel.name) };
  });
  return read.map(({ sha256, ...rest }) => {
    const { wheel, core } = rest;
    const together = read.filter((other) => other.wheel.name.project === wheel.name.project);
    return {
      ...rest,
      facts: {
        sha256,
        metadataSha256: core?.sha256,
        requiresPython: core === undefined ? wheel.requiresPython : core.requiresPython,
        run: wheel.run ?? '0',
        attempt: wheel.attempt ?? '0',
        repository,
        set: setOf(together),
      },
    };
  });
}

function refuseSameNames(wheels: readonly StoredWheel[]): void {
  const names = Map.groupBy(wheels, ({ name }) => name.filename);
  const same = [...names.values()].find((group) => group.length > 1);
  if (same === undefined) return;
  const targets = same.map(({ target }) => (target === '' ? 'no target' : target));
  throw new WheelStoreError({
    title: 'Two wheels with the same filename',
    reason: `The targets ${targets.join(' and ')} hold wheels with the same filename, ${same[0]!.name.filename}, and a channel shows one of each.`,
    remedy: "Name the targets to publish in 'target', or give the wheels other names, such as a build tag.",
  });
}

/**
 * Finds those that are in the channel already.
 *
 * @param files - what lies in the channel
 * @returns their keys
 * @throws WheelStoreError if one has other bytes there
 */
export async function findPublished(
  bucket: Bucket,
  prepared: readonly PreparedWheel[],
  files: readonly ListedFile[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const listed = new Set(files.map(({ key }) => key));
  const present = prepared.filter(({ key }) => listed.has(key));
  const found = await inTurn(present, async (wheel) =>
    (await isThere(bucket, wheel, signal)) ? [wheel.key] : [],
  );
  return new Set(found.flat());
}

/**
 * Copies the wheels that are not in the channel yet, each after its core metadata, so that no wheel is ever without.
 *
 * @param there - keys of those that are
 * @throws WheelStoreError if the store rejects a request. The wheels that were copied until then stay, without a link:
 *   another run of the job goes on from there.
 */
export async function publishWheels(
  { from, to }: { readonly from: Bucket; readonly to: Bucket },
  prepared: readonly PreparedWheel[],
  files: readonly ListedFile[],
  there: ReadonlySet<string>,
  options: { readonly signal: AbortSignal; readonly warn: Warn },
): Promise<PublishedWheel[]> {
  const withMetadata = new Set(files.filter(({ hasMetadata }) => hasMetadata).map(({ key }) => key));
  return inTurn(prepared, async (wheel) => {
    if (!withMetadata.has(wheel.key)) await putMetadata(to, wheel, options.signal);
    if (there.has(wheel.key)) return { prepared: wheel, how: 'was-there' as const };
    const how = await copyWheel(from, to, wheel, options);
    return { prepared: wheel, how };
  });
}

async function putMetadata(bucket: Bucket, { key, core }: PreparedWheel, signal: AbortSignal): Promise<void> {
  if (core === undefined) return;
  const text = {
    text: core.content.toString('utf8'),
    contentType: 'text/plain; charset=utf-8',
    cacheControl: CACHE_CONTROL,
  };
  if ((await replaceText(bucket, metadataKey(key), text, undefined, signal)) === 'written') return;
  // A step that was stopped before it copied the wheel may have left that of other bytes.
  const before = await getText(bucket, metadataKey(key), signal);
  if (before?.text !== text.text) await replaceText(bucket, metadataKey(key), text, before, signal);
}

async function copyWheel(
  from: Bucket,
  to: Bucket,
  prepared: PreparedWheel,
  { signal, warn }: { readonly signal: AbortSignal; readonly warn: Warn },
): Promise<PublishedWheel['how']> {
  const { wheel, key, facts, commit } = prepared;
  const copied = await copyObject(to, {
    from,
    source: wheel,
    sha256: facts.sha256,
    key,
    contentType: wheel.target === SDIST_TARGET ? 'application/gzip' : 'application/zip',
    cacheControl: CACHE_CONTROL,
    metadata: { ...metadataOf(facts, commit, wheel.name), 'put-id': randomUUID() },
    signal,
    warn,
  });
  if (copied.outcome === 'created') return copied;
  // Another step publishes the same commit at this moment.
  if (await isThere(to, prepared, signal)) return 'was-there';
  throw new WheelStoreError({
    title: 'Wheel changed in the store',
    reason: `${to.uri(key)} was deleted while this step published it.`,
    remedy: 'Run the job again; if it happens again, find out what else writes to this channel.',
  });
}

/** @throws WheelStoreError if the channel has other bytes under that key */
async function isThere(bucket: Bucket, { key, facts }: PreparedWheel, signal: AbortSignal): Promise<boolean> {
  const head = await headObject(bucket, key, signal);
  if (head === undefined) return false;
  const published = factsOf(head.metadata)?.sha256;
  if (published === facts.sha256) return true;
  const what = published === undefined ? 'was not put there by publish' : `has the SHA-256 ${published}`;
  throw new WheelStoreError({
    title: 'Published with other bytes',
    reason: `${bucket.uri(key)} ${what}, and the stored wheel has the SHA-256 ${facts.sha256}.`,
    remedy:
      'What a URL of a channel serves never changes. Publish the wheel of another commit, or the one that was published: its run is in the metadata of the object.',
  });
}

/** Like `Promise.all`, a few at a time. After a failure, nothing new is started, and what runs ends first. */
async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  let next = 0;
  let hasFailed = false;
  const worker = async () => {
    while (next < items.length && !hasFailed) {
      const index = next++;
      results[index] = await work(items[index]!).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  const settled = await Promise.allSettled(Array.from({ length: CONCURRENCY }, worker));
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason;
  return results;
}
