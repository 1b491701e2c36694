/**
 * Builds and parses keys; no other module does. Pure functions, independent of S3 and GitHub.
 *
 *     {prefix}/{commit}/{run}_{attempt}/{wheel}            a slot without a target
 *     {prefix}/{commit}/{run}_{attempt}/{target}/{wheel}   a slot with a target
 *     {prefix}/{commit}/{run}_{attempt}/sdist/{sdist}      the slot of the source distribution
 *     {slot}/.{sha256}.{id}.claim                          a marker in a slot: a claim
 *     {slot}/.{sha256}.{id}.removing                       a marker in a slot: a removal marker
 *     {prefix}/{commit}/{wheel}                            the old flat layout: read but never written
 *     {prefix}/{commit}/index.html                         the commit's index page
 *     {prefix}/{commit}/{project}/index.html               the same, for one project
 *
 *     {channels}/{channel}/{project}/{commit}/{wheel}            a wheel in a channel
 *     {channels}/{channel}/{project}/{commit}/{wheel}.metadata   its core metadata (PEP 658)
 *     {channels}/{channel}/index.html                            the channel's page, also under the folder's own key
 *     {channels}/{channel}/{project}/index.html                  the project's page, likewise
 *     {channels}/{channel}/.{id}.publishing                      a step publishes to the channel
 *     {channels}/{channel}/.{id}.removing                        a step removes wheels from the channel
 */
import { WheelStoreError } from '../errors.ts';
import { quote } from '../untrusted/quote.ts';
import { readWheelFilename, type WheelName, wheelNameFault } from '../wheel/filename.ts';
import { readSdistFilename } from '../wheel/sdist-filename.ts';

/** The folder for all wheels of one commit. */
export interface CommitPlace {
  /** Normalised by {@link normalisePrefix}: no slash at either end. May be empty. */
  readonly prefix: string;
  /** 40 or 64 lower-case hex digits. */
  readonly commit: string;
}

/** The folder for one wheel. */
export interface Slot extends CommitPlace {
  /** `GITHUB_RUN_ID`, decimal. */
  readonly run: string;
  /** `GITHUB_RUN_ATTEMPT`, decimal. */
  readonly attempt: string;
  /** The name of one wheel of a matrix; empty for the only wheel. */
  readonly target: string;
}

/** A wheel as described by its key. */
export interface PlacedWheel {
  readonly key: string;
  readonly name: WheelName;
  readonly target: string;
  /** undefined in the old flat layout, which doesn't record the run. */
  readonly run: string | undefined;
  /** undefined in the old flat layout. */
  readonly attempt: string | undefined;
}

/** The folder for all wheels of one channel. */
export interface ChannelPlace {
  /** Normalised by {@link normalisePrefix}. May be empty. */
  readonly channels: string;
  /** As {@link isChannel} accepts it. */
  readonly channel: string;
}

/** A wheel or sdist in a channel, as described by its key. */
export interface ChannelFile {
  readonly key: string;
  readonly commit: string;
  readonly name: WheelName;
}

/** What a key in a channel stands for. */
export type ChannelEntry =
  | ({ readonly kind: 'file' } & ChannelFile)
  /** `of` is the key of the wheel. */
  | { readonly kind: 'metadata'; readonly key: string; readonly of: string }
  | ({ readonly kind: 'marker' } & ChannelMarker);

/** An empty object that says what the step with this id does in a channel. */
export interface ChannelMarker {
  readonly key: string;
  readonly id: string;
  readonly action: 'publishing' | 'removing';
}

/** A page lies under two keys: S3 serves a folder's URL only from a key that ends in a slash. */
export interface PageKeys {
  /** `…/index.html` */
  readonly file: string;
  /** The same without `index.html`. */
  readonly folder: string;
}

