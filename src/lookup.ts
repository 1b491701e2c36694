/** Which of the stored wheels answers a question: per target the newest, by run and attempt. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from './bucket/client.ts';
import { headObject, type ListedObject, listObjects, type ObjectHead } from './bucket/objects.ts';
import { WheelStoreError } from './errors.ts';
import { type CommitPlace, commitFolder, indexKey, type PlacedWheel, readWheelKey } from './layout.ts';
import type { Interpreter } from './wheel/interpreter.ts';
import { allowsPython, rankWheels } from './wheel/pick.ts';

/** Which runs may answer: any of the commit, only this run, only this attempt. */
export type Scope = 'commit' | 'run' | 'attempt';

/** What is looked up. */
export interface Query {
  readonly place: CommitPlace;
  /** Names of targets ('' is the wheel without one), or `*` for every target that is stored. */
  readonly targets: readonly string[] | '*';
  readonly scope: Scope;
  /** This run and attempt, for the scopes `run` and `attempt`. */
  readonly run: string;
  readonly attempt: string;
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

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

/** What a listing says, per target: the wheels that could answer, best first. */
export interface Ranking {
  /** Newest first. The last entry may hold several wheels: those of the old flat layout. */
  readonly byTarget: ReadonlyMap<string, readonly (readonly ListedWheel[])[]>;
  readonly warnings: readonly string[];
}

/**
 * Sorts a listing: highest run first, then highest attempt, as numbers; the old flat layout last. Objects of
 * no bytes are no wheels. A slot that somebody else filled with two wheels is passed over with a warning.
 */
export function rank(objects: readonly ListedObject[], query: Query): Ranking {
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
  const warnings: string[] = [];
  const byTarget = new Map<string, ListedWheel[][]>();
  for (const target of [...groups.keys()].sort()) {
    const sorted = [...groups.get(target)!.values()].sort(newestFirst);
    const usable = sorted.filter((group) => group.run === '' || group.wheels.length === 1);
    for (const group of sorted) if (!usable.includes(group)) warnings.push(crowded(group));
    if (usable.length > 0)
      byTarget.set(
        target,
        usable.map(({ wheels }) => wheels),
      );
  }
  return { byTarget, warnings };
}

function isAskedFor({ target, run, attempt }: PlacedWheel, query: Query): boolean {
  if (query.targets !== '*' && !query.targets.includes(target)) return false;
  if (query.scope === 'commit') return true;
  return run === query.run && (query.scope === 'run' || attempt === query.attempt);
}

function newestFirst(a: Group, b: Group): number {
  return compareDecimals(b.run, a.run) || compareDecimals(b.attempt, a.attempt);
}

/** Orders canonical decimals of any length, '' before all of them; negative when `a` comes first. */
export function compareDecimals(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function crowded({ wheels }: Group): string {
  const names = wheels.map(({ key }) => key).join(' and ');
  return `Passed over a slot that holds ${wheels.length} wheels, which nobody can choose between: ${names}.`;
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
  readonly warnings: readonly string[];
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
  const objects = await listObjects(bucket, commitFolder(query.place), { signal });
  const { byTarget, warnings } = rank(objects, query);
  const hasIndex = objects.some(({ key }) => key === indexKey(query.place));
  if (interpreter !== undefined) {
    const candidates = [...byTarget.values()].flatMap(([newest = []]) => newest);
    const best = await bestStillThere(bucket, candidates, interpreter, signal);
    const wheels = best === undefined ? [] : [best];
    const unfit = best === undefined ? candidates.map(({ name }) => name.filename) : [];
    return { wheels, missing: missingOf(query, byTarget), unfit, hasIndex, warnings };
  }
  const found = await Promise.all(
    [...byTarget.values()].map((groups) => firstStillThere(bucket, groups, signal)),
  );
  const wheels = found.filter((wheel) => wheel !== undefined);
  const stored = new Map(wheels.map((wheel) => [wheel.target, wheel]));
  return { wheels, missing: missingOf(query, stored), unfit: [], hasIndex, warnings };
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
  const objects = await listObjects(bucket, commitFolder(place), { signal });
  const query: Query = { place, targets: [target], scope: 'commit', run: '', attempt: '' };
  const [newest = []] = rank(objects, query).byTarget.get(target) ?? [];
  return newest.length === 1 ? newest[0] : undefined;
}

/** Whether an answer is all that was asked for. */
export function isComplete({ wheels, missing }: Answer): boolean {
  return wheels.length > 0 && missing.length === 0;
}

/**
 * Looks again and again until all that was asked for is stored, or `seconds` are over.
 *
 * @param onWait - told once, before the first wait
 */
export async function lookUpUntil(
  seconds: number,
  onWait: () => void,
  ...question: Parameters<typeof lookUp>
): Promise<Answer> {
  const [, , signal] = question;
  // Not performance.now(), which loads half a dozen of Node's modules.
  const end = process.uptime() + seconds;
  let answer = await lookUp(...question);
  for (let pause = FIRST_PAUSE_MS; !isComplete(answer); pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    const left = (end - process.uptime()) * 1000;
    if (left <= 0) return answer;
    if (pause === FIRST_PAUSE_MS) onWait();
    await delay(Math.min(pause, left), undefined, { signal });
    answer = await lookUp(...question);
  }
  return answer;
}

function missingOf({ targets }: Query, stored: ReadonlyMap<string, unknown>): string[] {
  return targets === '*' ? [] : targets.filter((target) => !stored.has(target));
}

async function firstStillThere(
  bucket: Bucket,
  groups: readonly (readonly ListedWheel[])[],
  signal: AbortSignal,
): Promise<StoredWheel | undefined> {
  for (const wheels of groups) {
    if (wheels.length > 1) throw ambiguous(bucket, wheels);
    const head = await headObject(bucket, wheels[0]!.key, signal);
    if (head !== undefined) return withHead(wheels[0]!, head);
  }
  return undefined;
}

async function bestStillThere(
  bucket: Bucket,
  candidates: readonly ListedWheel[],
  interpreter: Interpreter,
  signal: AbortSignal,
): Promise<StoredWheel | undefined> {
  for (const wheel of rankWheels(candidates, interpreter)) {
    const head = await headObject(bucket, wheel.key, signal);
    if (head === undefined) continue;
    const stored = withHead(wheel, head);
    if (allowsPython(stored.requiresPython, interpreter)) return stored;
  }
  return undefined;
}

/** Joins what the key says with what the object's head says. */
export function withHead(wheel: PlacedWheel, { size, etag, metadata }: ObjectHead): StoredWheel {
  const { sha256 = '', 'requires-python': requiresPython } = metadata;
  return { ...wheel, size, etag, sha256: /^[0-9a-f]{64}$/.test(sha256) ? sha256 : '', requiresPython };
}

function ambiguous(bucket: Bucket, wheels: readonly ListedWheel[]): WheelStoreError {
  const names = wheels.map(({ name }) => name.filename).join(', ');
  const folder = wheels[0]!.key.slice(0, wheels[0]!.key.lastIndexOf('/'));
  return new WheelStoreError({
    title: 'Several wheels in the old flat layout',
    reason: `s3://${bucket.settings.name}/${folder} holds ${wheels.length} wheels beside each other: ${names}.`,
    remedy: "Say which one is wanted with for-python, such as 'for-python: python3'.",
  });
}

/** What was looked for, as a sentence's part: commit, targets and which runs count. */
export function describeQuery({ place, targets, scope, run, attempt }: Query): string {
  const what =
    targets === '*'
      ? 'any target'
      : targets.map((name) => (name === '' ? 'a wheel without target' : `target ${name}`)).join(', ');
  const runs = { commit: 'of any run', run: `of run ${run}`, attempt: `of run ${run}, attempt ${attempt}` }[
    scope
  ];
  return `${what} ${runs} below ${commitFolder(place)}`;
}
