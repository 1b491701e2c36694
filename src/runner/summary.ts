/** The job summary: which wheel, where it is, how to install it, and whether the build was skipped. */
import * as core from '@actions/core';
import { s3Uri } from '../bucket/names.ts';
import { readableSize, shortSize } from '../sizes.ts';
import { shortCommit } from '../slots/layout.ts';
import { fromPage, pinned } from '../slots/pinned.ts';
import { messageOf } from '../untrusted/foreign-text.ts';
import { firstOf } from '../untrusted/quote.ts';
import { shellSafe } from '../untrusted/shell.ts';
import type { WheelName } from '../wheel/filename.ts';
import type { Inventory } from '../wheel/largest.ts';
import { renderCompleteness } from './completeness.ts';
import type { EarlierCommit } from './event.ts';
import type { CommonInputs } from './inputs.ts';
import { printable, trace } from './log.ts';
import { code, escapeCell, link, table } from './markdown.ts';
import type { LinkedWheel } from './outputs.ts';

/** The content of a summary. */
export interface Report {
  readonly heading: string;
  readonly inputs: CommonInputs;
  readonly wheels: readonly LinkedWheel[];
  /** URL of the commit's index page; undefined if there is none. */
  readonly index: string | undefined;
  /** The projects of all wheels of the commit: those shown may depend on others. By default, those of `wheels`. */
  readonly projects?: ReadonlySet<string>;
  /** The commit's wheels of other projects, to install them as well. */
  readonly alongside?: readonly WheelName[];
  /** Why a wheel is missing: one or more sentences, shown below the heading. */
  readonly reason?: string;
  /** The targets of a look-up of several: a table shows which of them are stored. */
  readonly requested?: readonly string[];
  /** The files of the wheel, if there is only one. */
  readonly inventory?: Inventory;
  readonly before?: EarlierSize;
}

/** The size of the wheel of an earlier commit. */
export interface EarlierSize {
  /** Bytes. */
  readonly size: number;
  readonly earlier: EarlierCommit;
}

/** GitHub drops a step's summary completely if it is larger (GitHub docs, "Workflow commands", job summaries). */
const MAX_BYTES = 1024 * 1024;
const CUT = '\n\n_The rest of this summary was left out: GitHub allows at most 1 MiB._\n';

/** The most wheels for which commands are shown, if each wheel has its own. */
const MAX_COMMANDS = 50;
const MAX_CHARACTERS = 100;
const MAX_TAGS = 6;
const PRESIGNED =
  'Install from the output `wheel-url` (or `wheels`) in a later step of this job: it is presigned, so it is not shown here.';

/** Appends a report to the job's summary. */
export async function writeSummary(report: Report): Promise<void> {
  await appendSummary(renderSummary(report));
}

/** Appends Markdown to the job's summary. Failures are ignored, because some runners have no summary. */
export async function appendSummary(markdown: string): Promise<void> {
  try {
    await core.summary.addRaw(cutToLimit(markdown, MAX_BYTES)).write();
  } catch (error) {
    trace(`Could not write the job summary: ${messageOf(error)}`);
  }
}

/** The beginning of a heading: `Wheel`, or `7 wheels`. */
export function countWheels(wheels: readonly unknown[]): string {
  return wheels.length === 1 ? 'Wheel' : `${wheels.length} wheels`;
}

/** Renders the report as GitHub-flavoured Markdown. Text from outside is escaped. */
export function renderSummary(report: Report): string {
  const { heading, reason, wheels, inventory } = report;
  const [first, ...more] = wheels;
  const parts = [`### ${escapeCell(heading)}`];
  if (reason !== undefined) parts.push(escapeCell(reason));
  if (first !== undefined && more.length === 0) parts.push(details(first, report), install(first, report));
  parts.push(...completeness(report));
  // The table comes after the commands, so that only the table is cut if the summary is too long.
  if (more.length > 0) parts.push(installSeveral(report), overview(wheels, report.inputs));
  if (first !== undefined && inventory !== undefined) parts.push(contents(inventory, first.size));
  return `${parts.join('\n\n')}\n\n`;
}

