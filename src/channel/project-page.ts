/** Renders the page of a project in a channel, for people, pip and uv, and reads it again. Pure functions. */
import { shortSize } from '../sizes.ts';
import { escapeHtml, htmlPage, link, minuteOf, tagList } from '../slots/html.ts';
import { shortCommit } from '../slots/layout.ts';
import { type Facts, factsOf, metadataOf } from './facts.ts';
import { channelCommands } from './install.ts';
import type { PublishedFile } from './selection.ts';

/** The content of a page. */
export interface ProjectPage {
  readonly channel: string;
  /** Of the channel's folder. */
  readonly channelUrl: string;
  /** Normalised. */
  readonly project: string;
  /** Such as `https://github.com`; undefined if commits and runs cannot be linked. */
  readonly serverUrl: string | undefined;
  /** In the order of the page: newest version first. */
  readonly shown: readonly PublishedFile[];
  /** Not linked. Their facts stay on the page, so that no request is needed to tell that they are not shown. */
  readonly hidden: readonly PublishedFile[];
}

/** What a page says about the files of a project. */
export interface OnPage {
  /** By {@link idOf}. */
  readonly facts: ReadonlyMap<string, Facts>;
  /** Those with a link. */
  readonly linked: ReadonlySet<string>;
}

/** Names a file on the page of its project. */
export function idOf({ commit, name }: Pick<PublishedFile, 'commit' | 'name'>): string {
  return `${commit}/${name.filename}`;
}

/**
 * Renders the page (simple repository API, HTML: PEP 503 with hash fragments and `data-requires-python`, PEP 658 and 714
 * for `data-core-metadata`, under its older name as well). Deterministic: the same files give the same page.
 */
export function renderProjectPage(page: ProjectPage): string {
  const { project, channel, shown, hidden } = page;
  const memory = hidden.map((file) => `<li data-file="${escapeHtml(hrefOf(file))}"${dataOf(file)}></li>`);
  return htmlPage(
    `${project} in the channel ${channel}`,
    `<p>${link('../index.html', `All projects of ${escapeHtml(channel)}`)}</p>
${commands(page)}<table>
<thead><tr><th scope="col">Version</th><th scope="col">Wheel</th><th scope="col">Tags</th><th scope="col">Size</th><th scope="col">Published (UTC)</th><th scope="col">Commit</th></tr></thead>
<tbody>
${shown.map((file) => row(file, page)).join('\n')}
</tbody>
</table>
<ul hidden>
${memory.join('\n')}
</ul>`,
  );
}

/** The newest version, pinned. */
function commands({ channelUrl, shown }: ProjectPage): string {
  const [newest] = shown;
  if (newest === undefined) return '';
  const { pip, uv } = channelCommands(channelUrl, [newest.name]);
  return `<pre><code>${escapeHtml(pip)}\n${escapeHtml(uv)}</code></pre>\n`;
}

function row(file: PublishedFile, page: ProjectPage): string {
  const { name, size, lastModified } = file;
  return [
    `<tr><td>${escapeHtml(name.version.text)}</td>`,
    `<td><a href="${escapeHtml(hrefOf(file))}#sha256=${file.sha256}"${dataOf(file)}>${escapeHtml(name.filename)}</a></td>`,
    `<td>${tagList(name)}</td>`,
    `<td class="size">${shortSize(size).replace(' ', '&nbsp;')}</td>`,
    `<td class="size">${minuteOf(lastModified)}</td>`,
    `<td>${commitOf(file, page)}</td></tr>`,
  ].join('');
}

/** Relative, so that the page works both at S3's own URL and behind a CDN. */
function hrefOf(file: PublishedFile): string {
  return idOf(file).split('/').map(encodeURIComponent).join('/');
}

/** The attributes that installers read, and those that only we read. */
function dataOf(file: PublishedFile): string {
  const metadata =
    file.metadataSha256 === undefined || !file.hasMetadata ? '' : `sha256=${file.metadataSha256}`;
  const { sha256, ...facts } = metadataOf(file, file.commit, file.name);
  const attributes: [string, string][] = [
    ['requires-python', file.requiresPython ?? ''],
    ['core-metadata', metadata],
    ['dist-info-metadata', metadata],
    ['sha256', sha256 ?? ''],
    ...OWN.map((name): [string, string] => [name, facts[name] ?? '']),
  ];
  return attributes
    .filter(([, value]) => value !== '')
    .map(([name, value]) => ` data-${name}="${escapeHtml(value)}"`)
    .join('');
}

/** The facts that no installer reads. */
const OWN = ['metadata-sha256', 'run', 'attempt', 'repository', 'set'];

/** SHA-1 commits are linked. 64 digits are usually a hash of the sources, which has no page on GitHub. */
function commitOf({ commit, repository, run, attempt }: PublishedFile, { serverUrl }: ProjectPage): string {
  const hash = `<code title="${commit}">${shortCommit(commit)}</code>`;
  if (serverUrl === undefined || repository === undefined) return hash;
  const base = `${serverUrl}/${repository}`;
  const linked = commit.length === 40 ? link(`${base}/commit/${commit}`, hash) : hash;
  return `${linked}<br>${link(`${base}/actions/runs/${run}/attempts/${attempt}`, `run ${run}`)}`;
}

const FILE = /<(?:a href|li data-file)="([^"]{1,4096})"([^>]{0,8192})>/g;
const ATTRIBUTE = / data-([a-z0-9-]{1,32})="([^"]{0,4096})"/g;

/** Reads what {@link renderProjectPage} wrote. Anything else on the page is ignored. */
export function readProjectPage(html: string): OnPage {
  const facts = new Map<string, Facts>();
  const linked = new Set<string>();
  for (const [tag, href, attributes] of html.matchAll(FILE)) {
    const data = [...attributes!.matchAll(ATTRIBUTE)].map(([, name, value]) => [name!, unescapeHtml(value!)]);
    const read = factsOf(Object.fromEntries(data));
    const id = decodePath(unescapeHtml(href!).split('#')[0]!);
    if (read === undefined || id === undefined) continue;
    facts.set(id, read);
    if (tag.startsWith('<a')) linked.add(id);
  }
  return { facts, linked };
}

/** The reverse of {@link escapeHtml}, for the texts that are on our pages. */
function unescapeHtml(html: string): string {
  return html.replace(/&#([0-9]{1,3});/g, (_, code) => String.fromCharCode(Number(code)));
}

function decodePath(path: string): string | undefined {
  try {
    return path.split('/').map(decodeURIComponent).join('/');
  } catch {
    return undefined;
  }
}
