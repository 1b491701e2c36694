/** Which of the stored wheels answers a question: per target the newest, by run and attempt. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../bucket/bucket.ts';
import { isTransient } from '../bucket/failures.ts';
import {
  hashObject,
  headObject,
  type ListedObject,
  listObjects,
  type ObjectHead,
} from '../bucket/objects.ts';
import { type Title, WheelStoreError } from '../errors.ts';
import { firstOf, quote } from '../untrusted/quote.ts';
import type { Interpreter } from '../wheel/interpreter.ts';
import { allowsPython, rankWheels } from '../wheel/pick.ts';
import {
  type CommitPlace,
  commitFolder,
  indexKey,
  type PlacedWheel,
  readWheelKey,
  shortCommit,
  wheelKeyFault,
} from './layout.ts';
import { reasonToIgnore, storedSha256, type Trust } from './trust.ts';

/** What is looked up. */
export interface Query {
  readonly place: CommitPlace;
  /** Names of targets ('' is the wheel without one), or `*` for every target that is stored. */
  readonly targets: readonly string[] | '*';
  /** The only run, and the only attempt of it, that may answer; undefined: any. */
  readonly only: { readonly run?: string; readonly attempt?: string };
  readonly trust: Trust;
}

/** A wheel in the store. */
export interface StoredWheel extends PlacedWheel {
  /** Bytes. */
  readonly size: number;
  readonly etag: string;
  /** Lower-case hex; empty when whoever stored it noted none (the old layout). */
  readonly sha256: string;
  readonly requiresPython: string | undefined;
}

/** A wheel's key and size as listed; its metadata is not read yet. */
export type ListedWheel = PlacedWheel & Pick<ListedObject, 'size' | 'etag'>;

/** One slot, or the flat folder: the wheels in it. */
interface Group {
  readonly run: string;
  readonly attempt: string;
  readonly wheels: ListedWheel[];
}

/** What a reader should learn besides the answer. */
export interface LookUpWarning {
  readonly title: Title;
  readonly text: string;
}

/** Wheels of one target that may be ignored before the look-up gives up: each costs a request. */
const MAX_IGNORED = 50;
/** Keys that one warning names. */
const MAX_NAMED = 5;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

/** What a listing says, per target: the wheels that could answer, best first. */
export interface Ranking {
  /** Newest first. The last entry may hold several wheels: those of the old flat layout. */
  readonly byTarget: ReadonlyMap<string, readonly (readonly ListedWheel[])[]>;
  readonly warnings: readonly LookUpWarning[];
}

/**
 * Sorts a listing: highest run first, then highest attempt, as numbers; the old flat layout last. Objects of
 * no bytes are no wheels. A slot that somebody else filled with two wheels is passed over with a warning.
 */
export function rank(objects: readonly ListedObject[], query: Omit<Query, 'trust'>): Ranking {
  const groups = new Map<string, Map<string, Group>>();
  for (const { key, size, etag } of objects) {
    const placed = size === 0 ? undefined : readWheelKey(query.place, key);
    if (placed === undefined || !isAskedFor(placed, query)) continue;
    const ofTarget = groups.get(placed.target) ?? new Map<string, Group>();
    groups.set(placed.target, ofTarget);
    const id = `${placed.run}_${placed.attempt}`;
    const group = ofTarget.get(id) ?? { run: placed.run, attempt: placed.attempt, wheels: [] };
    ofTarget.set(id, group);
    group.wheels.push({ ...placed, size, etag });
  }
  const warnings: LookUpWarning[] = [];
  const byTarget = new Map<string, ListedWheel[][]>();
  for (const target of [...groups.keys()].sort()) {
    const sorted = [...groups.get(target)!.values()].sort(newestFirst);
    const usable = sorted.filter((group) => group.run === '' || group.wheels.length === 1);
    for (const [index, group] of sorted.entries()) {
      if (!usable.includes(group)) warnings.push(crowded(group, sorted.slice(index).find(isIn(usable))));
    }
    if (usable.length > 0)
      byTarget.set(
        target,
        usable.map(({ wheels }) => wheels),
      );
  }
  return { byTarget, warnings };
}

function isAskedFor({ target, run, attempt }: PlacedWheel, query: Omit<Query, 'trust'>): boolean {
  if (query.targets !== '*' && !query.targets.includes(target)) return false;
  const { run: onlyRun = run, attempt: onlyAttempt = attempt } = query.only;
  return run === onlyRun && attempt === onlyAttempt;
}

function newestFirst(a: Group, b: Group): number {
  return compareDecimals(b.run, a.run) || compareDecimals(b.attempt, a.attempt);
}

