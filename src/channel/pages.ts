/** Writes a channel's pages without losing a link, even if many steps publish at once. */
import type { Bucket } from '../bucket/bucket.ts';
import { headObject } from '../bucket/objects.ts';
import { type Warn, WheelStoreError } from '../errors.ts';
import { converge, type Next } from '../slots/converge.ts';
import { type ChannelPlace, pageKeys } from '../slots/layout.ts';
import { projectsOn, renderChannelPage } from './channel-page.ts';
import { type ChannelContent, type ListedFile, listChannel, tooLarge } from './content.ts';
import { type Facts, factsOf } from './facts.ts';
import { fits, type PagePair, pageStore, type WantedPage } from './page-pair.ts';
import { idOf, readProjectPage, renderProjectPage } from './project-page.ts';
import { type PublishedFile, type Selected, select } from './selection.ts';

/** What to show. */
export interface ChannelUpdate {
  readonly place: ChannelPlace;
  /** Of the channel's folder. */
  readonly channelUrl: string;
  readonly serverUrl: string | undefined;
  /** How many versions of each project stay; undefined: all. */
  readonly keep: number | undefined;
  /** The files that this step publishes, by key. They are in the channel. */
  readonly own: ReadonlyMap<string, Facts>;
  /** The projects of those files. */
  readonly projects: readonly string[];
  readonly signal: AbortSignal;
  readonly warn: Warn;
}

/** The pages of this step's projects. */
export interface ChannelPages {
  /** By project. */
  readonly selected: ReadonlyMap<string, Selected>;
  /** Keys of the files that had a link when this step began. */
  readonly linkedBefore: ReadonlySet<string>;
  /** False if the store doesn't serve a page under the URL of its folder. */
  readonly servesFolders: boolean;
}

/** In each round, one of the concurrent writers succeeds. 32 writers need far fewer rounds. */
const MAX_ROUNDS = 100;
/** How many HEADs to send before waiting for their responses. */
const MAX_HEADS = 64;

/**
 * Updates the pages of the projects, then that of the channel. Each round reads the pages, lists the channel, and puts
 * each page that is outdated, unless another step has put it in the meantime. The rounds end when the pages show what is
 * published. Pages are read before the listing, so a step that has put one since then listed later than we did.
 *
 * @throws WheelStoreError if the store rejects a request, or a page would be too large
 */
export async function writeChannel(bucket: Bucket, update: ChannelUpdate): Promise<ChannelPages> {
  const { place, projects, signal } = update;
  const store = pageStore(bucket);
  const known = new Map(update.own);
  const foreign = new Set<string>();
  let linkedBefore: ReadonlySet<string> | undefined;
  let selected = new Map<string, Selected>();
  const round = async (): Promise<Next> => {
    const read = (project?: string) => store.read(pageKeys(place, project), signal);
    const [root, ...before] = await Promise.all([read(), ...projects.map(read)]);
    const content = await listChannel(bucket, place, signal);
    const pages = before.map(readPair);
    const files = await readFiles(bucket, update, content, pages, known, foreign);
    linkedBefore ??= linkedKeys(content.files, pages);
    selected = new Map(
      projects.map((project, index) => [project, selectOf(files, project, pages[index]!, update)]),
    );
    const wanted = projects.map((project, index) =>
      projectPage(project, selected.get(project)!, before[index]!, update, content),
    );
    for (const [index, { html }] of wanted.entries()) {
      if (!fits(html))
        throw tooLarge(bucket, place, `has too many wheels of ${projects[index]} for one page`);
    }
    // The channel's page links to those of the projects, so they come first.
    const written = await Promise.all(wanted.map((page) => store.write(page, signal)));
    if (written.includes('changed')) return 'back-off';
    written.push(await store.write(channelPage(root!, update, content), signal));
    if (written.includes('changed')) return 'back-off';
    if (!written.includes('written')) return 'done';
    // A custom endpoint may have ignored the condition. Only reading again shows that.
    return bucket.honoursConditions ? 'done' : { pauseMs: 0 };
  };
  await converge(round, { max: MAX_ROUNDS, signal, contended: () => contended(bucket, place) });
  warnOfForeign(bucket, foreign, update.warn);
  return { selected, linkedBefore: linkedBefore!, servesFolders: store.servesFolders() };
}

/** What a project's page says, under both keys: a step may have been stopped after it had put the first. */
export interface ReadPages {
  readonly facts: ReadonlyMap<string, Facts>;
  readonly linked: ReadonlySet<string>;
}

