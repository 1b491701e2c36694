/** Selects stored wheels: the newest of each target, by run and attempt. */
import type { Bucket } from '../bucket/bucket.ts';
import { WheelStoreError } from '../errors.ts';
import type { Interpreter } from '../wheel/interpreter.ts';
import { allowsPython, rankWheels } from '../wheel/pick.ts';
import { type CommitPlace, shortCommit } from './layout.ts';
import {
  type CommitListing,
  type ListedWheel,
  type LookUpWarning,
  listCommit,
  type Selection,
} from './listing.ts';
import { readerOf, type StoredWheel, type WheelReader } from './stored.ts';
import type { Trust } from './trust.ts';

/** What to look up. */
export interface Query extends Selection {
  readonly place: CommitPlace;
  /** Shown instead of the commit; empty: the commit is shown. */
  readonly commitLabel: string;
  readonly trust: Trust;
  /** Targets that must be stored if `targets` is `*`, which alone can't know what is missing. */
  readonly expect: readonly string[];
}

/** The result of a look-up. */
export interface LookUpResult {
  readonly place: CommitPlace;
  /** At most one wheel per target, in the order of the targets' names. With an interpreter, at most one per project. */
  readonly wheels: readonly StoredWheel[];
  /** Requested targets that are not stored, in the order of the request. */
  readonly missing: readonly string[];
  /**
   * Projects without a usable wheel: requested ones or, with an interpreter and if none were requested, all projects of
   * the commit.
   */
  readonly missingProjects: readonly string[];
  /** Filenames of stored wheels of these projects that the interpreter can't install. */
  readonly incompatible: readonly string[];
  /** Versions of stored wheels that are not the requested version. */
  readonly otherVersions: readonly string[];
  /** The projects of all wheels of the commit, also of those that were not requested. */
  readonly commitProjects: ReadonlySet<string>;
  /** Whether the commit has an index page. */
  readonly hasIndex: boolean;
  readonly warnings: readonly LookUpWarning[];
}

/**
 * Looks a commit up: one listing, then one HEAD per wheel. A wheel that is deleted between the two (by a life-cycle
 * rule) counts as not stored.
 *
 * @param interpreter - selects for each project the one wheel that it would install, from all targets
 * @throws WheelStoreError if the store doesn't respond as S3 does, which never means 'not stored'; or if the flat layout
 *   has several wheels and no interpreter selects one
 */
export async function lookUp(
  bucket: Bucket,
  query: Query,
  signal: AbortSignal,
  interpreter?: Interpreter,
): Promise<LookUpResult> {
  const listing = await listCommit(bucket, query.place, signal, query);
  const reader = readerOf(bucket, query.place, query.trust, signal);
  const chosen =
    interpreter === undefined
      ? await newestOfEach(bucket, query, listing, reader)
      : await bestOfAll(query, listing, reader, interpreter);
  const { commitProjects, otherVersions, hasIndex } = listing;
  const warnings = [...listing.warnings, ...reader.warnings];
  return { ...chosen, place: query.place, commitProjects, otherVersions, hasIndex, warnings };
}

type Choice = Pick<LookUpResult, 'wheels' | 'missing' | 'missingProjects' | 'incompatible'>;

async function newestOfEach(
  bucket: Bucket,
  query: Query,
  { byTarget }: CommitListing,
  reader: WheelReader,
): Promise<Choice> {
  const found = await Promise.all([...byTarget.values()].map((slots) => newestUsable(bucket, slots, reader)));
  const wheels = found.filter((wheel) => wheel !== undefined);
  const stored = new Set(wheels.map(({ target }) => target));
  const projects = new Set(wheels.map(({ name }) => name.project));
  const missingProjects = query.projects.filter((project) => !projects.has(project));
  return { wheels, missing: missingOf(query, stored), missingProjects, incompatible: [] };
}

async function newestUsable(
  bucket: Bucket,
  slots: readonly (readonly ListedWheel[])[],
  reader: WheelReader,
): Promise<StoredWheel | undefined> {
  for (const wheels of slots) {
    if (wheels.length > 1) throw ambiguous(bucket, wheels);
    const stored = await reader.read(wheels[0]!);
    if (stored !== undefined) return stored;
  }
  return undefined;
}

async function bestOfAll(
  query: Query,
  { byTarget }: CommitListing,
  reader: WheelReader,
  interpreter: Interpreter,
): Promise<Choice> {
  // An sdist has no tags. It is never what the interpreter would install, even if no wheel is.
  const newest = newestOf(byTarget).filter(({ name }) => name.tags.length > 0);
  const stored = new Set(newest.map(({ name }) => name.project));
  const wheels: StoredWheel[] = [];
  const missingProjects: string[] = [];
  for (const project of query.projects.length > 0 ? query.projects : [...stored].sort()) {
    const best = await bestUsable(ofProject(byTarget, project), interpreter, reader);
    if (best === undefined) missingProjects.push(project);
    else wheels.push(best);
  }
  const incompatible = newest.filter(({ name }) => missingProjects.includes(name.project));
  return {
    wheels,
    missing: missingOf(query, byTarget),
    missingProjects,
    incompatible: incompatible.map(({ name }) => name.filename),
  };
}

