/** Writes the commit's index pages so that no link is lost, however many jobs of a matrix write at once. */
import type { Bucket } from '../bucket/bucket.ts';
import { getText, replaceText, type StoredText } from '../bucket/text.ts';
import { plainUrl } from '../bucket/url.ts';
import { WheelStoreError } from '../errors.ts';
import { converge, type Next } from './converge.ts';
import { linksOf, renderIndexPage } from './index-page.ts';
import { type CommitPlace, indexKey } from './layout.ts';
import { readCommit } from './lookup.ts';
import type { StoredWheel } from './stored.ts';
import type { Trust } from './trust.ts';

/** Which pages, and what they say of their origin. */
export interface Publication {
  readonly place: CommitPlace;
  /** `owner/name`; undefined outside GitHub. */
  readonly repository: string | undefined;
  readonly serverUrl: string | undefined;
}

const SERVED_AS = { contentType: 'text/html; charset=utf-8', cacheControl: 'no-cache' };
/** Each round one of the writers that are at it gets through; 32 of them at once need far fewer. */
const MAX_ROUNDS = 60;

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
  const put = new Set<string>();
  const round = async (): Promise<Next> => {
    const pages = await comparePages(bucket, publication, projects, heads, signal);
    const outdated = pages.filter((page) => isOutdated(page, put.has(page.key)));
    if (outdated.length === 0) return 'done';
    const written = await Promise.all(outdated.map((page) => putPage(bucket, page, signal)));
    for (const [index, { key }] of outdated.entries()) if (written[index]) put.add(key);
    if (!written.every((isWritten) => isWritten)) return 'back-off';
    // Whether an engine that is not AWS honours the condition, only another look at the pages can tell.
    return bucket.honoursConditions ? 'done' : { pauseMs: 0 };
  };
  await converge(round, { max: MAX_ROUNDS, signal, contended: () => contended(bucket, publication) });
}

function contended(bucket: Bucket, { place }: Publication): WheelStoreError {
  return new WheelStoreError({
    title: 'Index page conflict',
    reason: `${bucket.uri(indexKey(place))} was changed by others in each of ${MAX_ROUNDS} rounds.`,
    remedy: 'The next store step of this commit updates it. If not, find out what else writes that object.',
  });
}

/** A page as it should be, and what was read of it. */
interface ComparedPage {
  readonly key: string;
  readonly html: string;
  readonly before: StoredText | undefined;
}

async function comparePages(
  bucket: Bucket,
  publication: Publication,
  projects: readonly (string | undefined)[],
  heads: Map<string, StoredWheel>,
  signal: AbortSignal,
): Promise<ComparedPage[]> {
  const keys = projects.map((project) => indexKey(publication.place, project));
  const before = await Promise.all(keys.map((key) => getText(bucket, key, signal)));
  const htmls = await render(bucket, publication, projects, heads, signal);
  return keys.map((key, index) => ({ key, html: htmls[index]!, before: before[index] }));
}

/**
 * Whether a page is to be put: always if its links are others than they should be, so that none is lost. Anything
 * else that differs is put right once per step: jobs with other versions or inputs of this action, which render
 * the same links in another page, would otherwise do that to each other until they give up.
 *
 * @param isPut - whether this step has put the page already
 */
function isOutdated({ html, before }: ComparedPage, isPut: boolean): boolean {
  if (before === undefined) return true;
  const isSame =
    before.text === html &&
    before.contentType === SERVED_AS.contentType &&
    before.cacheControl === SERVED_AS.cacheControl &&
    !before.hasMoreHeaders;
  if (isSame) return false;
  return !isPut || (before.text !== undefined && String(linksOf(before.text)) !== String(linksOf(html)));
}

/** @returns false when somebody else put or deleted the page since it was read */
async function putPage(
  bucket: Bucket,
  { key, html, before }: ComparedPage,
  signal: AbortSignal,
): Promise<boolean> {
  const page = { text: html, ...SERVED_AS };
  return (await replaceText(bucket, key, page, before, signal)) === 'written';
}

/** One page for each of `projects`; undefined is the page of all. */
async function render(
  bucket: Bucket,
  { place, repository, serverUrl }: Publication,
  projects: readonly (string | undefined)[],
  heads: Map<string, StoredWheel>,
  signal: AbortSignal,
): Promise<string[]> {
  const trust: Trust = { repository, sha256: [], requireSha256: false };
  const { wheels } = await readCommit(bucket, place, trust, heads, signal);
  const isLinkable = repository !== undefined && /^https?:/.test(serverUrl ?? '');
  const repositoryUrl = isLinkable ? `${serverUrl}/${repository}` : undefined;
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
