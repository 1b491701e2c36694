/** Writes the commit's index pages so that no link is lost, however many jobs of a matrix write at once. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from './bucket/client.ts';
import { isAbsent, refusesCondition, statusOf } from './bucket/failures.ts';
import { getText, type PutCondition, putText, type StoredText } from './bucket/text.ts';
import { plainUrl } from './bucket/url.ts';
import { WheelStoreError } from './errors.ts';
import { linksOf, renderIndexPage } from './index-page.ts';
import { type CommitPlace, indexKey } from './layout.ts';
import { listCommit, type StoredWheel } from './lookup.ts';
import type { Trust } from './trust.ts';

/** Which pages, and what they say of their origin. */
export interface Publication {
  readonly place: CommitPlace;
  /** `owner/name`; empty outside GitHub. */
  readonly repository: string;
  readonly serverUrl: string;
}

/** Each round one of the writers that are at it gets through; 32 of them at once need far fewer. */
const MOST_ROUNDS = 60;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Updates the commit's page and the page of the project of the wheel that was just stored: read the pages,
 * list, render, put each page that lacks a link if nobody else did meanwhile; and again, until the pages show
 * what is stored. They are read before the listing, so whoever put one since then listed later than we did.
 *
 * @param stored - the wheel that this step stored; what is known of it needs no request
 * @throws WheelStoreError when the store refuses
 */
export async function publishIndex(
  bucket: Bucket,
  publication: Publication,
  stored: StoredWheel,
  signal: AbortSignal,
): Promise<void> {
  const heads = new Map([[stored.key, stored]]);
  const projects = [undefined, stored.name.project];
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    signal.throwIfAborted();
    const outdated = await findOutdated(bucket, publication, projects, heads, signal);
    if (outdated.length === 0) return;
    const written = await Promise.all(outdated.map((page) => putPage(bucket, page, signal)));
    const areWritten = written.every((isWritten) => isWritten);
    // Whether an engine that is not AWS honours the condition, only another look at the pages can tell.
    if (areWritten && bucket.customEndpoint === undefined) return;
    const pause = areWritten ? 0 : Math.random() * Math.min(50 * 2 ** round, LONGEST_PAUSE_MS);
    await delay(pause, undefined, { signal });
  }
  throw new WheelStoreError({
    title: 'Index page contended',
    reason: `s3://${bucket.settings.name}/${indexKey(publication.place)} was changed by others in each of ${MOST_ROUNDS} rounds.`,
    remedy: 'The next store of this commit updates it; or find out what else writes that object.',
  });
}

/** A page that lacks a link or has one too many, as it should be, and what was read of it. */
interface OutdatedPage {
  readonly key: string;
  readonly html: string;
  readonly before: StoredText | undefined;
}

async function findOutdated(
  bucket: Bucket,
  publication: Publication,
  projects: readonly (string | undefined)[],
  heads: Map<string, StoredWheel>,
  signal: AbortSignal,
): Promise<OutdatedPage[]> {
  const keys = projects.map((project) => indexKey(publication.place, project));
  const before = await Promise.all(keys.map((key) => getText(bucket, key, signal)));
  const htmls = await render(bucket, publication, projects, heads, signal);
  const pages = keys.map((key, index) => ({ key, html: htmls[index]!, before: before[index] }));
  return pages.filter(
    (page) => String(page.before && linksOf(page.before.text)) !== String(linksOf(page.html)),
  );
}

/** @returns false when somebody else put or deleted the page since it was read */
async function putPage(
  bucket: Bucket,
  { key, html, before }: OutdatedPage,
  signal: AbortSignal,
): Promise<boolean> {
  const page = { text: html, contentType: 'text/html; charset=utf-8', cacheControl: 'no-cache' };
  const put = (condition: PutCondition) => putText(bucket, key, page, condition, signal);
  try {
    if (before === undefined) await put({ ifNoneMatch: '*' });
    else await putOver(before.etag, put, bucket.customEndpoint !== undefined);
    return true;
  } catch (error) {
    const status = statusOf(error);
    if (status === 412 || status === 409) return false;
    // A page that was deleted between reading and putting.
    if (isAbsent(error) && before !== undefined) return false;
    if (!refusesCondition(error, bucket.customEndpoint !== undefined)) throw error;
    await put({});
    return true;
  }
}

/** Ceph's radosgw 16 knows an ETag in a put's condition only without the quotes that belong to it. */
async function putOver(
  etag: string,
  put: (condition: PutCondition) => Promise<void>,
  isForeign: boolean,
): Promise<void> {
  try {
    await put({ ifMatch: etag });
  } catch (error) {
    if (!isForeign || statusOf(error) !== 412) throw error;
    await put({ ifMatch: etag.replaceAll('"', '') });
  }
}

/** One page for each of `projects`; undefined is the page of all. */
async function render(
  bucket: Bucket,
  { place, repository, serverUrl }: Publication,
  projects: readonly (string | undefined)[],
  heads: Map<string, StoredWheel>,
  signal: AbortSignal,
): Promise<string[]> {
  const trust: Trust = { repository: repository || undefined, sha256: [], requireSha256: false };
  const { wheels } = await listCommit(bucket, place, trust, heads, signal);
  const repositoryUrl = /^https?:/.test(serverUrl) && repository !== '' ? `${serverUrl}/${repository}` : '';
  return Promise.all(
    projects.map(async (project) =>
      renderIndexPage({
        place,
        wheels: wheels.filter(({ name }) => project === undefined || name.project === project),
        url: await plainUrl(bucket, indexKey(place, project)),
        project,
        repositoryUrl,
      }),
    ),
  );
}