/** Orders canonical decimals of any length, '' before all of them; negative when `a` comes first. */
export function compareDecimals(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function isIn(groups: readonly Group[]): (group: Group) => boolean {
  return (group) => groups.includes(group);
}

function crowded({ wheels }: Group, older: Group | undefined): LookUpWarning {
  const names = wheels.map(({ key }) => key);
  const instead =
    older === undefined ? 'There is no older one' : `The next older one is ${older.wheels[0]!.key}`;
  return {
    title: 'Slot with two wheels',
    text: `Ignored a slot with ${wheels.length} wheels, because it is not clear which one is meant: ${firstOf(names, MAX_NAMED, ' and ')}. ${instead}.`,
  };
}

/** How an answer came about. */
export interface Answer {
  /** At most one wheel per target, in the order of the targets' names; with an interpreter at most one. */
  readonly wheels: readonly StoredWheel[];
  /** Names of targets that were asked for and are not stored, in the order in which they were asked for. */
  readonly missing: readonly string[];
  /** Wheels that are stored, but that the interpreter cannot install. */
  readonly unfit: readonly string[];
  /** Whether the commit has an index page. */
  readonly hasIndex: boolean;
  readonly warnings: readonly LookUpWarning[];
}

/**
 * Looks a commit up: one listing, then one head per wheel that answers. What was deleted between the two
 * (a life-cycle rule) counts as not stored.
 *
 * @param interpreter - of all wheels that are found, the one that it would install answers
 * @throws WheelStoreError when the store does not answer, which is never the same as 'not stored'; and when
 *   the flat folder holds several wheels and nothing says which is wanted
 */
export async function lookUp(
  bucket: Bucket,
  query: Query,
  signal: AbortSignal,
  interpreter?: Interpreter,
): Promise<Answer> {
  const { objects, misnamed } = await listPlace(bucket, query.place, signal);
  const { byTarget, warnings: crowded } = rank(objects, query);
  const hasIndex = objects.some(({ key }) => key === indexKey(query.place));
  const reader = readerOf(bucket, query, signal);
  if (interpreter !== undefined) {
    const best = await bestUsable(byTarget, interpreter, reader);
    const wheels = best === undefined ? [] : [best];
    const unfit = best === undefined ? newestOf(byTarget).map(({ name }) => name.filename) : [];
    const warnings = [...misnamed, ...crowded, ...reader.warnings];
    return { wheels, missing: missingOf(query, byTarget), unfit, hasIndex, warnings };
  }
  const found = await Promise.all(
    [...byTarget.values()].map((groups) => newestUsable(bucket, groups, reader)),
  );
  const wheels = found.filter((wheel) => wheel !== undefined);
  const stored = new Map(wheels.map((wheel) => [wheel.target, wheel]));
  const warnings = [...misnamed, ...crowded, ...reader.warnings];
  return { wheels, missing: missingOf(query, stored), unfit: [], hasIndex, warnings };
}

/** Keys that nobody else writes are listed by their thousands; of those that are passed over, some are held. */
async function listPlace(
  bucket: Bucket,
  place: CommitPlace,
  signal: AbortSignal,
): Promise<{ objects: ListedObject[]; misnamed: LookUpWarning[] }> {
  const index = indexKey(place);
  const misnamed: LookUpWarning[] = [];
  let count = 0;
  const keep = (key: string) => {
    if (key === index || readWheelKey(place, key) !== undefined) return true;
    const fault = wheelKeyFault(place, key);
    if (fault === undefined) return false;
    count += 1;
    if (count <= MAX_NAMED) misnamed.push(misnamedWarning(bucket, key, fault));
    return false;
  };
  const objects = await listObjects(bucket, commitFolder(place), { signal, keep });
  if (count > MAX_NAMED) misnamed.push(moreMisnamed(bucket, place, count - MAX_NAMED));
  return { objects, misnamed };
}

function newestOf(byTarget: Ranking['byTarget']): ListedWheel[] {
  return [...byTarget.values()].flatMap(([newest = []]) => newest);
}

/** Reads what is stored with each wheel, and collects what is to be said of those that it ignores. */
interface WheelReader {
  /** @returns undefined if the wheel is gone, or must not be used */
  read(wheel: ListedWheel): Promise<StoredWheel | undefined>;
  readonly warnings: readonly LookUpWarning[];
}

function readerOf(
  bucket: Bucket,
  { place, trust }: Query,
  signal: AbortSignal,
  known = new Map<string, StoredWheel>(),
): WheelReader {
  const warnings: LookUpWarning[] = [];
  const ignored = new Map<string, number>();
  return {
    warnings,
    async read(wheel) {
      const before = known.get(wheel.key);
      if (before !== undefined) return before;
      const head = await headObject(bucket, wheel.key, signal);
      if (head === undefined) return undefined;
      const stored = withHead(wheel, head);
      // Only a reader who names a hash pays for reading an object that has none with it.
      const sha256 =
        stored.sha256 === '' && trust.sha256.length > 0
          ? await hashObject(bucket, head, signal)
          : stored.sha256;
      const reason = reasonToIgnore(wheel, place.commit, head.metadata, sha256, trust);
      if (reason !== undefined) {
        const count = (ignored.get(wheel.target) ?? 0) + 1;
        ignored.set(wheel.target, count);
        if (count > MAX_IGNORED) throw tooManyIgnored(bucket, place);
        warnings.push(ignoredWarning(bucket, wheel, reason));
        return undefined;
      }
      if (sha256 === '' && wheel.run !== '') warnings.push(unvouched(bucket, wheel));
      const usable = { ...stored, sha256 };
      known.set(wheel.key, usable);
      return usable;
    },
  };
}

function ignoredWarning(bucket: Bucket, { key }: ListedWheel, reason: string): LookUpWarning {
  return {
    title: 'Stored wheel ignored',
    text: `Ignored ${bucket.uri(key)}: ${reason}.`,
  };
}

function misnamedWarning(bucket: Bucket, key: string, fault: string): LookUpWarning {
  return {
    title: 'Stored wheel ignored',
    text: `Ignored ${quote(key)} in the bucket ${bucket.settings.name}: ${fault}.`,
  };
}

function moreMisnamed(bucket: Bucket, place: CommitPlace, count: number): LookUpWarning {
  return {
    title: 'Stored wheel ignored',
    text: `Ignored ${count} more whose names are not a wheel's below ${bucket.uri(commitFolder(place))}.`,
  };
}

function unvouched(bucket: Bucket, { key }: ListedWheel): LookUpWarning {
  return {
    title: 'No stored SHA-256',
    text: `${bucket.uri(key)} has no SHA-256 in its metadata, so nothing vouches for its bytes: it was overwritten, or copied by a tool that drops metadata. Find out who can write to this prefix.`,
  };
}

function tooManyIgnored(bucket: Bucket, place: CommitPlace): WheelStoreError {
  return new WheelStoreError({
    title: 'Too many wheels ignored',
    reason: `More than ${MAX_IGNORED} wheels of one target below ${bucket.uri(commitFolder(place))} are not what their keys say, or not what was asked for.`,
    remedy: 'Find out what else writes to this prefix, and delete what it put there.',
  });
}

/** All of a commit that an index page or a comment shows. */
export interface CommitListing {
  /** The newest of each target, in the order of the targets' names; of the old flat layout all. */
  readonly wheels: readonly StoredWheel[];
  readonly hasIndex: boolean;
}

/**
 * Lists a commit: one listing, then one head per wheel that is not in `known` yet.
 *
 * @param known - wheels by key; what is stored at a key never changes, so one head serves all later calls
 * @throws WheelStoreError when the store does not answer
 */
export async function listCommit(
  bucket: Bucket,
  place: CommitPlace,
  trust: Trust,
  known: Map<string, StoredWheel>,
  signal: AbortSignal,
): Promise<CommitListing> {
  const { objects } = await listPlace(bucket, place, signal);
  const query: Query = { place, targets: '*', only: {}, trust };
  const reader = readerOf(bucket, query, signal, known);
  const newest = [...rank(objects, query).byTarget.values()].map(async (groups) => {
    for (const wheels of groups) {
      const read = await Promise.all(wheels.map((wheel) => reader.read(wheel)));
      const usable = read.filter((wheel) => wheel !== undefined);
      if (usable.length > 0) return usable;
    }
    return [];
  });
  const wheels = (await Promise.all(newest)).flat();
  return { wheels, hasIndex: objects.some(({ key }) => key === indexKey(place)) };
}

/**
 * The newest wheel of a target as a listing alone shows it.
 *
 * @returns undefined when there is none, or nothing says which of several it is
 */
export async function newestListed(
  bucket: Bucket,
  place: CommitPlace,
  target: string,
  signal: AbortSignal,
): Promise<ListedWheel | undefined> {
  const { objects } = await listPlace(bucket, place, signal);
  const [newest = []] = rank(objects, { place, targets: [target], only: {} }).byTarget.get(target) ?? [];
  return newest.length === 1 ? newest[0] : undefined;
}

/** Whether an answer is all that was asked for. */
export function isComplete({ wheels, missing }: Answer): boolean {
  return wheels.length > 0 && missing.length === 0;
}

/**
 * Looks again and again until all that was asked for is stored, or `seconds` are over. A store that does not answer
 * may do so in a while, unless it refuses.
 *
 * @param onWait - told before the first wait, and when a store stops or begins to answer: why it gives none, if it does
 * @throws WheelStoreError when the last look failed, or any for a reason that does not pass
 */
export async function lookUpUntil(
  seconds: number,
  onWait: (failure: WheelStoreError | undefined) => void,
  ...question: Parameters<typeof lookUp>
): Promise<Answer> {
  const [, , signal] = question;
  // Not performance.now(), which loads half a dozen of Node's modules.
  const end = process.uptime() + seconds;
  let wasFailing: boolean | undefined;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    const answer = await lookUp(...question).catch(transientFailure);
    const left = (end - process.uptime()) * 1000;
    const isFailing = answer instanceof WheelStoreError;
    if (isFailing && left <= 0) throw answer;
    if (!isFailing && (left <= 0 || isComplete(answer))) return answer;
    if (isFailing !== wasFailing) onWait(isFailing ? answer : undefined);
    wasFailing = isFailing;
    await delay(Math.min(pause, left), undefined, { signal });
  }
}