/** The slots of the targets whose newest wheel is one of the project. */
function ofProject(byTarget: CommitListing['byTarget'], project: string): CommitListing['byTarget'] {
  const keep = (slot: readonly ListedWheel[]) => slot.filter(({ name }) => name.project === project);
  const targets = [...byTarget].filter(([, [newest = []]]) => keep(newest).length > 0);
  return new Map(
    targets.map(([target, slots]) => [target, slots.map(keep).filter((slot) => slot.length > 0)]),
  );
}

/** Replaces a wheel that must not be used by the next older one of its target, but not one that can't be installed. */
async function bestUsable(
  byTarget: CommitListing['byTarget'],
  interpreter: Interpreter,
  reader: WheelReader,
): Promise<StoredWheel | undefined> {
  const left = new Map([...byTarget].map(([target, slots]) => [target, [...slots]]));
  let ranked = rankWheels(newestOf(left), interpreter);
  for (let wheel = ranked.shift(); wheel !== undefined; wheel = ranked.shift()) {
    const stored = await reader.read(wheel);
    if (stored !== undefined && allowsPython(stored.requiresPython, interpreter)) return stored;
    if (stored !== undefined || wheel.run === undefined) continue;
    const older = left.get(wheel.target)!;
    older.shift();
    ranked = rankWheels([...ranked, ...(older[0] ?? [])], interpreter);
  }
  return undefined;
}

function newestOf(byTarget: CommitListing['byTarget']): ListedWheel[] {
  return [...byTarget.values()].flatMap(([newest = []]) => newest);
}

function missingOf({ targets, expect }: Query, stored: { has(target: string): boolean }): string[] {
  return (targets === '*' ? expect : targets).filter((target) => !stored.has(target));
}

/** The wheels of a commit, for an index page or a comment. */
export interface ShownCommit {
  /** The newest of each target, in the order of the targets' names; all of the old flat layout. */
  readonly wheels: readonly StoredWheel[];
  readonly hasIndex: boolean;
}

/**
 * Reads what an index page or a comment shows: one listing, then one HEAD per wheel that is not in `known` yet.
 *
 * @param known - wheels by key, to which new ones are added. A stored wheel never changes, so one HEAD is enough.
 * @throws WheelStoreError if the store doesn't respond as S3 does
 */
export async function readCommit(
  bucket: Bucket,
  place: CommitPlace,
  trust: Trust,
  known: Map<string, StoredWheel>,
  signal: AbortSignal,
): Promise<ShownCommit> {
  const { byTarget, hasIndex } = await listCommit(bucket, place, signal);
  const reader = readerOf(bucket, place, trust, signal, known);
  const newest = [...byTarget.values()].map(async (slots) => {
    for (const wheels of slots) {
      const read = await Promise.all(wheels.map((wheel) => reader.read(wheel)));
      const usable = read.filter((wheel) => wheel !== undefined);
      if (usable.length > 0) return usable;
    }
    return [];
  });
  return { wheels: (await Promise.all(newest)).flat(), hasIndex };
}

/** Whether all requested wheels were found. */
export function isComplete({ wheels, missing, missingProjects }: LookUpResult): boolean {
  return wheels.length > 0 && missing.length === 0 && missingProjects.length === 0;
}

function ambiguous(bucket: Bucket, wheels: readonly ListedWheel[]): WheelStoreError {
  const names = wheels.map(({ name }) => name.filename).join(', ');
  const folder = wheels[0]!.key.slice(0, wheels[0]!.key.lastIndexOf('/'));
  return new WheelStoreError({
    title: 'Several wheels in the old flat layout',
    reason: `${bucket.uri(folder)} holds ${wheels.length} wheels side by side: ${names}.`,
    remedy: "Select one with for-python, such as 'for-python: python3'.",
  });
}

/**
 * Describes a query, as part of a sentence: targets, projects, version, commit, runs and prefix.
 *
 * @param older - how many older commits are looked up as well
 */
export function describeQuery(
  { place, commitLabel, targets, projects, version, only, trust }: Query,
  older: number,
): string {
  const targetNames =
    targets === '*'
      ? 'any target'
      : targets.map((name) => (name === '' ? 'a wheel without a target' : `target ${name}`)).join(', ');
  const what = [
    targetNames,
    projects.length === 0 ? '' : ` of ${projects.join(', ')}`,
    version === undefined ? '' : `, version ${version.text},`,
  ].join('');
  const { run = 'any', attempt } = only;
  const runs = run === 'any' ? 'from any run' : `from run ${run}`;
  const hash = trust.sha256.length === 0 ? '' : ` with SHA-256 ${trust.sha256.join(' or ')}`;
  const oneAttempt = attempt === undefined ? '' : `, attempt ${attempt}`;
  const prefix = place.prefix === '' ? 'without a prefix' : `under the prefix ${place.prefix}`;
  const first = commitLabel === '' ? `commit ${shortCommit(place.commit)}` : commitLabel;
  const commit = `${first}${older === 0 ? '' : ` or ${older} older ones`}`;
  return `${what}${hash} of ${commit}, ${runs}${oneAttempt}, ${prefix}`;
}
