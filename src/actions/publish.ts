/** The action `publish`: puts the wheels of a commit into a channel, from which pip and uv install them by name. */
import * as core from '@actions/core';
import type { Bucket } from '../bucket/bucket.ts';
import { openBucket } from '../bucket/client.ts';
import { plainUrl } from '../bucket/url.ts';
import { listChannel } from '../channel/content.ts';
import { channelCommands } from '../channel/install.ts';
import { type ChannelPages, writeChannel } from '../channel/pages.ts';
import {
  findPublished,
  type PreparedWheel,
  type PublishedWheel,
  prepareWheels,
  publishWheels,
} from '../channel/publish-wheels.ts';
import { announce, type Presence } from '../channel/publishers.ts';
import { removeUnlinked } from '../channel/removal.ts';
import type { PublishedFile } from '../channel/selection.ts';
import { type ChannelReport, installLines, writeChannelSummary } from '../runner/channel-summary.ts';
import { type PublishInputs, readPublishInputs } from '../runner/inputs.ts';
import { describeError, info, infoGroup, notice, requestTracer, warn } from '../runner/log.ts';
import { indexUrl, linkWheels, setWheelOutputs } from '../runner/outputs.ts';
import { channelFolder, pageKeys } from '../slots/layout.ts';
import { isComplete } from '../slots/lookup.ts';
import { firstOf } from '../untrusted/quote.ts';
import { type LookUpOutcome, lookUpWheels, notStoredError } from './look-up.ts';

const MAX_NAMED = 10;

/** What a channel has gained and lost. */
interface Changes {
  readonly pages: ChannelPages;
  readonly published: readonly PublishedWheel[];
  /** Files that lost their link. */
  readonly unlinked: readonly PublishedFile[];
  /** Own files without a link, because a later run built the same filename. */
  readonly superseded: readonly PublishedFile[];
}

/**
 * Publishes the commit's wheels: all that were requested, or none.
 *
 * @throws WheelStoreError if one is not stored (unless `on-missing` is `ignore`), if the channel has other bytes under its
 *   key, or if the store rejects a request
 */
export async function publish(signal: AbortSignal): Promise<void> {
  const inputs = readPublishInputs();
  info(`Commit ${inputs.place.commit}, channel ${inputs.channel.channel}.`);
  const to = await openBucket(inputs.channelBucket, requestTracer());
  const from = inputs.name === inputs.bucket.name ? to : await openBucket(inputs.bucket, requestTracer());
  try {
    const channelUrl = await plainUrl(to, channelFolder(inputs.channel));
    const found = await lookUpWheels(from, inputs, signal);
    if (!isComplete(found) && inputs.onMissing === 'fail') throw notStoredError(found);
    const changes = isComplete(found)
      ? await publishFound({ from, to }, inputs, found, channelUrl, signal)
      : undefined;
    if (changes === undefined) info(`${found.notStored} Nothing was published (on-missing: ignore).`);
    await report({ from, to }, inputs, found, channelUrl, changes);
  } finally {
    from.close();
    to.close();
  }
}

/** The bucket of the store, and that of the channel. */
interface Buckets {
  readonly from: Bucket;
  readonly to: Bucket;
}

async function publishFound(
  buckets: Buckets,
  inputs: PublishInputs,
  { place: { commit }, wheels }: LookUpOutcome,
  channelUrl: string,
  signal: AbortSignal,
): Promise<Changes> {
  const { from, to } = buckets;
  const { channel, trust } = inputs;
  const prepared = await prepareWheels(from, channel, commit, wheels, trust.repository, signal);
  // Before anything is sent, to refuse other bytes.
  const before = await listChannel(to, channel, signal);
  await findPublished(to, prepared, before.files, signal);
  const presence = await announce(to, channel, warn, signal);
  try {
    // Again: a step that removed files may have ended since.
    const { files } = await listChannel(to, channel, signal);
    const there = await findPublished(to, prepared, files, signal);
    const published = await publishWheels(buckets, prepared, files, there, { signal, warn });
    infoGroup(
      'Wheels in the channel',
      published.map((wheel) => describePublished(to, wheel)),
    );
    const pages = await writePages(to, inputs, prepared, channelUrl, signal);
    const changes = compareWithBefore(pages, published);
    logChanges(to, inputs, changes);
    if (inputs.keep !== undefined) await removeOld(to, inputs, pages, presence, signal);
    return changes;
  } finally {
    await presence.leave();
  }
}

function describePublished(to: Bucket, { prepared: { key, core }, how }: PublishedWheel): string {
  const where = to.uri(key);
  if (how === 'was-there') return `Nothing to copy: ${where} already holds the same bytes.`;
  const metadata = core === undefined ? '' : `, with ${core.content.length} bytes of core metadata beside it`;
  return `Copied ${how.route} to ${where}${metadata}; ${PROOFS[how.proof]}.`;
}

const PROOFS = {
  sha256: 'its SHA-256 was verified',
  etag: 'its size and ETag are those of the stored wheel (the store gives no SHA-256 of a copy)',
  size: 'its size is that of the stored wheel (the store gives neither a SHA-256 nor the same ETag for a copy)',
};

