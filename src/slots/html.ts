/** What the pages for people and installers share: escaping, the frame and the look. Pure functions. */
import { escapeUnprintable } from '../untrusted/quote.ts';
import type { WheelName } from '../wheel/filename.ts';

/** The headers of a page. Installers must see a new wheel at once. */
export const PAGE_HEADERS = { contentType: 'text/html; charset=utf-8', cacheControl: 'no-cache' };

/**
 * Renders a page (simple repository API: PEP 503, and `pypi:repository-version` of PEP 629).
 *
 * @param title - text
 * @param content - HTML
 */
export function htmlPage(title: string, content: string): string {
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
${content}
</main>
</body>
</html>
`;
}

/** The first tags of a wheel, as HTML. */
export function tagList({ tags }: Pick<WheelName, 'tags'>): string {
  const shown = tags.slice(0, 3).map((tag) => `<code>${escapeHtml(tag)}</code>`);
  return `${shown.join('<br>')}${tags.length > shown.length ? `<br>and ${tags.length - shown.length} more` : ''}`;
}

/** A time (UTC) to the minute, in the same form for all readers; empty if unknown. */
export function minuteOf(time: Date | undefined): string {
  if (time === undefined || Number.isNaN(time.getTime())) return '';
  return time.toISOString().replace(/^(.*)T(\d\d:\d\d).*$/, '$1 $2');
}

/** Compares by code unit, so that the order doesn't depend on the locale. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * A link.
 *
 * @param html - its text, escaped
 */
export function link(url: string, html: string): string {
  return `<a href="${escapeHtml(url)}">${html}</a>`;
}

/** Escapes text for HTML: for text and for attributes in double quotes (HTML standard, "Escaping a string"). */
export function escapeHtml(text: string): string {
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