/** The target of the source distribution. No wheel has it. */
export const SDIST_TARGET = 'sdist';
/** An empty object in a slot that says what the step with this put id does with a wheel. */
export interface SlotMarker {
  readonly key: string;
  /** Of the wheel, lower-case hex. */
  readonly sha256: string;
  readonly putId: string;
  /** `claim`: the step puts the wheel or relies on it. `removing`: the step is about to remove it. */
  readonly kind: 'claim' | 'removing';
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const TARGET = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/;
const DECIMAL = /^(?:0|[1-9][0-9]{0,18})$/;
const RUN_AND_ATTEMPT = /^([0-9]+)_([0-9]+)$/;
const CHANNEL = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const CHANNEL_MARKER = /^\.([0-9a-f-]{36})\.(publishing|removing)$/;
/** PEP 658, "Specification": the file's URL with this at the end. */
const METADATA_SUFFIX = '.metadata';
const MARKER = /\/\.([0-9a-f]{64})\.([0-9a-f-]{36})\.(claim|removing)$/;
/** GitHub's ids are signed 64-bit integers. A key with a larger one would remain the commit's newest forever. */
const MAX_ID = 2n ** 63n - 1n;
// biome-ignore lint/suspicious/noControlCharactersInRegex: this has to match control characters
const NOT_IN_A_KEY = /[\u0000-\u001f\u007f\\]/;

/** The defaults of the inputs that are prefixes. */
const DEFAULTS = { prefix: 'builds', channels: 'channels' };

/** Whether `text` is a full commit hash, SHA-1 or SHA-256, as git prints it. */
export function isCommit(text: string): boolean {
  return COMMIT.test(text);
}

/** Whether `text` is a valid target: one key segment in which only `+` has to be encoded. */
export function isTarget(text: string): boolean {
  return TARGET.test(text);
}

/** Whether `text` is a run id or attempt as GitHub writes it: decimal, no leading zeros, below 2^63. */
export function isDecimal(text: string): boolean {
  return DECIMAL.test(text) && BigInt(text) <= MAX_ID;
}

/** Whether `text` is a valid name for a channel. One that looks like a commit is not: it would be a mistake. */
export function isChannel(text: string): boolean {
  return CHANNEL.test(text) && !isCommit(text);
}

/** Compares runs or attempts as numbers, undefined first. Negative if `a` comes first. */
export function compareDecimals(a = '', b = ''): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/**
 * Removes surplus slashes from a prefix: `/builds//x/` becomes `builds/x`, and `/` becomes empty.
 *
 * @param input - the name of the input, for the error
 * @throws WheelStoreError if there are `.` or `..` segments, control characters or backslashes, because URLs can't
 *   contain such keys
 */
export function normalisePrefix(text: string, input: 'prefix' | 'channels' = 'prefix'): string {
  const segments = text.split('/').filter((segment) => segment !== '');
  if (NOT_IN_A_KEY.test(text) || segments.some((segment) => segment === '.' || segment === '..')) {
    throw new WheelStoreError({
      title: 'Invalid prefix',
      reason: `The input '${input}' is ${JSON.stringify(text)}, which holds a '.' or '..' segment, a backslash or a control character.`,
      remedy: `Use plain segments such as '${DEFAULTS[input]}' or 'team/${DEFAULTS[input]}'${input === 'prefix' ? ', or leave it empty' : ''}.`,
    });
  }
  return segments.join('/');
}

/** The first 7 digits, for messages. The log has the full hash. */
export function shortCommit(commit: string): string {
  return commit.slice(0, 7);
}

/** The key prefix of everything that is stored for a commit. It ends in a slash. */
export function commitFolder({ prefix, commit }: CommitPlace): string {
  return prefix === '' ? `${commit}/` : `${prefix}/${commit}/`;
}

/** The key prefix of a slot. It ends in a slash. */
export function slotFolder(slot: Slot): string {
  const run = `${commitFolder(slot)}${slot.run}_${slot.attempt}/`;
  return slot.target === '' ? run : `${run}${slot.target}/`;
}

/** The key of a wheel in its slot. The filename is not encoded, not even a `+`. */
export function wheelKey(slot: Slot, filename: string): string {
  return `${slotFolder(slot)}${filename}`;
}

/** The key of the marker of the step with this put id, for the wheel with this SHA-256. */
export function markerKey(slot: Slot, sha256: string, putId: string, kind: SlotMarker['kind']): string {
  return `${slotFolder(slot)}.${sha256}.${putId}.${kind}`;
}

/** @returns undefined if it is not the key of a marker */
export function readSlotMarker(key: string): SlotMarker | undefined {
  const [, sha256, putId, kind] = MARKER.exec(key) ?? [];
  if (sha256 === undefined || putId === undefined) return undefined;
  return { key, sha256, putId, kind: kind as SlotMarker['kind'] };
}

/**
 * The key of the commit's index page, or of the page for one project (PEP 503: `/{project}/`).
 *
 * @param project - normalised
 */
export function indexKey(place: CommitPlace, project?: string): string {
  return `${commitFolder(place)}${project === undefined ? '' : `${project}/`}index.html`;
}

/**
 * Parses a key below {@link commitFolder}.
 *
 * @returns undefined if it is not the key of a wheel in this layout: index pages, other files, invalid wheel filenames,
 *   and runs with leading zeros or an id from 2^63 on
 */
export function readWheelKey(place: CommitPlace, key: string): PlacedWheel | undefined {
  const folder = commitFolder(place);
  if (!key.startsWith(folder)) return undefined;
  const segments = key.slice(folder.length).split('/');
  const name = segments.length <= 3 ? readFilename(segments) : undefined;
  if (name === undefined) return undefined;
  if (segments.length === 1) return { key, name, target: '', run: undefined, attempt: undefined };
  const [, run, attempt] = RUN_AND_ATTEMPT.exec(segments[0]!) ?? [];
  const target = segments.length === 3 ? segments[1]! : '';
  if (run === undefined || attempt === undefined || !isDecimal(run) || !isDecimal(attempt)) return undefined;
  if (segments.length === 3 && !isTarget(target)) return undefined;
  return { key, name, target, run, attempt };
}

function readFilename(segments: readonly string[]): WheelName | undefined {
  const filename = segments.at(-1)!;
  const isSdist = segments.length === 3 && segments[1] === SDIST_TARGET;
  return isSdist ? readSdistFilename(filename) : readWheelFilename(filename);
}

/**
 * Why a key that looks like that of a wheel is not valid.
 *
 * @returns the end of a sentence; undefined if the key is valid, or doesn't look like that of a wheel
 */
export function wheelKeyFault(place: CommitPlace, key: string): string | undefined {
  const segments = key.slice(commitFolder(place).length).split('/');
  const fault = segments.length <= 3 ? wheelNameFault(segments.at(-1)!) : undefined;
  if (fault !== undefined) return `its name is not a wheel filename, because ${fault}`;
  const isWheel = segments.length === 2 || segments.length === 3;
  if (!isWheel || readWheelFilename(segments.at(-1)!) === undefined) return undefined;
  const [, run, attempt] = RUN_AND_ATTEMPT.exec(segments[0]!) ?? [];
  if (run === undefined || attempt === undefined || (isDecimal(run) && isDecimal(attempt))) return undefined;
  return `${quote(segments[0]!)} is not a valid run id and attempt`;
}

/** The key prefix of a channel. It ends in a slash. */
export function channelFolder({ channels, channel }: ChannelPlace): string {
  return channels === '' ? `${channel}/` : `${channels}/${channel}/`;
}

/** The key of a wheel in a channel. What a URL serves never changes, so the commit is a part of it. */
export function channelKey(place: ChannelPlace, commit: string, { project, filename }: WheelName): string {
  return `${channelFolder(place)}${project}/${commit}/${filename}`;
}

/** The key of a wheel's core metadata. */
export function metadataKey(wheel: string): string {
  return `${wheel}${METADATA_SUFFIX}`;
}

/**
 * The keys of the channel's page, or of the page of one project.
 *
 * @param project - normalised
 */
export function pageKeys(place: ChannelPlace, project?: string): PageKeys {
  const folder = `${channelFolder(place)}${project === undefined ? '' : `${project}/`}`;
  return { file: `${folder}index.html`, folder };
}

/** The key of a channel's marker of the step with this id. */
export function channelMarkerKey(place: ChannelPlace, id: string, action: ChannelMarker['action']): string {
  return `${channelFolder(place)}.${id}.${action}`;
}

/**
 * Parses a key below {@link channelFolder}.
 *
 * @returns undefined if it is neither a wheel's, an sdist's, nor one that belongs to those
 */
export function readChannelKey(place: ChannelPlace, key: string): ChannelEntry | undefined {
  const folder = channelFolder(place);
  if (!key.startsWith(folder)) return undefined;
  const [project = '', commit, filename, ...more] = key.slice(folder.length).split('/');
  const [, id, action] = CHANNEL_MARKER.exec(project) ?? [];
  if (id !== undefined && commit === undefined) {
    return { kind: 'marker', key, id, action: action as ChannelMarker['action'] };
  }
  if (commit === undefined || !isCommit(commit) || filename === undefined || more.length > 0)
    return undefined;
  if (filename.endsWith(METADATA_SUFFIX)) {
    return { kind: 'metadata', key, of: key.slice(0, -METADATA_SUFFIX.length) };
  }
  const name = readWheelFilename(filename) ?? readSdistFilename(filename);
  return name?.project === project ? { kind: 'file', key, commit, name } : undefined;
}
