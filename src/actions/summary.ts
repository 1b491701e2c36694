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
  /** What became of the build, where this step decides or knows it. */
  readonly build?: string;
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
export function renderSummary({ heading, inputs, wheels, build }: Report): string {
  const parts = [`### ${escapeCell(heading)}`];
  if (wheels.length === 0) {
    parts.push(
      `Commit ${code(inputs.place.commit)} has no wheel in ${code(`s3://${inputs.bucket.name}/${inputs.place.prefix}`)}.`,
    );
  }
  for (const wheel of wheels) parts.push(table(rows(wheel, inputs, build)), install(wheel));
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

function rows(wheel: LinkedWheel, inputs: CommonInputs, build: string | undefined): [string, string][] {
  const { name, target, size, sha256, key } = wheel;
  return [
    ['Wheel', code(name.filename)],
    ...optionalRow('Target', target === '' ? undefined : code(target)),
    ['Size', escapeCell(readableSize(size))],
    ['SHA-256', sha256 === '' ? 'not noted when it was stored' : code(sha256)],
    ['Tags', tags(name.tags)],
    ['Where', code(`s3://${inputs.bucket.name}/${key}`)],
    ['Stored by', storedBy(wheel, inputs)],
    ...optionalRow('Build', build),
  ];
}

function optionalRow(name: string, value: string | undefined): [string, string][] {
  return value === undefined ? [] : [[name, value]];
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

function table(lines: readonly (readonly [string, string])[]): string {
  return ['| | |', '| --- | --- |', ...lines.map(([name, value]) => `| ${name} | ${value} |`)].join('\n');
}

/** GitHub's own rules for code spans allow no backtick and no bar in a table's cell, so HTML carries the text. */
function code(text: string): string {
  return `<code>${escapeCell(text)}</code>`;
}

/** Escapes what Markdown, HTML and the table would read as more than text. */
export function escapeCell(text: string): string {
  return printable(text).replace(/[&<>"'|`*_[\]\\~:@#]/g, (character) => `&#${character.charCodeAt(0)};`);
}
