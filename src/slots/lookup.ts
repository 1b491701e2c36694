/** Selects stored wheels: the newest of each target, by run and attempt. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../bucket/bucket.ts';
import { isTransient } from '../bucket/failures.ts';
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
  /** Shown instead of the commit; undefined or empty: the commit is shown. */
  readonly commitLabel?: string;
  readonly trust: Trust;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 10_000;

/** The result of a look-up. */
export interface LookUpResult {
  /** At most one wheel per target, in the order of the targets' names. With an interpreter, at most one in all. */
  readonly wheels: readonly StoredWheel[];
  /** Requested targets that are not stored, in the order of the request. */
  readonly missing: readonly string[];
  /** Filenames of stored wheels that the interpreter can't install. Empty if it can install one. */
  readonly incompatible: readonly string[];
  /** The projects of all wheels of the commit, also of those that were not requested. */
  readonly projects: ReadonlySet<string>;
  /** Whether the commit has an index page. */
  readonly hasIndex: boolean;
  readonly warnings: readonly LookUpWarning[];
}

/**
 * Looks a commit up: one listing, then one HEAD per wheel. A wheel that is deleted between the two (by a life-cycle
 * rule) counts as not stored.
 *
 * @param interpreter - selects the one wheel that it would install, from all targets
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
  const { projects, hasIndex } = listing;
  return { ...chosen, projects, hasIndex, warnings: [...listing.warnings, ...reader.warnings] };
}

type Choice = Pick<LookUpResult, 'wheels' | 'missing' | 'incompatible'>;

async function newestOfEach(
  bucket: Bucket,
  query: Query,
  { byTarget }: CommitListing,
  reader: WheelReader,
): Promise<Choice> {
  const found = await Promise.all([...byTarget.values()].map((slots) => newestUsable(bucket, slots, reader)));
  const wheels = found.filter((wheel) => wheel !== undefined);
  const stored = new Set(wheels.map(({ target }) => target));
  return { wheels, missing: missingOf(query, stored), incompatible: [] };
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
  const best = await bestUsable(byTarget, interpreter, reader);
  const missing = missingOf(query, byTarget);
  if (best !== undefined) return { wheels: [best], missing, incompatible: [] };
  return { wheels: [], missing, incompatible: newestOf(byTarget).map(({ name }) => name.filename) };
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

function missingOf({ targets }: Query, stored: { has(target: string): boolean }): string[] {
  return targets === '*' ? [] : targets.filter((target) => !stored.has(target));
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
export function isComplete({ wheels, missing }: LookUpResult): boolean {
  return wheels.length > 0 && missing.length === 0;
}

/**
 * Repeats the look-up until all requested wheels are stored, or `seconds` have passed. Also retries after transient
 * errors.
 *
 * @param onWait - called before the first wait, and whenever look-ups begin to fail or to succeed again; with the error
 *   if the last look-up failed
 * @throws WheelStoreError if the last look-up failed, or one failed with an error that isn't transient
 */
export async function lookUpUntil(
  seconds: number,
  onWait: (failure: WheelStoreError | undefined) => void,
  ...parameters: Parameters<typeof lookUp>
): Promise<LookUpResult> {
  const [, , signal] = parameters;
  // Not performance.now(), which loads half a dozen of Node's modules.
  const end = process.uptime() + seconds;
  let wasFailing: boolean | undefined;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, MAX_PAUSE_MS)) {
    const result = await lookUp(...parameters).catch(transientFailure);
    const left = (end - process.uptime()) * 1000;
    const isFailing = result instanceof WheelStoreError;
    if (isFailing && left <= 0) throw result;
    if (!isFailing && (left <= 0 || isComplete(result))) return result;
    if (isFailing !== wasFailing) onWait(isFailing ? result : undefined);
    wasFailing = isFailing;
    await delay(Math.min(pause, left), undefined, { signal });
  }
}

function transientFailure(error: unknown): WheelStoreError {
  if (error instanceof WheelStoreError && isTransient(error)) return error;
  throw error;
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

/** Describes a query, as part of a sentence: targets, commit, runs and prefix. */
export function describeQuery({ place, commitLabel = '', targets, only, trust }: Query): string {
  const what =
    targets === '*'
      ? 'any target'
      : targets.map((name) => (name === '' ? 'a wheel without a target' : `target ${name}`)).join(', ');
  const { run = 'any', attempt } = only;
  const runs = run === 'any' ? 'from any run' : `from run ${run}`;
  const hash = trust.sha256.length === 0 ? '' : ` with SHA-256 ${trust.sha256.join(' or ')}`;
  const oneAttempt = attempt === undefined ? '' : `, attempt ${attempt}`;
  const prefix = place.prefix === '' ? 'without a prefix' : `under the prefix ${place.prefix}`;
  const commit = commitLabel === '' ? `commit ${shortCommit(place.commit)}` : commitLabel;
  return `${what}${hash} of ${commit}, ${runs}${oneAttempt}, ${prefix}`;
}
