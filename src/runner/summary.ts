/** The job summary: which wheel, where it is, how to install it, and whether the build was skipped. */
import * as core from '@actions/core';
import { s3Uri } from '../bucket/names.ts';
import { readableSize, shortSize } from '../sizes.ts';
import { shortCommit } from '../slots/layout.ts';
import { messageOf } from '../untrusted/foreign-text.ts';
import { firstOf } from '../untrusted/quote.ts';
import type { Inventory } from '../wheel/largest.ts';
import type { EarlierCommit } from './event.ts';
import type { CommonInputs } from './inputs.ts';
import { printable, trace } from './log.ts';
import { code, escapeCell } from './markdown.ts';
import type { LinkedWheel } from './outputs.ts';
import { quoted, shellSafe } from './shell.ts';

/** What a summary tells. */
export interface Report {
  readonly heading: string;
  readonly inputs: CommonInputs;
  readonly wheels: readonly LinkedWheel[];
  /** URL of the commit's index page; undefined when there is none. */
  readonly index: string | undefined;
  /** One sentence or more, below the heading: why a wheel is not there. */
  readonly reason?: string;
  /** What the one wheel is made of. */
  readonly inventory?: Inventory;
  readonly before?: SizeBefore;
}

/** The wheel that an earlier commit has in this one's place. */
export interface SizeBefore {
  /** Bytes. */
  readonly size: number;
  readonly earlier: EarlierCommit;
}

/** GitHub refuses a step's summary of more than 1 MiB whole ("Workflow commands", job summaries). */
const MAX_BYTES = 1024 * 1024;
const CUT = '\n\n_The rest of this summary was left out: GitHub takes 1 MiB at most._\n';

/** So many wheels have their commands shown, where each has its own. */
const MAX_COMMANDS = 50;
const MAX_CHARACTERS = 100;
const MAX_TAGS = 6;
const PRESIGNED =
  'Install from the output `wheel-url` (or `wheels`) in a later step of this job: it is presigned and so not shown here.';

/** Appends to the job's summary. A runner without one is no reason to fail. */
export async function writeSummary(report: Report): Promise<void> {
  try {
    await core.summary.addRaw(cutToLimit(renderSummary(report), MAX_BYTES)).write();
  } catch (error) {
    trace(`No job summary: ${messageOf(error)}`);
  }
}

/** `Wheel`, or `7 wheels`: how a heading begins. */
export function countWheels(wheels: readonly unknown[]): string {
  return wheels.length === 1 ? 'Wheel' : `${wheels.length} wheels`;
}

/** Renders the report as GitHub-flavoured Markdown; what comes from outside is escaped. */
export function renderSummary(report: Report): string {
  const { heading, reason, wheels, inventory } = report;
  const [first, ...more] = wheels;
  const parts = [`### ${escapeCell(heading)}`];
  if (reason !== undefined) parts.push(escapeCell(reason));
  if (first !== undefined && more.length === 0) parts.push(details(first, report), install(first));
  // The table comes last of what may be long, so that it alone is cut where all is too long.
  if (more.length > 0) parts.push(installSeveral(wheels, report.index), overview(wheels, report.inputs));
  if (first !== undefined && inventory !== undefined) parts.push(contents(inventory, first.size));
  return `${parts.join('\n\n')}\n\n`;
}

/**
 * Cuts Markdown at a line's end so that it fits, and says so.
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
    ['Target', target === '' ? '' : code(target)],
    ['Size', escapeCell(`${readableSize(size)}${unpacked}`)],
    ['Change', before === undefined ? '' : change(size, before, inputs)],
    ['SHA-256', sha256 === undefined ? 'not recorded when it was stored' : code(sha256)],
    ['Tags', tags(name.tags)],
    ['Python', requiresPython === undefined ? '' : code(shortened(requiresPython))],
    ['Where', code(s3Uri(inputs.bucket.name, key))],
    ['Stored by', storedBy(wheel, inputs)],
  ];
  const filled = rows.filter(([, value]) => value !== '');
  return table(
    ['Wheel', linkedName(wheel)],
    filled.map(([label, value]) => [unbroken(label), value]),
  );
}

function change(size: number, { size: old, earlier }: SizeBefore, inputs: CommonInputs): string {
  const bytes = size - old;
  const sign = bytes < 0 ? '−' : '+';
  const percent = old === 0 ? '' : ` (${sign}${((Math.abs(bytes) / old) * 100).toFixed(1)}%)`;
  const difference = bytes === 0 ? 'none in size' : `${sign}${shortSize(Math.abs(bytes))}${percent}`;
  const commit = code(shortCommit(earlier.commit));
  const linked = onGitHub(inputs, `commit/${earlier.commit}`, commit);
  return `${difference} against ${linked}, ${escapeCell(earlier.what)}`;
}

function overview(wheels: readonly LinkedWheel[], inputs: CommonInputs): string {
  const origins = wheels.map((wheel) => storedBy(wheel, inputs));
  const isOneOrigin = new Set(origins).size === 1;
  const rows = wheels.map((wheel, index) => [
    wheel.target === '' ? '' : code(wheel.target),
    linkedName(wheel),
    unbroken(shortSize(wheel.size)),
    sha256Cell(wheel),
    ...(isOneOrigin ? [] : [origins[index]!]),
  ]);
  const head = ['Target', 'Wheel', 'Size', 'SHA-256', ...(isOneOrigin ? [] : ['Stored by'])];
  const all = isOneOrigin ? `\n\nAll stored by ${origins[0]}.` : '';
  return `${table(head, rows, [2])}${all}`;
}

/** What the wheel is made of, folded: of interest when it has grown. */
function contents({ files, largest }: Inventory, size: number): string {
  const rows = largest.map((file) => [
    code(shortened(file.name)),
    unbroken(shortSize(file.compressedSize)),
    unbroken(shortSize(file.size)),
    share(file.compressedSize / size),
  ]);
  const what =
    files > largest.length
      ? `The ${largest.length} largest of ${files} files`
      : `All ${count(files, 'file')}`;
  const head = ['File', unbroken('In the wheel'), 'Unpacked', 'Share'];
  return fold(what, table(head, rows, [1, 2, 3]));
}