/** Reads a project's page under both keys. */
export function readPair({ file, folder }: PagePair): ReadPages {
  const pages = [folder, file].map((page) => readProjectPage(page?.text ?? ''));
  return {
    facts: new Map(pages.flatMap(({ facts }) => [...facts])),
    linked: new Set(pages.flatMap(({ linked }) => [...linked])),
  };
}

/** The keys of the files that have a link on one of the pages. */
export function linkedKeys(files: readonly ListedFile[], pages: readonly ReadPages[]): Set<string> {
  const linked = new Set(pages.flatMap((page) => [...page.linked]));
  return new Set(files.filter((file) => linked.has(idOf(file))).map(({ key }) => key));
}

/**
 * Adds the facts to the files of the projects: those that the step knows, those on the page, else those of the object.
 *
 * @param known - by key; facts that are read are added
 * @param foreign - the keys of objects without facts are added
 */
async function readFiles(
  bucket: Bucket,
  { projects, signal }: ChannelUpdate,
  { files }: ChannelContent,
  pages: readonly ReadPages[],
  known: Map<string, Facts>,
  foreign: Set<string>,
): Promise<PublishedFile[]> {
  const ours = files.filter(({ name }) => projects.includes(name.project));
  for (const file of ours) {
    const facts = pages[projects.indexOf(file.name.project)]!.facts.get(idOf(file));
    if (facts !== undefined && !known.has(file.key)) known.set(file.key, facts);
  }
  const unknown = ours.filter(({ key }) => !known.has(key) && !foreign.has(key));
  for (let start = 0; start < unknown.length; start += MAX_HEADS) {
    const some = unknown.slice(start, start + MAX_HEADS);
    const heads = await Promise.all(some.map(({ key }) => headObject(bucket, key, signal)));
    for (const [index, { key }] of some.entries()) {
      const facts = heads[index] === undefined ? undefined : factsOf(heads[index].metadata);
      if (facts !== undefined) known.set(key, facts);
      else if (heads[index] !== undefined) foreign.add(key);
    }
  }
  return ours.flatMap((file) => {
    const facts = known.get(file.key);
    return facts === undefined ? [] : [{ ...file, ...facts }];
  });
}

function selectOf(
  files: readonly PublishedFile[],
  project: string,
  { facts }: ReadPages,
  { own, keep }: ChannelUpdate,
): Selected {
  const ofProject = files.filter(({ name }) => name.project === project);
  const known = new Set(ofProject.filter((file) => facts.has(idOf(file))).map(({ key }) => key));
  return select(ofProject, { own: new Set(own.keys()), known, keep });
}

function projectPage(
  project: string,
  { shown, hidden }: Selected,
  before: PagePair,
  { place: { channel }, channelUrl, serverUrl }: ChannelUpdate,
  { files }: ChannelContent,
): WantedPage {
  const required = shown.map(idOf);
  const there = new Set(files.filter(({ name }) => name.project === project).map(idOf));
  return {
    before,
    html: renderProjectPage({ channel, channelUrl, project, serverUrl, shown, hidden }),
    isGood(html) {
      const { linked } = readProjectPage(html);
      return required.every((id) => linked.has(id)) && [...linked].every((id) => there.has(id));
    },
  };
}

function channelPage(
  before: PagePair,
  { place: { channel }, projects: own }: ChannelUpdate,
  { files, projects }: ChannelContent,
): WantedPage {
  const shown = new Set([...projects, ...own]);
  return {
    before,
    html: renderChannelPage({ channel, projects: shown, files }),
    isGood(html) {
      const linked = projectsOn(html);
      return [...shown].every((project) => linked.has(project));
    },
  };
}

function warnOfForeign(bucket: Bucket, foreign: ReadonlySet<string>, warn: Warn): void {
  const [first] = foreign;
  if (first === undefined) return;
  const more = foreign.size === 1 ? '' : ` and ${foreign.size - 1} more`;
  warn(
    `Ignored ${bucket.uri(first)}${more}: this action didn't put them there, so their SHA-256 is unknown.`,
    'Stored wheel ignored',
  );
}

function contended(bucket: Bucket, place: ChannelPlace): WheelStoreError {
  return new WheelStoreError({
    title: 'Index page conflict',
    reason: `${bucket.uri(pageKeys(place).file)} or a page below it was changed by others in each of ${MAX_ROUNDS} rounds.`,
    remedy: 'Run the job again. If that fails, too, find out what else writes those objects.',
  });
}
