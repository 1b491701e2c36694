/** The comment on a pull request: its marker, its text, and what to do with existing comments. Sends no requests. */
import { createHash } from 'node:crypto';
import { code, escapeCell } from '../runner/markdown.ts';
import { readableSize } from '../sizes.ts';
import { compareDecimals, shortCommit } from '../slots/layout.ts';
import { shellSafe } from '../untrusted/shell.ts';

/** The run and commit whose wheels a comment shows. Comments are ordered by run and attempt. */
export interface Stamp {
  readonly run: string;
  readonly attempt: string;
  readonly commit: string;
}

/** The content of the hidden first line of a comment. */
export interface Marker extends Stamp {
  /** See {@link commentKey}. */
  readonly key: string;
  /** Identifies the step that created the comment, because a step deletes only its own duplicates. */
  readonly by: string;
}

/** A comment with a marker. */
export interface MarkedComment {
  readonly id: number;
  readonly body: string;
  readonly marker: Marker;
}

/** A stored wheel in the comment. */
export interface CommentEntry {
  readonly target: string;
  readonly filename: string;
  /** Plain, never presigned. */
  readonly url: string;
  /** Bytes. */
  readonly size: number;
}

/** What a comment shows: all stored wheels of one commit. */
export interface CommentContent {
  readonly entries: readonly CommentEntry[];
  /** undefined if the commit has no index page. */
  readonly indexUrl: string | undefined;
  /** Shown instead of the commit; empty: the commit is shown. */
  readonly commitLabel: string;
  /** The arguments that install the wheels of several projects together; undefined if there is only one project. */
  readonly together: string | undefined;
}

/** GitHub rejects longer comments ("Body is too long (maximum is 65536 characters)"). */
const MAX_CHARACTERS = 65_536;
/** A longer command for all projects together is left out. */
const MAX_TOGETHER = MAX_CHARACTERS / 8;
/** Up to this number of wheels, all sections are expanded. With more, all are collapsed. */
const MAX_OPEN = 3;

/**
 * Identifies a comment by store and workflow, so that two workflows, or two stores in one workflow, have separate
 * comments. It is a hash, because names could contain characters that end the hidden line, or should not be shown.
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

/** Renders the hidden first line of a comment. */
export function renderMarker({ key, run, attempt, commit, by }: Marker): string {
  return `<!-- wheel-store ${key} run=${run} attempt=${attempt} commit=${commit} by=${by} -->`;
}

/**
 * Reads the hidden first line.
 *
 * @returns undefined if the comment doesn't begin with it, for example because it quotes it
 */
export function readMarker(body: string): Marker | undefined {
  const [, key, run, attempt, commit, by] =
    /^<!-- wheel-store ([0-9a-f]{16}) run=(\d{1,30}) attempt=(\d{1,30}) commit=([0-9a-f]{40,64}) by=([0-9a-f-]{1,40}) -->(?=\r?\n|$)/.exec(
      body,
    ) ?? [];
  if (!key || !run || !attempt || !commit || !by) return undefined;
  return { key, run, attempt, commit, by };
}

/** Renders a comment as GitHub-flavoured Markdown. Wheels that don't fit are counted; the index page lists them. */
export function renderComment(marker: Marker, content: CommentContent): string {
  const { entries, indexUrl, commitLabel, together } = content;
  const commit = commitLabel === '' ? shortCommit(marker.commit) : commitLabel;
  const head = `${renderMarker(marker)}\n### Install this change\n\n${renderTogether(together)}`;
  const isOpen = entries.length <= MAX_OPEN;
  const sections = entries.toSorted(byTargetThenName).map((entry) => renderEntry(entry, commit, isOpen));
  const all = commitLabel === '' ? 'All wheels of this commit' : 'All wheels';
  const link = indexUrl === undefined ? '' : `[${all}](<${shellSafe(indexUrl)}>)\n`;
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

/** Wheels that depend on each other, by their pinned versions: the URL of one alone doesn't lead to the others. */
function renderTogether(together = ''): string {
  if (together === '' || together.length > MAX_TOGETHER) return '';
  return `${installBlocks(together)}\n\nOr one wheel, if it needs none of the others:\n\n`;
}

/** @param commit - how it is shown */
function renderEntry({ target, filename, url, size }: CommentEntry, commit: string, isOpen: boolean): string {
  return [
    `<details${isOpen ? ' open' : ''}><summary>${code(target === '' ? filename : target)} at ${code(commit)}, ${escapeCell(readableSize(size))}</summary>`,
    installBlocks(`"${shellSafe(url)}"`),
    '</details>\n\n',
  ].join('\n\n');
}

/** Each command has its own block, because GitHub shows a copy button for each block. */
function installBlocks(args: string): string {
  const block = (program: string) => `\`\`\`sh\n${program} install ${args}\n\`\`\``;
  return `${block('pip')}\n\n${block('uv pip')}`;
}

/** The comment that a step wants. */
export interface Draft {
  readonly key: string;
  readonly stamp: Stamp;
  /** Identifies the step. */
  readonly by: string;
  readonly content: CommentContent;
}

/** What to do next. */
export type Decision =
  /** The comment is up to date. */
  | { readonly kind: 'done'; readonly id: number }
  /** The comment is from a newer run, or from this run for another commit. */
  | { readonly kind: 'leave'; readonly shown: Stamp }
  | { readonly kind: 'create'; readonly body: string }
  | { readonly kind: 'update'; readonly id: number; readonly body: string; readonly replaces: boolean }
  /** There is a duplicate: delete it. */
  | { readonly kind: 'remove'; readonly id: number };

/**
 * Decides what to do with the comments that were found. The oldest is kept. A later one is deleted if this step created
 * it, or it is from an earlier run. A newer run's comment for another commit is not changed.
 *
 * @param found - comments with the draft's key, by a trusted author
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

/** Whether `a` is from an earlier run than `b`, or from an earlier attempt of the same run. */
export function isOlder(a: Omit<Stamp, 'commit'>, b: Omit<Stamp, 'commit'>): boolean {
  return (compareDecimals(a.run, b.run) || compareDecimals(a.attempt, b.attempt)) < 0;
}

/** Normalises a text for comparisons: GitHub's editor uses CRLF, and removes the final line break. */
export function normaliseBody(body: string): string {
  return body.replaceAll('\r\n', '\n').trimEnd();
}
