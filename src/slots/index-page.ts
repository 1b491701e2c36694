/** Renders a commit's index page, for people to read, and for pip and uv to install from. Pure functions. */
import { shortSize } from '../sizes.ts';
import type { WheelName } from '../wheel/filename.ts';
import { byCodeUnit, escapeHtml, htmlPage, link, minuteOf, tagList } from './html.ts';
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
  return htmlPage(
    title,
    `<p>${commit(page)}</p>
${page.project === undefined ? projectList(projects) : ''}${installSection(wheels, page.url)}<table>
<thead><tr><th scope="col">Wheel</th><th scope="col">Target</th><th scope="col">Tags</th><th scope="col">Size</th><th scope="col">Stored (UTC)</th><th scope="col">Built by</th></tr></thead>
<tbody>
${wheels.map((wheel) => row(wheel, page)).join('\n')}
</tbody>
</table>`,
  );
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
  return (
    byCodeUnit(a.name.project, b.name.project) || byCodeUnit(a.target, b.target) || byCodeUnit(a.key, b.key)
  );
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
    `<td>${tagList(name)}</td>`,
    `<td class="size">${shortSize(wheel.size).replace(' ', '&nbsp;')}</td>`,
    `<td class="size">${minuteOf(wheel.lastModified)}</td>`,
    `<td>${[builtBy(wheel, page), ...storedFrom(wheel, page)].join('<br>')}</td></tr>`,
  ].join('');
}

/** Relative, so that the page works both at S3's own URL and behind a CDN. */
function hrefOf({ key, sha256 }: PageEntry, { place, project }: IndexPage): string {
  const path = key.slice(commitFolder(place).length).split('/').map(encodeURIComponent).join('/');
  return `${project === undefined ? '' : '../'}${path}${sha256 === undefined ? '' : `#sha256=${sha256}`}`;
}

function builtBy({ run, attempt }: PageEntry, { repositoryUrl }: IndexPage): string {
  if (run === undefined) return 'unknown';
  const text = `run ${run}, attempt ${attempt}`;
  return repositoryUrl === undefined
    ? text
    : link(`${repositoryUrl}/actions/runs/${run}/attempts/${attempt}`, text);
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
