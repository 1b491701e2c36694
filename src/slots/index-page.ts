/** Renders a commit's index page, for people to read, and for pip and uv to install from. Pure functions. */
import { shortSize } from '../sizes.ts';
import { escapeUnprintable } from '../untrusted/quote.ts';
import type { WheelName } from '../wheel/filename.ts';
import { type CommitPlace, commitFolder } from './layout.ts';
import { fromPage } from './pinned.ts';

/** A wheel as the page lists it. */
export interface PageEntry {
  readonly key: string;
  readonly name: WheelName;
  readonly target: string;
  /** undefined in the old flat layout. */
  readonly run: string | undefined;
  readonly attempt: string | undefined;
  /** Bytes. */
  readonly size: number;
  /** Lower-case hex; undefined if none was stored. */
  readonly sha256: string | undefined;
  readonly requiresPython: string | undefined;
  /** When it was stored, as listed; undefined if the store doesn't say. */
  readonly lastModified: Date | undefined;
  /** `GITHUB_REF` of the run that stored it, unchecked; undefined if it wasn't recorded. */
  readonly ref: string | undefined;
}

/** The content of a page. */
export interface IndexPage {
  readonly place: CommitPlace;
  /** Shown instead of the commit; empty: the commit is shown. */
  readonly commitLabel: string;
  readonly wheels: readonly PageEntry[];
  /** The URL of the commit's page. It has the wheels that a project depends on, so all commands use it. */
  readonly url: string;
  /** The project whose page this is, one folder below the commit's page; undefined: the commit's page. */
  readonly project: string | undefined;
  /** `https://github.com/owner/name`; undefined if runs, branches and commits cannot be linked. */
  readonly repositoryUrl: string | undefined;
}

/**
 * Renders the page (simple repository API, HTML: PEP 503, with hash fragments and `data-requires-python` of PEP
 * 503 and `pypi:repository-version` of PEP 629). Deterministic: the same wheels give the same page.
 */
export function renderIndexPage(page: IndexPage): string {
  const wheels = page.wheels.toSorted(byProjectThenTarget);
  const projects = projectsOf(wheels);
  const title = `Wheels of ${page.project ?? (projects.join(', ') || page.commitLabel || 'this commit')}`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="pypi:repository-version" content="1.0">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${commit(page)}</p>
${page.project === undefined ? projectList(projects) : ''}${installSection(wheels, page.url)}<table>
<thead><tr><th scope="col">Wheel</th><th scope="col">Target</th><th scope="col">Tags</th><th scope="col">Size</th><th scope="col">Stored (UTC)</th><th scope="col">Built by</th></tr></thead>
<tbody>
${wheels.map((wheel) => row(wheel, page)).join('\n')}
</tbody>
</table>
</main>
</body>
</html>
`;
}

/**
 * The links to wheels and sdists on a page. Used to compare what pip sees on two pages. No other link ends so: see
 * {@link branchLink}.
 *
 * @returns the `href` values, sorted, as they are in the HTML
 */
export function linksOf(html: string): string[] {
  return [...html.matchAll(/<a href="([^"]*)"/g)]
    .map(([, href]) => href!)
    .filter((href) => /\.(?:whl|tar\.gz)(?:#|$)/.test(href))
    .sort();
}

function byProjectThenTarget(a: PageEntry, b: PageEntry): number {
  return compare(a.name.project, b.name.project) || compare(a.target, b.target) || compare(a.key, b.key);
}

/** By code unit, so that the order doesn't depend on the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function projectsOf(wheels: readonly PageEntry[]): string[] {
  return [...new Set(wheels.map(({ name }) => name.project))];
}

/** What the wheels were built from. SHA-1 commits are linked. 64 digits are usually a hash of the sources, which has no page on GitHub. */
function commit({ place, commitLabel, repositoryUrl }: IndexPage): string {
  if (commitLabel !== '') return `Built from ${escapeHtml(commitLabel)}`;
  const hash = `<code>${escapeHtml(place.commit)}</code>`;
  const isLinkable = repositoryUrl !== undefined && place.commit.length === 40;
  return `Commit ${isLinkable ? link(`${repositoryUrl}/commit/${place.commit}`, hash) : hash}`;
}

/** The links that the root of a simple repository has (PEP 503, "Specification"). */
function projectList(projects: readonly string[]): string {
  if (projects.length === 0) return '';
  // S3 alone doesn't serve index.html for a folder.
  const links = projects.map((project) =>
    link(`${encodeURIComponent(project)}/index.html`, escapeHtml(project)),
  );
  return `<p>Projects: ${links.join(', ')}</p>\n`;
}

/** The commands for pip and uv. Wheels that depend on each other are installed together. */
function installSection(wheels: readonly PageEntry[], url: string): string {
  if (wheels.length === 0) return '';
  const names = wheels.map(({ name }) => name);
  const args = fromPage(url, names);
  const lines = ['pip', 'uv pip'].map((program) => escapeHtml(`${program} install ${args}`));
  const hint = projectsOf(wheels).length > 1 ? '<p>Leave out the projects that you don’t need.</p>\n' : '';
  return `<pre><code>${lines.join('\n')}</code></pre>\n${hint}`;
}

function row(wheel: PageEntry, page: IndexPage): string {
  const { name, target, requiresPython, sha256 } = wheel;
  const requires =
    requiresPython === undefined ? '' : ` data-requires-python="${escapeHtml(requiresPython)}"`;
  const digest = sha256 === undefined ? '' : `<br><small><code>sha256=${escapeHtml(sha256)}</code></small>`;
  return [
    `<tr><td><strong>${escapeHtml(`${name.project} ${name.version.text}`)}</strong><br>`,
    `<a href="${escapeHtml(hrefOf(wheel, page))}"${requires}>${escapeHtml(name.filename)}</a>${digest}</td>`,
    `<td>${escapeHtml(target)}</td>`,
    `<td>${tags(name)}</td>`,
    `<td class="size">${shortSize(wheel.size).replace(' ', '&nbsp;')}</td>`,
    `<td class="size">${storedAt(wheel)}</td>`,
    `<td>${[builtBy(wheel, page), ...storedFrom(wheel, page)].join('<br>')}</td></tr>`,
  ].join('');
}

/** Relative, so that the page works both at S3's own URL and behind a CDN. */
function hrefOf({ key, sha256 }: PageEntry, { place, project }: IndexPage): string {
  const path = key.slice(commitFolder(place).length).split('/').map(encodeURIComponent).join('/');
  return `${project === undefined ? '' : '../'}${path}${sha256 === undefined ? '' : `#sha256=${sha256}`}`;
}

function tags({ tags }: WheelName): string {
  const shown = tags.slice(0, 3).map((tag) => `<code>${escapeHtml(tag)}</code>`);
  return `${shown.join('<br>')}${tags.length > shown.length ? `<br>and ${tags.length - shown.length} more` : ''}`;
}

function builtBy({ run, attempt }: PageEntry, { repositoryUrl }: IndexPage): string {
  if (run === undefined) return 'unknown';
  const text = `run ${run}, attempt ${attempt}`;
  return repositoryUrl === undefined
    ? text
    : link(`${repositoryUrl}/actions/runs/${run}/attempts/${attempt}`, text);
}

/** To the minute, in the same form for all readers. */
function storedAt({ lastModified }: PageEntry): string {
  if (lastModified === undefined || Number.isNaN(lastModified.getTime())) return '';
  return lastModified.toISOString().replace(/^(.*)T(\d\d:\d\d).*$/, '$1 $2');
}

/** Longer refs, and the parts that git doesn't allow (git-check-ref-format), are not from GitHub. */
const REF =
  /^refs\/(?:pull\/(?<number>[1-9][0-9]{0,9})\/(?:merge|head)|(?:heads|tags)\/(?<name>.{1,255}))$/su;
const NOT_IN_A_REF = /(?:^|\/)(?:\.|\/|$)|\.\.|[\\:?*[~^]|\s/;

/** The pull request, branch or tag of the run; empty if it is unknown. */
function storedFrom({ ref }: PageEntry, { repositoryUrl }: IndexPage): string[] {
  const { number, name } = REF.exec(ref ?? '')?.groups ?? {};
  if (number !== undefined) {
    return [
      repositoryUrl === undefined ? `#${number}` : link(`${repositoryUrl}/pull/${number}`, `#${number}`),
    ];
  }
  if (name === undefined || NOT_IN_A_REF.test(name)) return [];
  return [repositoryUrl === undefined ? escapeHtml(name) : branchLink(name, repositoryUrl)];
}