async function writePages(
  to: Bucket,
  inputs: PublishInputs,
  prepared: readonly PreparedWheel[],
  channelUrl: string,
  signal: AbortSignal,
): Promise<ChannelPages> {
  const { channel, serverUrl, keep } = inputs;
  const pages = await writeChannel(to, {
    place: channel,
    channelUrl,
    serverUrl,
    keep,
    own: new Map(prepared.map(({ key, facts }) => [key, facts])),
    projects: [...new Set(prepared.map(({ wheel }) => wheel.name.project))],
    signal,
    warn,
  });
  if (!pages.servesFolders && inputs.channelBucket.publicUrl !== undefined) {
    info(`The store itself serves no folders, so the server at ${channelUrl} must map them to index.html.`);
  } else if (!pages.servesFolders) {
    const page = await plainUrl(to, pageKeys(channel).file);
    notice(
      `This store does not serve a page under the URL of its folder, so pip and uv cannot use ${channelUrl} directly. Put a CDN or web server in front that maps folders to index.html, or install with --find-links and the page of a project (${page} lists them).`,
      'Folders not served',
    );
  }
  return pages;
}

function compareWithBefore(pages: ChannelPages, published: readonly PublishedWheel[]): Changes {
  const own = new Set(published.map(({ prepared }) => prepared.key));
  const hidden = [...pages.selected.values()].flatMap((selected) => selected.hidden);
  return {
    pages,
    published,
    unlinked: hidden.filter(({ key }) => pages.linkedBefore.has(key)),
    superseded: hidden.filter(({ key }) => own.has(key)),
  };
}

function logChanges(to: Bucket, { channel, keep }: PublishInputs, { unlinked, superseded }: Changes): void {
  info(`Updated the pages below ${to.uri(channelFolder(channel))}.`);
  if (unlinked.length > 0) {
    const names = firstOf(
      unlinked.map(({ name }) => name.filename),
      MAX_NAMED,
    );
    const later = keep === undefined ? '' : ' The next step that publishes with keep deletes them.';
    info(`Removed from the page: ${names}.${later}`);
  }
  for (const { name, run } of superseded.slice(0, MAX_NAMED)) {
    info(
      `${name.filename} is not on the page: a run after ${run} built the same filename from another commit.`,
    );
  }
}

/** The pages are right by now, so a failure to delete what has no link is only a warning. */
async function removeOld(
  to: Bucket,
  { channel }: PublishInputs,
  pages: ChannelPages,
  presence: Presence,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { deleted, isPostponed } = await removeUnlinked(to, channel, pages, presence, signal);
    infoGroup(
      'Deleted',
      deleted.map((key) => `Deleted ${to.uri(key)}, which had no link since an earlier step.`),
    );
    if (isPostponed)
      info(
        'Files without a link were left for the next step, because another one publishes now or time is up.',
      );
  } catch (error) {
    signal.throwIfAborted();
    const { text, title } = describeError(error);
    warn(`The wheels are published, but files without a link were not all deleted. ${text}`, title);
  }
}

async function report(
  { from, to }: Buckets,
  inputs: PublishInputs,
  found: LookUpOutcome,
  channelUrl: string,
  changes: Changes | undefined,
): Promise<void> {
  const wheels = await linkWheels(from, found.wheels);
  const index = await indexUrl(from, found.place, found.hasIndex);
  setWheelOutputs({ ...inputs, place: found.place }, wheels, isComplete(found), index);
  const shown = shownFiles(changes);
  const removed = changes?.unlinked ?? [];
  core.setOutput('channel-url', channelUrl);
  core.setOutput('published', JSON.stringify(await describeFiles(to, shown)));
  core.setOutput('removed', JSON.stringify(await describeFiles(to, removed)));
  const commands =
    shown.length === 0
      ? undefined
      : channelCommands(
          channelUrl,
          shown.map(({ name }) => name),
        );
  const channelReport: ChannelReport = {
    channel: inputs.channel.channel,
    channelUrl,
    commit: found.place.commit,
    commitLabel: inputs.commitLabel,
    pageUrl: await plainUrl(to, pageKeys(inputs.channel).file),
    shown,
    removed,
    commands,
    sourceUrl: inputs.sourceUrl,
    ...(changes === undefined ? { reason: found.notStored } : {}),
  };
  infoGroup('To install', installLines(channelReport));
  await writeChannelSummary(channelReport);
}

/** This step's files that are on the page. */
function shownFiles(changes: Changes | undefined): PublishedFile[] {
  if (changes === undefined) return [];
  const own = new Set(changes.published.map(({ prepared }) => prepared.key));
  return [...changes.pages.selected.values()].flatMap(({ shown }) => shown.filter(({ key }) => own.has(key)));
}

async function describeFiles(bucket: Bucket, files: readonly PublishedFile[]) {
  return Promise.all(
    files.map(async ({ name, commit, key, sha256, size, run, attempt }) => ({
      project: name.project,
      version: name.version.text,
      name: name.filename,
      commit,
      key,
      url: await plainUrl(bucket, key),
      sha256,
      size,
      run,
      attempt,
    })),
  );
}
