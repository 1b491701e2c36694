/** Writes the commit's index pages without losing a link, even if many jobs of a matrix write at once. */
import type { Bucket } from '../bucket/bucket.ts';
import { getText, replaceText, type StoredText } from '../bucket/text.ts';
import { plainUrl } from '../bucket/url.ts';
import { WheelStoreError } from '../errors.ts';
import { converge, type Next } from './converge.ts';
import { PAGE_HEADERS } from './html.ts';
import { linksOf, renderIndexPage } from './index-page.ts';
import { type CommitPlace, indexKey } from './layout.ts';
import { readCommit } from './lookup.ts';
import type { StoredWheel } from './stored.ts';
import { trustRepository } from './trust.ts';

/** Which commit's pages to write, whose wheels they show, and what they link to on GitHub. */
export interface Publication {
  readonly place: CommitPlace;
  /** Shown instead of the commit; empty: the commit is shown. */
  readonly commitLabel: string;
  /** `owner/name`; undefined outside GitHub. */
  readonly repository: string | undefined;
  /** `https://github.com/owner/name`; undefined if its pages cannot be linked. */
  readonly repositoryUrl: string | undefined;
}

/** In each round, one of the concurrent writers succeeds. 32 writers need far fewer rounds. */
const MAX_ROUNDS = 60;

/**
 * Updates the commit's page and the pages of the projects of the wheels that were just stored. Each round reads the pages,
 * lists the commit, and puts each page that is outdated, unless another job has put it in the meantime. The rounds end
 * when the pages show what is stored. Pages are read before the listing, so a job that has put one since then listed
 * later than we did.
 *
 * @param stored - the wheels that this step stored, for which no HEAD is sent
 * @returns the wheels on the commit's page
 * @throws WheelStoreError if the store rejects a request
 */
export async function publishIndex(
  bucket: Bucket,
  publication: Publication,
  stored: readonly StoredWheel[],
  signal: AbortSignal,
): Promise<readonly StoredWheel[]> {
  const projects = [...new Set(stored.map(({ name }) => name.project))];
  return updatePages(bucket, publication, projects, stored, signal);
}

/**
 * Updates the pages that exist, after a wheel of the project was removed from its slot. Another job may have listed it
 * before, or ignored its slot because of it.
 *
 * @throws WheelStoreError if the store rejects a request
 */
export async function correctIndex(
  bucket: Bucket,
  publication: Publication,
  project: string,
  signal: AbortSignal,
): Promise<void> {
  await updatePages(bucket, publication, [project], [], signal);
}

/**
 * @param stored - the wheels to add; none: do not create pages
 * @returns the wheels on the commit's page
 */
async function updatePages(
  bucket: Bucket,
  publication: Publication,
  projects: readonly string[],
  stored: readonly StoredWheel[],
  signal: AbortSignal,
): Promise<readonly StoredWheel[]> {
  const own = new Set(stored.map(({ key }) => key));
  const known = new Map(stored.map((wheel) => [wheel.key, wheel]));
  const put = new Set<string>();
  let listed: readonly StoredWheel[] = [];
  const round = async (): Promise<Next> => {
    const { pages, wheels } = await comparePages(
      bucket,
      publication,
      [undefined, ...projects],
      known,
      signal,
    );
    listed = wheels;
    const ours = pages.filter(({ before }) => own.size > 0 || before !== undefined);
    const outdated = ours.filter((page) => isOutdated(page, put.has(page.key)));
    if (outdated.length === 0) return 'done';
    const written = await Promise.all(outdated.map((page) => putPage(bucket, page, signal)));
    for (const [index, { key }] of outdated.entries()) if (written[index]) put.add(key);
    if (!written.every((isWritten) => isWritten)) return 'back-off';
    // A custom endpoint may have ignored the condition, and another job may have removed a wheel that was listed. Only
    // reading again shows that.
    const isAlone = wheels.length > 0 && wheels.every(({ key }) => own.has(key));
    return bucket.honoursConditions && isAlone ? 'done' : { pauseMs: 0 };
  };
  await converge(round, { max: MAX_ROUNDS, signal, contended: () => contended(bucket, publication) });
  return listed;
}

function contended(bucket: Bucket, { place }: Publication): WheelStoreError {
  return new WheelStoreError({
    title: 'Index page conflict',
    reason: `${bucket.uri(indexKey(place))} was changed by others in each of ${MAX_ROUNDS} rounds.`,
    remedy: 'The next store step of this commit updates it. If not, find out what else writes that object.',
  });
}

/** A page as it should be, and as it was read. */
interface ComparedPage {
  readonly key: string;
  readonly html: string;
  readonly before: StoredText | undefined;
}

async function comparePages(
  bucket: Bucket,
  publication: Publication,
  projects: readonly (string | undefined)[],
  known: Map<string, StoredWheel>,
  signal: AbortSignal,
): Promise<{ pages: ComparedPage[]; wheels: readonly StoredWheel[] }> {
  const { place, repository } = publication;
  const keys = projects.map((project) => indexKey(place, project));
  const before = await Promise.all(keys.map((key) => getText(bucket, key, signal)));
  const { wheels } = await readCommit(bucket, place, trustRepository(repository), known, signal);
  const htmls = await render(bucket, publication, projects, wheels);
  const pages = keys.map((key, index) => ({ key, html: htmls[index]!, before: before[index] }));
  return { pages, wheels };
}

/**
 * Whether to put a page: always if its links are wrong, so that none is lost. Other differences are corrected only once
 * per step. Otherwise jobs with other versions or inputs of this action, which render the same links differently, would
 * overwrite each other's pages until they give up.
 *
 * @param isPut - whether this step has already put the page
 */
function isOutdated({ html, before }: ComparedPage, isPut: boolean): boolean {
  if (before === undefined) return true;
  const isSame =
    before.text === html &&
    before.contentType === PAGE_HEADERS.contentType &&
    before.cacheControl === PAGE_HEADERS.cacheControl &&
    !before.hasMoreHeaders;
  if (isSame) return false;
  return !isPut || (before.text !== undefined && String(linksOf(before.text)) !== String(linksOf(html)));
}

/** @returns false if the page was replaced or deleted since it was read */
async function putPage(
  bucket: Bucket,
  { key, html, before }: ComparedPage,
  signal: AbortSignal,
): Promise<boolean> {
  const page = { text: html, ...PAGE_HEADERS };
  return (await replaceText(bucket, key, page, before, signal)) === 'written';
}

/** Renders one page for each of `projects`; undefined stands for the commit's page. */
async function render(
  bucket: Bucket,
  { place, commitLabel, repositoryUrl }: Publication,
  projects: readonly (string | undefined)[],
  wheels: readonly StoredWheel[],
): Promise<string[]> {
  return Promise.all(
    projects.map(async (project) =>
      renderIndexPage({
        place,
        commitLabel,
        wheels: wheels.filter(({ name }) => project === undefined || name.project === project),
        url: await plainUrl(bucket, indexKey(place)),
        project,
        repositoryUrl,
      }),
    ),
  );
}