/** What pip and uv take for a package, whatever the rest of the URL is (pip: `ARCHIVE_EXTENSIONS`, without slashes at the end). */
const ARCHIVE = /\.(?:whl|egg|zip|tar|tgz|tbz2?|txz|tlz|gz|bz2|xz|lz|lzma|zst)$/i;

/** The name of a branch or tag with a link, unless an installer would take the link for that of a wheel or archive. */
function branchLink(name: string, repositoryUrl: string): string {
  const path = name.toWellFormed().split('/').map(encodeURIComponent).join('/');
  return ARCHIVE.test(name) ? escapeHtml(name) : link(`${repositoryUrl}/tree/${path}`, escapeHtml(name));
}

/** @param html - the text of the link, escaped */
function link(url: string, html: string): string {
  return `<a href="${escapeHtml(url)}">${html}</a>`;
}

/** For text and for attributes in double quotes (HTML standard, "Escaping a string"). */
function escapeHtml(text: string): string {
  return escapeUnprintable(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `
:root{color-scheme:light dark;--text:#1f2328;--quiet:#59636e;--line:#d1d9e0;--back:#fff;--block:#f6f8fa;--link:#0969da}
@media (prefers-color-scheme:dark){:root{--text:#f0f6fc;--quiet:#9198a1;--line:#3d444d;--back:#0d1117;--block:#151b23;--link:#4493f8}}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{max-width:72rem;margin:0 auto;padding:2rem 1rem}
h1{font-size:1.5rem;margin:0 0 .25rem}
p{margin:0 0 1rem;color:var(--quiet);overflow-wrap:anywhere}
a{color:var(--link)}
code{font:.85em ui-monospace,monospace}
pre{background:var(--block);border:1px solid var(--line);border-radius:6px;padding:.75rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;display:block;overflow-x:auto}
th,td{text-align:left;vertical-align:top;padding:.5rem .75rem;border-bottom:1px solid var(--line)}
th{color:var(--quiet);font-weight:600}
td:first-child{overflow-wrap:anywhere;min-width:29rem}
small{color:var(--quiet);font-size:.7em}
.size{white-space:nowrap}
`;