/**
 * Cuts Markdown at the end of a line so that it fits, and adds a note.
 *
 * @param limit - bytes of UTF-8
 */
export function cutToLimit(markdown: string, limit: number): string {
  const bytes = Buffer.from(markdown);
  if (bytes.length <= limit) return markdown;
  const room = bytes.subarray(0, limit - Buffer.byteLength(CUT));
  return `${room.subarray(0, room.lastIndexOf(0x0a)).toString('utf8')}${CUT}`;
}

function details(wheel: LinkedWheel, { inputs, inventory, before }: Report): string {
  const { target, size, sha256, key, name, requiresPython } = wheel;
  const unpacked =
    inventory === undefined
      ? ''
      : `, unpacked ${shortSize(inventory.unpackedSize)} in ${count(inventory.files, 'file')}`;
  const rows: [string, string][] = [
    ['Built from', label(inputs)],
    ['Target', target === '' ? '' : code(target)],
    ['Size', escapeCell(`${readableSize(size)}${unpacked}`)],
    ['Change', before === undefined ? '' : sizeChange(size, before, inputs)],
    ['SHA-256', sha256 === undefined ? 'not recorded when it was stored' : code(sha256)],
    ['Tags', tags(name.tags)],
    ['Python', requiresPython === undefined ? '' : code(shorten(requiresPython))],
    ['Where', code(s3Uri(inputs.bucket.name, key))],
    ['Stored by', storedBy(wheel, inputs)],
  ];
  const filled = rows.filter(([, value]) => value !== '');
  return table(
    ['Wheel', linkedName(wheel)],
    filled.map(([label, value]) => [nonBreaking(label), value]),
  );
}

function sizeChange(size: number, { size: old, earlier }: EarlierSize, inputs: CommonInputs): string {
  const bytes = size - old;
  const sign = bytes < 0 ? '−' : '+';
  const percent = old === 0 ? '' : ` (${sign}${((Math.abs(bytes) / old) * 100).toFixed(1)}%)`;
  const difference = bytes === 0 ? 'none' : `${sign}${shortSize(Math.abs(bytes))}${percent}`;
  const commit = code(shortCommit(earlier.commit));
  const linked = onGitHub(inputs, `commit/${earlier.commit}`, commit);
  return `${difference} against ${linked}, ${escapeCell(earlier.description)}`;
}

/** Nothing if one target or all stored ones were requested. */
function completeness({ requested = [], wheels, inputs }: Report): string[] {
  if (requested.length < 2) return [];
  const origins = new Map(wheels.map((wheel) => [wheel.target, storedBy(wheel, inputs)]));
  return [renderCompleteness(requested.map((name) => ({ name, origin: origins.get(name) })))];
}

function overview(wheels: readonly LinkedWheel[], inputs: CommonInputs): string {
  const origins = wheels.map((wheel) => storedBy(wheel, inputs));
  const isOneOrigin = new Set(origins).size === 1;
  const rows = wheels.map((wheel, index) => [
    wheel.target === '' ? '' : code(wheel.target),
    linkedName(wheel),
    nonBreaking(shortSize(wheel.size)),
    sha256Cell(wheel),
    ...(isOneOrigin ? [] : [origins[index]!]),
  ]);
  const head = ['Target', 'Wheel', 'Size', 'SHA-256', ...(isOneOrigin ? [] : ['Stored by'])];
  const all = isOneOrigin ? `\n\nAll stored by ${origins[0]}.` : '';
  const built = inputs.commitLabel === '' ? '' : `\n\nBuilt from ${label(inputs)}.`;
  return `${table(head, rows, [2])}${all}${built}`;
}

/** The label of the commit as code, in which GitHub links nothing; empty if it has none. */
function label({ commitLabel }: CommonInputs): string {
  return commitLabel === '' ? '' : code(commitLabel);
}

/** The largest files of the wheel, collapsed. They explain why a wheel has grown. */
function contents({ files, largest }: Inventory, size: number): string {
  const rows = largest.map((file) => [
    code(shorten(file.name)),
    nonBreaking(shortSize(file.compressedSize)),
    nonBreaking(shortSize(file.size)),
    share(file.compressedSize / size),
  ]);
  const what =
    files > largest.length
      ? `The ${largest.length} largest of ${files} files`
      : `All ${count(files, 'file')}`;
  const head = ['File', nonBreaking('In the wheel'), 'Unpacked', 'Share'];
  return fold(what, table(head, rows, [1, 2, 3]));
}

