/**
 * One page under its two keys: `…/index.html`, and the folder itself. S3 serves a folder's URL, which pip and uv ask for,
 * from the object whose key ends in a slash. Not all engines do: see docs/engines.md.
 */
import type { Bucket } from '../bucket/bucket.ts';
import { getText, MAX_TEXT_BYTES, replaceText, type StoredText, tryReplaceText } from '../bucket/text.ts';
import { PAGE_HEADERS } from '../slots/html.ts';
import type { PageKeys } from '../slots/layout.ts';

/** A page under both keys, as it was read; undefined if there is none. */
export interface PagePair {
  readonly keys: PageKeys;
  readonly file: StoredText | undefined;
  readonly folder: StoredText | undefined;
}

/** A page as it should be. */
export interface WantedPage {
  readonly before: PagePair;
  readonly html: string;
  /** Whether a page with other HTML has all that this one must have, and nothing that isn't there. */
  readonly isGood: (html: string) => boolean;
}

/** Reads and writes the pages of one step. */
export interface PageStore {
  read(keys: PageKeys, signal: AbortSignal): Promise<PagePair>;
  /**
   * Puts a page under both keys, if it is outdated there.
   *
   * @returns `unchanged` if it was up to date, `changed` if another step has put it since it was read
   */
  write(page: WantedPage, signal: AbortSignal): Promise<'unchanged' | 'written' | 'changed'>;
  /** Whether the store serves folders, as far as is known. */
  servesFolders(): boolean;
}

/** Whether a page fits into a text object. */
export function fits(html: string): boolean {
  return Buffer.byteLength(html) <= MAX_TEXT_BYTES;
}

/** Creates the reader and writer of a bucket's pages. */
export function pageStore(bucket: Bucket): PageStore {
  const put = new Set<string>();
  let servesFolders = true;
  const writeOne = async (
    key: string,
    before: StoredText | undefined,
    { html, isGood }: WantedPage,
    signal: AbortSignal,
  ) => {
    if (!isOutdated(before, html, put.has(key) ? isGood : undefined)) return 'unchanged';
    const text = { text: html, ...PAGE_HEADERS };
    const isFolder = key.endsWith('/') && bucket.customEndpoint !== undefined;
    const outcome = await (isFolder ? tryReplaceText : replaceText)(bucket, key, text, before, signal);
    if (outcome === 'written') put.add(key);
    // An engine may accept the put of a folder, or call it changed, and have no page there.
    if (isFolder && !(await isPage(bucket, key, signal))) {
      servesFolders = false;
      return 'unchanged';
    }
    return outcome === 'refused' ? 'changed' : outcome;
  };
  return {
    servesFolders: () => servesFolders,
    async read(keys, signal) {
      const [file, folder] = await Promise.all([
        getText(bucket, keys.file, signal),
        servesFolders ? getText(bucket, keys.folder, signal) : undefined,
      ]);
      return { keys, file, folder };
    },
    async write(page, signal) {
      const { keys, file, folder } = page.before;
      const outcomes = [await writeOne(keys.file, file, page, signal)];
      if (servesFolders) outcomes.push(await writeOne(keys.folder, folder, page, signal));
      return (['changed', 'written'] as const).find((outcome) => outcomes.includes(outcome)) ?? 'unchanged';
    },
  };
}

/**
 * Whether to put a page. Once this step has put it, only if something important differs. Otherwise steps with other
 * inputs or versions of this action, which render the same files differently, would overwrite each other's pages until
 * they give up.
 *
 * @param isGood - set if this step has put the page
 */
function isOutdated(
  before: StoredText | undefined,
  html: string,
  isGood: ((html: string) => boolean) | undefined,
): boolean {
  if (before === undefined) return true;
  const isSame =
    before.text === html &&
    before.contentType === PAGE_HEADERS.contentType &&
    before.cacheControl === PAGE_HEADERS.cacheControl &&
    !before.hasMoreHeaders;
  if (isSame) return false;
  return isGood === undefined || before.text === undefined || !isGood(before.text);
}

async function isPage(bucket: Bucket, key: string, signal: AbortSignal): Promise<boolean> {
  const page = await getText(bucket, key, signal);
  return page?.text?.startsWith('<!DOCTYPE html>') === true;
}
