/** Renders the page of a channel, which lists its projects, and reads it again. Pure functions. */
import { byCodeUnit, escapeHtml, htmlPage, link, minuteOf } from '../slots/html.ts';
import { shortCommit } from '../slots/layout.ts';
import { compareVersions } from '../wheel/version.ts';
import type { ListedFile } from './content.ts';

/** The content of a page. */
export interface ChannelPage {
  readonly channel: string;
  /** Projects that have a page, normalised. */
  readonly projects: ReadonlySet<string>;
  /** All files of the channel, also those of other projects. */
  readonly files: readonly ListedFile[];
}

/**
 * Renders the page (simple repository API, HTML: PEP 503, the root with one link per project). It depends only on the
 * listing, so all steps that publish to the channel render the same page.
 */
export function renderChannelPage({ channel, projects, files }: ChannelPage): string {
  const byProject = Map.groupBy(files, ({ name }) => name.project);
  const names = [...projects].sort();
  return htmlPage(
    `Channel ${channel}`,
    `<p>Python packages that pip and uv can install. Each project’s page has the commands.</p>
<table>
<thead><tr><th scope="col">Project</th><th scope="col">Newest version</th><th scope="col">Last published (UTC)</th><th scope="col">Commit</th></tr></thead>
<tbody>
${names.map((project) => row(project, byProject.get(project) ?? [])).join('\n')}
</tbody>
</table>`,
  );
}

function row(project: string, files: readonly ListedFile[]): string {
  const versions = files.map(({ name }) => name.version).sort(compareVersions);
  const last = files.toSorted(byTime).at(-1);
  return [
    // S3 alone doesn't serve index.html for a folder.
    `<tr><td>${link(`${encodeURIComponent(project)}/index.html`, escapeHtml(project))}</td>`,
    `<td>${escapeHtml(versions.at(-1)?.text ?? '')}</td>`,
    `<td class="size">${minuteOf(last?.lastModified)}</td>`,
    `<td>${last === undefined ? '' : `<code title="${last.commit}">${shortCommit(last.commit)}</code>`}</td></tr>`,
  ].join('');
}

function byTime(a: ListedFile, b: ListedFile): number {
  return (a.lastModified?.getTime() ?? 0) - (b.lastModified?.getTime() ?? 0) || byCodeUnit(a.key, b.key);
}

/** The projects that a channel's page links to. */
export function projectsOn(html: string): Set<string> {
  return new Set([...html.matchAll(/<a href="([a-z0-9-]{1,255})\/index\.html">/g)].map(([, name]) => name!));
}
