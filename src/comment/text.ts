/** The comment on a pull request: how it is known again, what it says, what is to be done. Values in, values out. */
import { createHash } from 'node:crypto';
import { code, escapeCell } from '../runner/markdown.ts';
import { shellSafe } from '../runner/shell.ts';
import { readableSize } from '../sizes.ts';
import { compareDecimals, shortCommit } from '../slots/layout.ts';

/** The run whose work a comment shows: by it, comments are older or newer. */
export interface Stamp {
  readonly run: string;
  readonly attempt: string;
  readonly commit: string;
}

/** What the hidden first line of a comment says. */
export interface Marker extends Stamp {
  /** Whose comment it is: see {@link commentKey}. */
  readonly key: string;
  /** The step that created the comment, so that it takes away its own and nobody else's. */
  readonly by: string;
}

/** A comment of a pull request that carries a marker. */
export interface MarkedComment {
  readonly id: number;
  readonly body: string;
  readonly marker: Marker;
}

/** A stored wheel as the comment shows it. */
export interface CommentEntry {
  readonly target: string;
  readonly filename: string;
  /** Plain, never presigned. */
  readonly url: string;
  /** Bytes. */
  readonly size: number;
}

/** What a comment shows: all that is stored for one commit. */
export interface CommentContent {
  readonly entries: readonly CommentEntry[];
  /** undefined when the commit has no index page. */
  readonly indexUrl: string | undefined;
}

/** GitHub refuses the body of a comment that is longer ("Body is too long (maximum is 65536 characters)"). */
const MAX_CHARACTERS = 65_536;
/** So many targets lie open; of more, each is one line that opens. */
const MAX_OPEN = 3;

/**
 * Names a comment by what it is for, so that two workflows, or one that fills two stores, do not take each other's.
 * A digest: names of buckets and workflows may hold what would end the hidden line, or what shall not be shown.
 */
export function commentKey(parts: {
  readonly endpoint: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly workflow: string;
}): string {
  const { endpoint, bucket, prefix, workflow } = parts;
  const text = JSON.stringify([endpoint, bucket, prefix, workflow]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The hidden first line of a comment. */
export function renderMarker({ key, run, attempt, commit, by }: Marker): string {
  return `<!-- wheel-store ${key} run=${run} attempt=${attempt} commit=${commit} by=${by} -->`;
}

/**
 * Reads the hidden first line.
 *
 * @returns undefined for a comment that does not begin with one, as one that quotes it
 */
export function readMarker(body: string): Marker | undefined {
  const [, key, run, attempt, commit, by] =
    /^<!-- wheel-store ([0-9a-f]{16}) run=(\d{1,30}) attempt=(\d{1,30}) commit=([0-9a-f]{40,64}) by=([0-9a-f-]{1,40}) -->(?=\r?\n|$)/.exec(
      body,
    ) ?? [];
  if (!key || !run || !attempt || !commit || !by) return undefined;
  return { key, run, attempt, commit, by };
}

/** Renders a comment as GitHub-flavoured Markdown; what does not fit is counted, and the index page has it. */
export function renderComment(marker: Marker, { entries, indexUrl }: CommentContent): string {
  const head = `${renderMarker(marker)}\n### Install this change\n\n`;
  const isOpen = entries.length <= MAX_OPEN;
  const sections = entries
    .toSorted(byTargetThenName)
    .map((entry) => renderEntry(entry, marker.commit, isOpen));
  const link = indexUrl === undefined ? '' : `[All wheels of this commit](<${shellSafe(indexUrl)}>)\n`;
  const tail = (left: number) => `${left === 0 ? '' : `And ${left} more that did not fit here.\n\n`}${link}`;
  let room = MAX_CHARACTERS - head.length - tail(sections.length).length;
  const fitting = sections.findIndex((section) => {
    room -= section.length;
    return room < 0;
  });
  const shown = fitting === -1 ? sections : sections.slice(0, fitting);
  return `${head}${shown.join('')}${tail(sections.length - shown.length)}`.toWellFormed();
}

function byTargetThenName(a: CommentEntry, b: CommentEntry): number {
  const [left, right] = a.target === b.target ? [a.filename, b.filename] : [a.target, b.target];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Commands stand in blocks of their own, because GitHub puts a button that copies beside each. */
function renderEntry({ target, filename, url, size }: CommentEntry, commit: string, isOpen: boolean): string {
  const command = `install "${shellSafe(url)}"`;
  return [
    `<details${isOpen ? ' open' : ''}><summary>${code(target === '' ? filename : target)} at ${code(shortCommit(commit))}, ${escapeCell(readableSize(size))}</summary>`,
    block(`pip ${command}`),
    block(`uv pip ${command}`),
    '</details>\n\n',
  ].join('\n\n');
}

function block(command: string): string {
  return `\`\`\`sh\n${command}\n\`\`\``;
}

/** What a step wants a comment to be. */
export interface Draft {
  readonly key: string;
  readonly stamp: Stamp;
  /** The step's own identifier. */
  readonly by: string;
  readonly content: CommentContent;
}

/** What is to be done next. */
export type Decision =
  /** The comment shows what is stored. */
  | { readonly kind: 'done'; readonly id: number }
  /** The comment is a newer run's. */
  | { readonly kind: 'leave'; readonly shown: Stamp }
  | { readonly kind: 'create'; readonly body: string }
  | { readonly kind: 'update'; readonly id: number; readonly body: string; readonly replaces: boolean }
  /** There are two: take the later one away. */
  | { readonly kind: 'remove'; readonly id: number };

/**
 * Decides what to do with the comments that were found. The oldest stays; a later one goes if this step created
 * it, or an earlier run left it behind. A newer run's comment on another commit is left alone.
 *
 * @param found - comments with the draft's key, by an author who can be trusted
 */
export function decideComment(found: readonly MarkedComment[], draft: Draft): Decision {
  const { key, stamp, by, content } = draft;
  const [kept, ...later] = found.toSorted((a, b) => a.id - b.id);
  if (kept === undefined) return { kind: 'create', body: renderComment({ key, ...stamp, by }, content) };
  const duplicate = later.find(({ marker }) => marker.by === by || isOlder(marker, stamp));
  if (duplicate !== undefined) return { kind: 'remove', id: duplicate.id };
  const newest = found.map(({ marker }) => marker).reduce((a, b) => (isOlder(a, b) ? b : a));
  const isOurCommit = newest.commit === stamp.commit;
  if (!isOurCommit && !isOlder(newest, stamp)) return { kind: 'leave', shown: newest };
  const shown = isOlder(newest, stamp) ? stamp : newest;
  const body = renderComment(
    { key, ...stamp, run: shown.run, attempt: shown.attempt, by: kept.marker.by },
    content,
  );
  if (normaliseBody(kept.body) === normaliseBody(body)) return { kind: 'done', id: kept.id };
  return { kind: 'update', id: kept.id, body, replaces: kept.marker.commit !== stamp.commit };
}

/** Whether `a` is of an earlier run, or an earlier attempt of the same, than `b`. */
export function isOlder(a: Omit<Stamp, 'commit'>, b: Omit<Stamp, 'commit'>): boolean {
  return (compareDecimals(a.run, b.run) || compareDecimals(a.attempt, b.attempt)) < 0;
}

/** A comment's text for comparisons: GitHub's own editor ends lines with CRLF, and drops the last one. */
export function normaliseBody(body: string): string {
  return body.replaceAll('\r\n', '\n').trimEnd();
}
