/** The job summary of a publish step: what the channel gained and lost, and how to install from it. */
import { type ChannelCommands, uvSettings } from '../channel/install.ts';
import type { PublishedFile } from '../channel/selection.ts';
import { shortSize } from '../sizes.ts';
import { printable } from './log.ts';
import { code, escapeCell, link, table } from './markdown.ts';
import { appendSummary } from './summary.ts';

/** The content of a summary. */
export interface ChannelReport {
  readonly channel: string;
  readonly channelUrl: string;
  /** The page for people. */
  readonly pageUrl: string;
  readonly shown: readonly PublishedFile[];
  readonly removed: readonly PublishedFile[];
  /** undefined if nothing is shown. */
  readonly commands: ChannelCommands | undefined;
  /** Shown instead of the commit; empty: the commit is shown. */
  readonly commitLabel: string;
  readonly commit: string;
  /** The action's own files on GitHub, such as `https://github.com/org/name/blob/v1`; undefined if unknown. */
  readonly sourceUrl: string | undefined;
  /** Why nothing was published: sentences. */
  readonly reason?: string;
}

/** What to know before pasting `--extra-index-url`. */
const RISK =
  'With --extra-index-url, pip takes the highest version from PyPI or this channel, so anyone who registers the name on PyPI can ship code to your users (dependency confusion). With --index, or explicit = true in pyproject.toml, uv takes the project from this channel only.';
const RISK_PAGE = 'docs/channels.md#dependency-confusion';

/** The lines for the log that say how to install from the channel. Empty if nothing is shown. */
export function installLines(report: ChannelReport): string[] {
  const { commands, sourceUrl } = report;
  if (commands === undefined) return [];
  const settings = settingsOf(report).split('\n');
  const more = sourceUrl === undefined ? '' : ` More: ${sourceUrl}/${RISK_PAGE}`;
  return [commands.pip, commands.uv, 'Lines for pyproject.toml:', ...settings, `${RISK}${more}`];
}

/** Appends a report to the job's summary. */
export async function writeChannelSummary(report: ChannelReport): Promise<void> {
  await appendSummary(renderChannelSummary(report));
}

/** Renders the report as GitHub-flavoured Markdown. Text from outside is escaped. */
export function renderChannelSummary(report: ChannelReport): string {
  const { channel, channelUrl, pageUrl, shown, removed, commands, reason, sourceUrl } = report;
  const parts = [`### ${count(shown)} published to the channel ${escapeCell(channel)}`];
  if (reason !== undefined) parts.push(escapeCell(reason));
  const built =
    report.commitLabel === '' ? ['Commit', report.commit] : ['Built&nbsp;from', report.commitLabel];
  parts.push(table(['Channel', code(channelUrl)], [[built[0]!, code(built[1]!)]]));
  if (commands !== undefined) {
    const more = sourceUrl === undefined ? '' : ` ${link(`${sourceUrl}/${RISK_PAGE}`, 'More about this')}.`;
    parts.push(
      block('sh', commands.pip),
      block('sh', commands.uv),
      'Lines for pyproject.toml:',
      block('toml', settingsOf(report)),
      `${escapeCell(RISK)}${more}`,
      `All that is in the channel: ${link(pageUrl, escapeCell(pageUrl))}`,
    );
  }
  if (shown.length > 0) parts.push(filesTable('Published', shown));
  if (removed.length > 0) parts.push(filesTable('Removed from the page', removed));
  return `${parts.join('\n\n')}\n\n`;
}

function settingsOf({ channel, channelUrl, shown }: ChannelReport): string {
  return uvSettings(channel, channelUrl, [...new Set(shown.map(({ name }) => name.project))]);
}

function filesTable(heading: string, files: readonly PublishedFile[]): string {
  return table(
    [heading, 'Version', 'Size'],
    files.map(({ name, size }) => [code(name.filename), code(name.version.text), shortSize(size)]),
    [2],
  );
}

function block(language: string, text: string): string {
  return [`\`\`\`${language}`, ...text.split('\n').map(printable), '```'].join('\n');
}

function count(files: readonly unknown[]): string {
  return files.length === 0 ? 'Nothing' : files.length === 1 ? 'Wheel' : `${files.length} wheels`;
}
