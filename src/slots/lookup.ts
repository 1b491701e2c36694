/** Which of the stored wheels answers a question: per target the newest, by run and attempt. */
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

/** What is looked up. */
export interface Query extends Selection {
  readonly place: CommitPlace;
  readonly trust: Trust;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 10_000;

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
  const listing = await listCommit(bucket, query.place, signal, query);
  const reader = readerOf(bucket, query.place, query.trust, signal);
  const chosen =
    interpreter === undefined
      ? await newestOfEach(bucket, query, listing, reader)
      : await bestOfAll(query, listing, reader, interpreter);
  return { ...chosen, hasIndex: listing.hasIndex, warnings: [...listing.warnings, ...reader.warnings] };
}

type Choice = Pick<Answer, 'wheels' | 'missing' | 'unfit'>;

async function newestOfEach(
  bucket: Bucket,
  query: Query,
  { byTarget }: CommitListing,
  reader: WheelReader,
): Promise<Choice> {
  const found = await Promise.all([...byTarget.values()].map((slots) => newestUsable(bucket, slots, reader)));
  const wheels = found.filter((wheel) => wheel !== undefined);
  const stored = new Set(wheels.map(({ target }) => target));
  return { wheels, missing: missingOf(query, stored), unfit: [] };
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
  if (best !== undefined) return { wheels: [best], missing, unfit: [] };
  return { wheels: [], missing, unfit: newestOf(byTarget).map(({ name }) => name.filename) };
}

/** A wheel that must not be used makes room for an older one of its target; one that does not fit does not. */
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

/** All of a commit that an index page or a comment shows. */
export interface ShownCommit {
  /** The newest of each target, in the order of the targets' names; of the old flat layout all. */
  readonly wheels: readonly StoredWheel[];
  readonly hasIndex: boolean;
}

/**
 * Reads what an index page or a comment shows: one listing, then one head per wheel that is not in `known` yet.
 *
 * @param known - wheels by key; what is stored at a key never changes, so one head serves all later calls
 * @throws WheelStoreError when the store does not answer
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
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, MAX_PAUSE_MS)) {
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

function ambiguous(bucket: Bucket, wheels: readonly ListedWheel[]): WheelStoreError {
  const names = wheels.map(({ name }) => name.filename).join(', ');
  const folder = wheels[0]!.key.slice(0, wheels[0]!.key.lastIndexOf('/'));
  return new WheelStoreError({
    title: 'Several wheels in the old flat layout',
    reason: `${bucket.uri(folder)} holds ${wheels.length} wheels side by side: ${names}.`,
    remedy: "Select one with for-python, such as 'for-python: python3'.",
  });
}

/** What was looked for, as a sentence's part: targets, commit, which runs count, and the prefix. */
export function describeQuery({ place, targets, only, trust }: Query): string {
  const what =
    targets === '*'
      ? 'any target'
      : targets.map((name) => (name === '' ? 'a wheel without a target' : `target ${name}`)).join(', ');
  const { run = 'any', attempt } = only;
  const runs = run === 'any' ? 'from any run' : `from run ${run}`;
  const hash = trust.sha256.length === 0 ? '' : ` with SHA-256 ${trust.sha256.join(' or ')}`;
  const oneAttempt = attempt === undefined ? '' : `, attempt ${attempt}`;
  const prefix = place.prefix === '' ? 'without a prefix' : `under the prefix ${place.prefix}`;
  return `${what}${hash} of commit ${shortCommit(place.commit)}, ${runs}${oneAttempt}, ${prefix}`;
}