function share(part: number): string {
  return part > 0 && part < 0.0005 ? '&#60;0.1%' : `${(part * 100).toFixed(1)}%`;
}

/** A presigned URL is not shown, because anyone could use it. */
function linkedName({ url, plainUrl, name }: LinkedWheel): string {
  const text = code(name.filename);
  return url === plainUrl ? link(plainUrl, text) : text;
}

function sha256Cell({ sha256 }: LinkedWheel): string {
  return sha256 === undefined ? 'not recorded' : code(`${sha256.slice(0, 12)}…`);
}

function tags(all: readonly string[]): string {
  return firstOf(all.map(code), MAX_TAGS, ' ');
}

function storedBy({ run, attempt }: LinkedWheel, inputs: CommonInputs): string {
  if (run === undefined) return 'an unknown run (the old flat layout records none)';
  return onGitHub(inputs, `actions/runs/${run}/attempts/${attempt}`, `run ${run}, attempt ${attempt}`);
}

/**
 * A link to a page of the repository, or only its text if the repository is unknown.
 *
 * @param text - Markdown
 */
function onGitHub({ repositoryUrl }: CommonInputs, page: string, text: string): string {
  return repositoryUrl === undefined ? text : `[${text}](${repositoryUrl}/${page})`;
}

/** The wheel by its URL. If the commit has other projects, by its version: the URL alone doesn't lead to their wheels. */
function install({ url, plainUrl, name }: LinkedWheel, { index, projects, alongside = [] }: Report): string {
  if (url !== plainUrl) return PRESIGNED;
  const isShared = projects !== undefined && projects.size > 1;
  return commands([
    isShared && index !== undefined ? fromPage(index, [name, ...alongside]) : `"${shellSafe(plainUrl)}"`,
  ]);
}

/** With an index page, pip and uv select the wheel. Without one, each wheel has its own commands. */
function installSeveral({ wheels, index, alongside = [] }: Report): string {
  if (wheels.some(({ url, plainUrl }) => url !== plainUrl)) return PRESIGNED;
  const names = [...wheels.map(({ name }) => name), ...alongside];
  const projects = pinned(names).length;
  // Of several versions of one project, the highest may be for another platform.
  const isClear = projects > 1 || new Set(names.map(({ version }) => version.text)).size === 1;
  if (index !== undefined && isClear && projects <= MAX_COMMANDS) return commands([fromPage(index, names)]);
  const shown = wheels.slice(0, MAX_COMMANDS);
  const each = shown.map(
    ({ target, name, plainUrl }) => [`"${shellSafe(plainUrl)}"`, target || name.filename] as const,
  );
  const left = wheels.length - shown.length;
  const rest = left === 0 ? '' : `\n\nFor the other ${left}, use the links in the table below.`;
  return fold('Commands to install them', `${commands(...each)}${rest}`);
}

/** GitHub shows a copy button for each block, so pip and uv have separate blocks. */
function commands(...each: readonly (readonly [args: string, comment?: string])[]): string {
  const block = (program: string) => {
    const lines = each.flatMap(([args, comment]) => [
      ...(comment === undefined ? [] : [`# ${comment}`]),
      `${program} ${args}`,
    ]);
    return ['```sh', ...lines.map(printable), '```'].join('\n');
  };
  return `${block('pip install')}\n${block('uv pip install')}`;
}

/** A collapsed section. The empty lines make GitHub render the Markdown in it. */
function fold(heading: string, markdown: string): string {
  return `<details>\n<summary>${escapeCell(heading)}</summary>\n\n${markdown}\n\n</details>`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Shortens a long text in the middle. */
function shorten(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, 40)}…${text.slice(41 - MAX_CHARACTERS)}`;
}

/** A label or number without line breaks. */
function nonBreaking(text: string): string {
  return escapeCell(text).replaceAll(' ', '&nbsp;');
}
