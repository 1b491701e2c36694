/** Lists what is stored for a commit, by target, run and attempt. */
import type { Bucket } from '../bucket/bucket.ts';
import { type ListedObject, listObjects } from '../bucket/objects.ts';
import type { Title } from '../errors.ts';
import { firstOf, quote } from '../untrusted/quote.ts';
import { isSameVersion, type Version } from '../wheel/version.ts';
import {
  type CommitPlace,
  commitFolder,
  compareDecimals,
  indexKey,
  type PlacedWheel,
  readWheelKey,
  wheelKeyFault,
} from './layout.ts';

/** Which of a commit's wheels to select. */
export interface Selection {
  /** Names of targets ('' for the wheel without one), or `*` for all stored targets. */
  readonly targets: readonly string[] | '*';
  /** Normalised names; empty: all. */
  readonly projects: readonly string[];
  /** As {@link isSameVersion} compares it; undefined: any. */
  readonly version: Version | undefined;
  /** Select only wheels of this run, and of this attempt; undefined: any. */
  readonly only: { readonly run?: string; readonly attempt?: string };
}

/** A wheel as listed, without its metadata, which takes another request. */
export type ListedWheel = PlacedWheel & Omit<ListedObject, 'key'>;

/** A warning to show with the result. */
export interface LookUpWarning {
  readonly title: Title;
  readonly text: string;
}

/** What is stored for a commit, according to its keys. */
export interface CommitListing {
  /**
   * For each target, in the order of their names, the wheels of each slot, newest slot first. The last entry of a target
   * may have several wheels: those of the old flat layout.
   */
  readonly byTarget: ReadonlyMap<string, readonly (readonly ListedWheel[])[]>;
  /** The projects of all wheels of the commit, also of those that are not selected. */
  readonly commitProjects: ReadonlySet<string>;
  /** Whether the commit has an index page. */
  readonly hasIndex: boolean;
  /** Of wheels that would be selected, but have another version; at most a few. */
  readonly otherVersions: readonly string[];
  /** About ignored keys: invalid ones that look like those of wheels, and slots with several wheels. */
  readonly warnings: readonly LookUpWarning[];
}

/** How many keys to list in a warning, and for how many invalid keys to warn. */
const MAX_NAMED = 5;
/** Selects all wheels. */
export const EVERYTHING: Selection = { targets: '*', projects: [], version: undefined, only: {} };

/**
 * Lists a commit.
 *
 * @param selection - other wheels are left out, without a warning
 * @throws WheelStoreError if the store doesn't respond as S3 does
 */
export async function listCommit(
  bucket: Bucket,
  place: CommitPlace,
  signal: AbortSignal,
  selection = EVERYTHING,
): Promise<CommitListing> {
  const index = indexKey(place);
  const misnamed: LookUpWarning[] = [];
  let count = 0;
  // There may be thousands of other keys, so don't keep them, and warn only about a few.
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
  const { warnings, ...ranked } = rank(objects, place, selection);
  const hasIndex = objects.some(({ key }) => key === index);
  return { ...ranked, hasIndex, warnings: [...misnamed, ...warnings] };
}

/** The newest wheel of a target; undefined if there is none, or if it is unclear which of several it is. */
export function newestWheel({ byTarget }: CommitListing, target: string): ListedWheel | undefined {
  const [newest = []] = byTarget.get(target) ?? [];
  return newest.length === 1 ? newest[0] : undefined;
}

/**
 * Sorts objects by run, then by attempt, as numbers, highest first; the old flat layout comes last. Ignores empty
 * objects and, with a warning, slots with several wheels.
 */
export function rank(
  objects: readonly ListedObject[],
  place: CommitPlace,
  selection: Selection,
): Omit<CommitListing, 'hasIndex'> {
  const wheels = objects.flatMap((object) => readListed(object, place) ?? []);
  const targets = Map.groupBy(
    wheels.filter((wheel) => isInScope(wheel, selection)),
    ({ target }) => target,
  );
  const warnings: LookUpWarning[] = [];
  const otherVersions = new Set<string>();
  const isSelected = ({ name }: ListedWheel) => {
    if (!isOfProject(name.project, selection)) return false;
    const isRight = selection.version === undefined || isSameVersion(name.version, selection.version);
    if (!isRight && otherVersions.size < MAX_NAMED) otherVersions.add(name.version.text);
    return isRight;
  };
  const byTarget = new Map<string, ListedWheel[][]>();
  for (const target of [...targets.keys()].sort()) {
    const slots = slotsOf(targets.get(target)!);
    for (const [index, slot] of slots.entries()) {
      if (!isUnambiguous(slot)) warnings.push(ambiguousSlot(slot, slots.slice(index).find(isUnambiguous)));
    }
    // Only now: a second wheel in a slot makes it ambiguous, whatever its project and version.
    const selected = slots.filter(isUnambiguous).map((slot) => slot.filter(isSelected));
    const filled = selected.filter((slot) => slot.length > 0);
    if (filled.length > 0) byTarget.set(target, filled);
  }
  const commitProjects = new Set(wheels.map(({ name }) => name.project));
  return { byTarget, commitProjects, otherVersions: [...otherVersions].sort(), warnings };
}

function isOfProject(project: string, { projects }: Selection): boolean {
  return projects.length === 0 || projects.includes(project);
}

function readListed({ key, ...object }: ListedObject, place: CommitPlace): ListedWheel | undefined {
  const placed = object.size === 0 ? undefined : readWheelKey(place, key);
  return placed === undefined ? undefined : { ...placed, ...object };
}

function isInScope({ target, run, attempt }: PlacedWheel, { targets, only }: Selection): boolean {
  if (targets !== '*' && !targets.includes(target)) return false;
  const { run: onlyRun = run, attempt: onlyAttempt = attempt } = only;
  return run === onlyRun && attempt === onlyAttempt;
}

/** The wheels of each slot, newest slot first. */
function slotsOf(wheels: readonly ListedWheel[]): ListedWheel[][] {
  const slots = Map.groupBy(wheels, ({ run, attempt }) => `${run}_${attempt}`);
  return [...slots.values()].sort(([a], [b]) => newestFirst(a!, b!));
}

function newestFirst(a: ListedWheel, b: ListedWheel): number {
  return compareDecimals(b.run, a.run) || compareDecimals(b.attempt, a.attempt);
}

/** Whether it is clear which wheel is meant. Several in the old flat layout are left to the look-up. */
function isUnambiguous(slot: readonly ListedWheel[]): boolean {
  return slot.length === 1 || slot[0]!.run === undefined;
}

function ambiguousSlot(
  slot: readonly ListedWheel[],
  older: readonly ListedWheel[] | undefined,
): LookUpWarning {
  const names = slot.map(({ key }) => key);
  const instead = older === undefined ? 'There is no older one' : `The next older one is ${older[0]!.key}`;
  return {
    title: 'Slot with two wheels',
    text: `Ignored a slot with ${slot.length} wheels, because it is unclear which one is meant: ${firstOf(names, MAX_NAMED, ' and ')}. ${instead}.`,
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
    text: `Ignored ${count} more keys below ${bucket.uri(commitFolder(place))} that look like those of wheels but are invalid.`,
  };
}