function transientFailure(error: unknown): WheelStoreError {
  if (error instanceof WheelStoreError && isTransient(error)) return error;
  throw error;
}

function missingOf({ targets }: Query, stored: ReadonlyMap<string, unknown>): string[] {
  return targets === '*' ? [] : targets.filter((target) => !stored.has(target));
}

async function newestUsable(
  bucket: Bucket,
  groups: readonly (readonly ListedWheel[])[],
  reader: WheelReader,
): Promise<StoredWheel | undefined> {
  for (const wheels of groups) {
    if (wheels.length > 1) throw ambiguous(bucket, wheels);
    const stored = await reader.read(wheels[0]!);
    if (stored !== undefined) return stored;
  }
  return undefined;
}

/** A wheel that must not be used makes room for an older one of its target; one that does not fit does not. */
async function bestUsable(
  byTarget: Ranking['byTarget'],
  interpreter: Interpreter,
  reader: WheelReader,
): Promise<StoredWheel | undefined> {
  const left = new Map([...byTarget].map(([target, groups]) => [target, [...groups]]));
  let ranked = rankWheels(newestOf(left), interpreter);
  for (let wheel = ranked.shift(); wheel !== undefined; wheel = ranked.shift()) {
    const stored = await reader.read(wheel);
    if (stored !== undefined && allowsPython(stored.requiresPython, interpreter)) return stored;
    if (stored !== undefined || wheel.run === '') continue;
    const older = left.get(wheel.target)!;
    older.shift();
    ranked = rankWheels([...ranked, ...(older[0] ?? [])], interpreter);
  }
  return undefined;
}

