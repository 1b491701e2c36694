import { describe, expect, test } from '@jest/globals';
import { type IndexPage, linksOf, type PageEntry, renderIndexPage } from '../../src/slots/index-page.ts';
import { COMMIT } from '../../testing/job.ts';
import { pageEntry } from '../../testing/page-entry.ts';

const REPOSITORY = 'https://github.com/octo/demo';
const SHA256 = 'b'.repeat(64);

function pageOf(wheel: Partial<PageEntry> = {}, more: Partial<IndexPage> = {}): string {
  return renderIndexPage({
    place: { prefix: 'builds', commit: COMMIT },
    commitLabel: '',
    wheels: [pageEntry(wheel)],
    url: 'https://example.com/index.html',
    project: undefined,
    repositoryUrl: REPOSITORY,
    ...more,
  });
}

/** The last cell: run, and branch or pull request. */
function originIn(html: string): string {
  return /.*<td>(.*?)<\/td><\/tr>/.exec(html)![1]!;
}

const RUN = `<a href="${REPOSITORY}/actions/runs/7/attempts/1">run 7, attempt 1</a>`;

describe('the branch or pull request of the run', () => {
  test.each<[ref: string | undefined, html: string]>([
    ['refs/heads/main', `<a href="${REPOSITORY}/tree/main">main</a>`],
    ['refs/heads/a/b#c%20', `<a href="${REPOSITORY}/tree/a/b%23c%2520">a/b#c%20</a>`],
    ['refs/heads/a"<b>', `<a href="${REPOSITORY}/tree/a%22%3Cb%3E">a&#34;&#60;b&#62;</a>`],
    ['refs/heads/a\u202eb', `<a href="${REPOSITORY}/tree/a%E2%80%AEb">a\\u202eb</a>`],
    ['refs/tags/v1.0', `<a href="${REPOSITORY}/tree/v1.0">v1.0</a>`],
    ['refs/pull/5/merge', `<a href="${REPOSITORY}/pull/5">#5</a>`],
    ['refs/pull/5/head', `<a href="${REPOSITORY}/pull/5">#5</a>`],
    ['refs/heads/foo-2.0-py3-none-any.whl', 'foo-2.0-py3-none-any.whl'],
    ['refs/heads/a/foo-2.0.tar.gz', 'a/foo-2.0.tar.gz'],
  ])('%s', (ref, html) => {
    expect(originIn(pageOf({ ref }))).toBe(`${RUN}<br>${html}`);
  });

  test.each([
    undefined,
    '',
    'main',
    'refs/heads/',
    'refs/heads/../../../evil',
    'refs/heads/./x',
    'refs/heads//x',
    'refs/heads/x/',
    'refs/heads/a b',
    'refs/heads/a\nb',
    'refs/heads/a\\b',
    `refs/heads/${'x'.repeat(256)}`,
    'refs/pull/05/merge',
    'refs/pull/5',
    'refs/pull/x/merge',
    'refs/remotes/origin/main',
  ])('not shown: %j', (ref) => {
    expect(originIn(pageOf({ ref }))).toBe(RUN);
  });

  test('without a link if the repository is unknown', () => {
    const unknown = { repositoryUrl: undefined };
    expect(originIn(pageOf({ ref: 'refs/heads/main' }, unknown))).toBe('run 7, attempt 1<br>main');
    expect(originIn(pageOf({ ref: 'refs/pull/5/merge' }, unknown))).toBe('run 7, attempt 1<br>#5');
  });
});

describe('when it was stored', () => {
  test.each([
    [new Date('2026-01-02T03:04:59.999Z'), '2026-01-02 03:04'],
    [undefined, ''],
    [new Date(Number.NaN), ''],
  ])('%s', (lastModified, shown) => {
    expect(pageOf({ lastModified })).toContain(`<td class="size">${shown}</td><td>${RUN}`);
  });
});

describe('the commit', () => {
  test.each<[title: string, more: Partial<IndexPage>, html: string]>([
    ['is linked', {}, `Commit <a href="${REPOSITORY}/commit/${COMMIT}"><code>${COMMIT}</code></a>`],
    ['of an unknown repository', { repositoryUrl: undefined }, `Commit <code>${COMMIT}</code>`],
    [
      'a hash of the sources',
      { place: { prefix: 'builds', commit: SHA256 } },
      `Commit <code>${SHA256}</code>`,
    ],
    ['with a label', { commitLabel: 'a v1 + b <2>' }, 'Built from a v1 + b &#60;2&#62;'],
  ])('%s', (_title, more, html) => {
    expect(pageOf({}, more)).toContain(`<p>${html}</p>`);
  });
});

test('linksOf returns the links to wheels, and no others', () => {
  for (const ref of ['refs/heads/main', 'refs/heads/x.whl', 'refs/pull/5/merge'])
    expect(linksOf(pageOf({ ref }))).toEqual(['7_1/foo-1.0-py3-none-any.whl']);
});

test('a page without wheels has neither commands nor projects', () => {
  const html = pageOf({}, { wheels: [] });
  expect(html).not.toMatch(/<pre>|Projects:/);
  expect(html).toContain('<h1>Wheels of this commit</h1>');
});
