/** The job summary: which wheel, where it is, how to install it, and whether the build was skipped. */
import * as core from '@actions/core';
import type { CommonInputs } from './inputs.ts';
import { printable, readableSize, trace } from './log.ts';
import type { LinkedWheel } from './outputs.ts';

/** What a summary tells. */
export interface Report {
  readonly heading: string;
  readonly inputs: CommonInputs;
  readonly wheels: readonly LinkedWheel[];
  /** What was looked for and is not stored. */
  readonly lacking?: string;
}

/** GitHub refuses a step's summary of more than 1 MiB whole ("Workflow commands", job summaries). */
const MOST_BYTES = 1024 * 1024;
const CUT = '\n\n_The rest of this summary was left out: GitHub takes 1 MiB at most._\n';

/** Appends to the job's summary. A runner without one is no reason to fail. */
export async function writeSummary(report: Report): Promise<void> {
  try {
    await core.summary.addRaw(cutToLimit(renderSummary(report), MOST_BYTES)).write();
  } catch (error) {
    trace(`No job summary: ${(error as Error).message}`);
  }
}

/** Renders the report as GitHub-flavoured Markdown; what comes from outside is escaped. */
export function renderSummary({ heading, inputs, wheels, lacking }: Report): string {
  const parts = [`### ${escapeCell(heading)}`];
  const [first, ...more] = wheels;
  if (first !== undefined && more.length === 0) parts.push(details(first, inputs), install(first));
  if (more.length > 0) parts.push(overview(wheels, inputs));
  if (lacking !== undefined) parts.push(`Not stored: ${escapeCell(lacking)}.`);
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

function details(wheel: LinkedWheel, inputs: CommonInputs): string {
  const { name, target, size, sha256, key } = wheel;
  const rows: [string, string][] = [
    ['Wheel', code(name.filename)],
    ['Target', target === '' ? '' : code(target)],
    ['Size', escapeCell(readableSize(size))],
    ['SHA-256', sha256 === '' ? 'not noted when it was stored' : code(sha256)],
    ['Tags', tags(name.tags)],
    ['Where', code(`s3://${inputs.bucket.name}/${key}`)],
    ['Stored by', storedBy(wheel, inputs)],
  ];
  return table(
    ['', ''],
    rows.filter(([, value]) => value !== ''),
  );
}

function overview(wheels: readonly LinkedWheel[], inputs: CommonInputs): string {
  const rows = wheels.map((wheel) => [
    wheel.target === '' ? '' : code(wheel.target),
    wheel.url === wheel.plainUrl
      ? `<a href="${escapeCell(wheel.plainUrl)}">${escapeCell(wheel.name.filename)}</a>`
      : code(wheel.name.filename),
    escapeCell(readableSize(wheel.size)),
    sha256Cell(wheel),
    storedBy(wheel, inputs),
  ]);
  return table(['Target', 'Wheel', 'Size', 'SHA-256', 'Stored by'], rows);
}

function sha256Cell({ sha256 }: LinkedWheel): string {
  return sha256 === '' ? 'not noted' : code(`${sha256.slice(0, 12)}…`);
}

function tags(all: readonly string[]): string {
  const more = all.length > 6 ? ` and ${all.length - 6} more` : '';
  return `${all.slice(0, 6).map(code).join(' ')}${more}`;
}

function storedBy({ run, attempt }: LinkedWheel, { repository, serverUrl }: CommonInputs): string {
  if (run === '') return 'the old flat layout notes no run';
  const text = `run ${run}, attempt ${attempt}`;
  const isLinkable = /^https?:\/\/[\w.:-]+$/.test(serverUrl) && /^[\w.-]+\/[\w.-]+$/.test(repository);
  return isLinkable ? `[${text}](${serverUrl}/${repository}/actions/runs/${run}/attempts/${attempt})` : text;
}

function install({ url, plainUrl }: LinkedWheel): string {
  if (url !== plainUrl) {
    return 'Install it in a later step of this job with the output `wheel-url`, which is presigned and so not shown here.';
  }
  return ['```sh', `pip install "${plainUrl}"`, `uv pip install "${plainUrl}"`, '```'].join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** GitHub's own rules for code spans allow no backtick and no bar in a table's cell, so HTML carries the text. */
function code(text: string): string {
  return `<code>${escapeCell(text)}</code>`;
}

/** Escapes what Markdown, HTML and the table would read as more than text. */
export function escapeCell(text: string): string {
  return printable(text).replace(/[&<>"'|`*_[\]\\~:@#]/g, (character) => `&#${character.charCodeAt(0)};`);
}