/** Joins what the key says with what the object's head says. */
export function withHead(wheel: PlacedWheel, { size, etag, metadata }: ObjectHead): StoredWheel {
  return {
    ...wheel,
    size,
    etag,
    sha256: storedSha256(metadata),
    requiresPython: metadata['requires-python'],
  };
}

function ambiguous(bucket: Bucket, wheels: readonly ListedWheel[]): WheelStoreError {
  const names = wheels.map(({ name }) => name.filename).join(', ');
  const folder = wheels[0]!.key.slice(0, wheels[0]!.key.lastIndexOf('/'));
  return new WheelStoreError({
    title: 'Several wheels in the old flat layout',
    reason: `${bucket.uri(folder)} holds ${wheels.length} wheels beside each other: ${names}.`,
    remedy: "Say which one is wanted with for-python, such as 'for-python: python3'.",
  });
}

/** What was looked for, as a sentence's part: targets, commit, which runs count, and the prefix. */
export function describeQuery({ place, targets, only, trust }: Query): string {
  const what =
    targets === '*'
      ? 'any target'
      : targets.map((name) => (name === '' ? 'a wheel without target' : `target ${name}`)).join(', ');
  const { run = 'any', attempt } = only;
  const runs = run === 'any' ? 'from any run' : `from run ${run}`;
  const hash = trust.sha256.length === 0 ? '' : ` with SHA-256 ${trust.sha256.join(' or ')}`;
  const oneAttempt = attempt === undefined ? '' : `, attempt ${attempt}`;
  const prefix = place.prefix === '' ? 'without a prefix' : `under the prefix ${place.prefix}`;
  return `${what}${hash} of commit ${shortCommit(place.commit)}, ${runs}${oneAttempt}, ${prefix}`;
}