function share(part: number): string {
  return part > 0 && part < 0.0005 ? '&#60;0.1%' : `${(part * 100).toFixed(1)}%`;
}

/** A presigned URL leads to the wheel whoever has it, so it is not shown. */
function linkedName({ url, plainUrl, name }: LinkedWheel): string {
  const text = code(name.filename);
  return url === plainUrl ? `<a href="${escapeCell(plainUrl)}">${text}</a>` : text;
}

function sha256Cell({ sha256 }: LinkedWheel): string {
  return sha256 === undefined ? 'not noted' : code(`${sha256.slice(0, 12)}…`);
}

function tags(all: readonly string[]): string {
  return firstOf(all.map(code), MAX_TAGS, ' ');
}

function storedBy({ run, attempt }: LinkedWheel, inputs: CommonInputs): string {
  if (run === undefined) return 'an unknown run (the old flat layout records none)';
  return onGitHub(inputs, `actions/runs/${run}/attempts/${attempt}`, `run ${run}, attempt ${attempt}`);
}

/** A link to a page of the repository, where there is one to link to; `text` is Markdown. */
function onGitHub({ repository, serverUrl }: CommonInputs, page: string, text: string): string {
  const isLinkable =
    /^https?:\/\/[\w.:-]+$/.test(serverUrl ?? '') && /^[\w.-]+\/[\w.-]+$/.test(repository ?? '');
  return isLinkable ? `[${text}](${serverUrl}/${repository}/${page})` : text;
}

function install({ url, plainUrl }: LinkedWheel): string {
  return url === plainUrl ? commands([`"${shellSafe(plainUrl)}"`]) : PRESIGNED;
}

/** The index page lets pip and uv choose among the wheels; without one, each has commands of its own. */
function installSeveral(wheels: readonly LinkedWheel[], index: string | undefined): string {
  if (wheels.some(({ url, plainUrl }) => url !== plainUrl)) return PRESIGNED;
  const projects = new Set(wheels.map(({ name }) => name.project));
  const pinned = new Set(wheels.map(({ name }) => quoted(`${name.project}==${name.version.text}`)));
  if (index !== undefined && pinned.size === projects.size && pinned.size <= MAX_COMMANDS) {
    return commands([`--find-links "${shellSafe(index)}" ${[...pinned].join(' ')}`]);
  }
  const shown = wheels.slice(0, MAX_COMMANDS);
  const each = shown.map(
    ({ target, name, plainUrl }) => [`"${shellSafe(plainUrl)}"`, target || name.filename] as const,
  );
  const left = wheels.length - shown.length;
  const rest = left === 0 ? '' : `\n\nand ${left} more, by the links of their names.`;
  return fold('Commands that install them', `${commands(...each)}${rest}`);
}

/** GitHub puts a button that copies on each block, so pip's and uv's commands have each their own. */
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

/** @param right - the columns that hold figures */
function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const lines = head.map((_, column) => (right.includes(column) ? '--:' : ':--'));
  return [head, lines, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** What only some readers want; Markdown is read inside of it because of the empty lines. */
function fold(heading: string, markdown: string): string {
  return `<details>\n<summary>${escapeCell(heading)}</summary>\n\n${markdown}\n\n</details>`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Long names keep their beginning and their end. */
function shortened(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, 40)}…${text.slice(41 - MAX_CHARACTERS)}`;
}

/** A label or figure that is not to be torn apart at a line's end. */
function unbroken(text: string): string {
  return escapeCell(text).replaceAll(' ', '&nbsp;');
}
