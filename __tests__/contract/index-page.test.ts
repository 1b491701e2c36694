import { beforeAll, describe, expect, test } from '@jest/globals';
import { HtmlValidate } from 'html-validate';
import { linksOf } from '../../src/slots/index-page.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, startJob } from '../../testing/job.ts';
import { makeWheel, sha256, wheelBytes } from '../../testing/wheels.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

describe('each store updates the pages of the commit and of the project', () => {
  test('with links to every target, hashes and Requires-Python', async () => {
    await using job = await startJob(bucket);
    const names = { one: 'foo-1.0+cu121-py3-none-any.whl', two: 'Bar_b-2.0-py3-none-any.whl' };
    await makeWheel(job.workspace, `one/${names.one}`, { metadata: ['Requires-Python: >=3.9,<4'] });
    await makeWheel(job.workspace, `two/${names.two}`);
    const first = await job.step('store', { path: 'one', target: 'one' });
    await job.step('store', { path: 'two', target: 'two' });
    const html = await job.page();
    const link = `7_1/one/foo-1.0%2Bcu121-py3-none-any.whl#sha256=${first.outputs.sha256}`;
    expect(linksOf(html)).toEqual([link, `7_1/two/${names.two}#sha256=${sha256(wheelBytes(names.two))}`]);
    expect(html).toContain('data-requires-python="&#62;=3.9,&#60;4"');
    expect(html).toContain('https://github.com/octo/demo/actions/runs/7/attempts/1');
    expect(linksOf(await job.page('foo'))).toEqual([`../${link}`]);
    expect(linksOf(await job.page('bar-b'))).toHaveLength(1);
    const { CacheControl, ContentType } = await bucket.head(`${job.prefix}/${COMMIT}/index.html`);
    expect({ CacheControl, ContentType }).toEqual({
      CacheControl: 'no-cache',
      ContentType: 'text/html; charset=utf-8',
    });
  });

  test('with the newest wheel of each target', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl');
    await job.step('store');
    await job.step('store', {}, { GITHUB_RUN_ATTEMPT: '2' });
    expect(linksOf(await job.page())).toEqual([expect.stringMatching(/^7_2\//)]);
  });

  test('as valid HTML', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl', { metadata: ['Requires-Python: >=3.9,!="x"&<'] });
    await job.step('store', {}, { GITHUB_REF: 'refs/heads/a<b>&"c"' });
    await makeWheel(job.workspace, 'bar/bar-1.0-py3-none-any.whl');
    await job.step('store', { path: 'bar', target: 'bar' }, { GITHUB_REF: 'refs/pull/5/merge' });
    const validator = new HtmlValidate({ extends: ['html-validate:standard'] });
    for (const html of [await job.page(), await job.page('foo')]) {
      const { results } = await validator.validateString(html);
      expect(results.flatMap(({ messages }) => messages.map(({ message }) => message))).toEqual([]);
    }
  });

  test('with the size, the time, the branch or pull request, and the commit', async () => {
    await using job = await startJob(bucket);
    const noise = { 'foo/noise.bin': new Uint8Array(3_000_000) };
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl', { files: noise, level: 0 });
    const { summary } = await job.step('store', {}, { GITHUB_REF: 'refs/heads/feature/x' });
    await makeWheel(job.workspace, 'pull/foo-1.0-py3-none-any.whl');
    await job.step('store', { path: 'pull', target: 'pull' }, { GITHUB_REF: 'refs/pull/5/merge' });
    const html = await job.page();
    expect(html).toContain('>2.9&nbsp;MiB<');
    expect(summary).toContain('2.9 MiB');
    const github = 'https://github.com/octo/demo';
    expect(html).toContain(`<a href="${github}/tree/feature/x">feature/x</a>`);
    expect(html).toContain(`<a href="${github}/pull/5">#5</a>`);
    expect(html).toContain(`Commit <a href="${github}/commit/${COMMIT}"><code>${COMMIT}</code></a>`);
    const key = `${job.prefix}/${COMMIT}/7_1/foo-1.0-py3-none-any.whl`;
    const { Metadata, LastModified } = await bucket.head(key);
    expect(Metadata).toMatchObject({ ref: 'refs/heads/feature/x' });
    expect(html).toContain(`>${LastModified!.toISOString().slice(0, 16).replace('T', ' ')}<`);
  });

  test('without a branch, for wheels that were stored without one', async () => {
    await using job = await startJob(bucket);
    const old = `${job.prefix}/${COMMIT}/6_1/old/foo-1.0-py3-none-any.whl`;
    await bucket.put(old, wheelBytes('foo-1.0-py3-none-any.whl'), { commit: COMMIT, run: '6' });
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl');
    // Only printable ASCII can be sent in a header.
    const result = await job.step('store', {}, { GITHUB_REF: 'refs/heads/größe' });
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    const html = await job.page();
    expect(linksOf(html)).toHaveLength(2);
    expect(html).not.toContain('/tree/');
    expect(html).toContain('attempt 1</a></td>');
    expect((await job.step('find', { target: 'old' })).outputs['skip-build']).toBe('true');
  });

  test('with the links to projects of a simple repository’s root', async () => {
    await using job = await startJob(bucket);
    for (const [target, name] of [
      ['a', 'Foo_x-1.0'],
      ['b', 'bar-1.0'],
    ] as const) {
      await makeWheel(job.workspace, `${target}/${name}-py3-none-any.whl`);
      await job.step('store', { path: target, target });
    }
    const projectsIn = (html: string) =>
      [...html.matchAll(/<a href="([^"/]*)\/index\.html">([^<]*)<\/a>/g)].map(([, href, text]) => [
        href,
        text,
      ]);
    expect(projectsIn(await job.page())).toEqual([
      ['bar', 'bar'],
      ['foo-x', 'foo-x'],
    ]);
    expect(projectsIn(await job.page('bar'))).toEqual([]);
  });

  test('index: false: no page, and a line in the log', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl');
    const result = await job.step('store', { index: 'false' });
    expect(result.outputs['index-url']).toBe('');
    expect(result.log).toContain('index: false');
    expect(await bucket.keys(`${job.prefix}/${COMMIT}/index`)).toEqual([]);
  });

  test('without permission to read the page, the wheel is still stored, with a warning', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl');
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'get' ? s3Error(403, 'AccessDenied') : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result).toMatchObject({ code: 0, errors: [] });
    expect(result.outputs).toMatchObject({ 'index-url': '', 'wheel-name': 'foo-1.0-py3-none-any.whl' });
    expect(result.warnings[0]).toContain('s3:GetObject');
  });
});

describe('case 57: the next store undoes a foreign change to a page', () => {
  const LARGE = 9 * 1024 * 1024;
  test.each<[title: string, change: (html: string) => string | Uint8Array]>([
    ['a link in upper case', (html) => html.replace('<table>', "<A HREF='evil.whl'>foo</A><table>")],
    ['a link without quotes', (html) => html.replace('<table>', '<a class=x href=evil.whl>foo</a><table>')],
    ['a source archive', (html) => html.replace('<table>', '<a href="foo-9.tar.gz">foo</a><table>')],
    ['a base element', (html) => html.replace('<head>', '<head><base href="https://evil.example.com/">')],
    ['another Requires-Python', (html) => html.replace('data-requires-python="&#62;=3.9"', '')],
    [
      'a script',
      (html) => html.replace('</body>', '<script src="https://evil.example.com/"></script></body>'),
    ],
    ['a command for another project', (html) => html.replaceAll(/(?<=&#34; )foo/g, 'fooo')],
    ['a space at the end', (html) => `${html} `],
    ['a byte order mark', (html) => Buffer.from(`\uFEFF${html}`)],
    ['other headers', (html) => html],
    ['an empty page', () => ''],
    ['bytes that are not text', () => Buffer.from([0xff, 0xfe, 0x00, 0xc3])],
    ['an object that is too large', (html) => Buffer.concat([Buffer.from(html), Buffer.alloc(LARGE)])],
  ])('%s', async (_title, change) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl', { metadata: ['Requires-Python: >=3.9'] });
    await job.step('store');
    const projects = [undefined, 'foo'];
    const before = await Promise.all(projects.map((project) => job.page(project)));
    const key = (project?: string) =>
      `${job.prefix}/${COMMIT}/${project === undefined ? '' : `${project}/`}index.html`;
    for (const [index, project] of projects.entries()) await bucket.put(key(project), change(before[index]!));
    expect(await job.step('store')).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect(await Promise.all(projects.map((project) => job.page(project)))).toEqual(before);
    for (const project of projects) {
      const { CacheControl, ContentType } = await bucket.head(key(project));
      expect({ CacheControl, ContentType }).toEqual({
        CacheControl: 'no-cache',
        ContentType: 'text/html; charset=utf-8',
      });
    }
  });

  test('the page of another project is left alone', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl');
    const other = `${job.prefix}/${COMMIT}/bar/index.html`;
    await bucket.put(other, 'theirs');
    await job.step('store');
    expect((await bucket.get(other)).toString()).toBe('theirs');
  });

  test('an object of 200 MB is not read', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl');
    await job.step('store');
    const before = await job.page();
    await bucket.put(`${job.prefix}/${COMMIT}/index.html`, 'x');
    // The body is shorter than announced, so reading it to the end would fail.
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
      operation === 'get' && nth <= 2 ? { misstateBy: 200_000_000 } : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    expect((await job.page()).replaceAll(proxy.endpoint, bucket.endpoint)).toBe(before);
  });

  test.each([
    ['another version of this action', (html: string) => html.replace('<h1>', '<h1 class="title">')],
    ['a proxy that adds a script to each page', (html: string) => `${html}<script></script>`],
  ])('%s: each page is put only once', async (_title, change) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-py3-none-any.whl');
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation !== 'get'
        ? undefined
        : {
            change: ({ status, headers, body }) => ({
              status,
              headers,
              body: status === 200 ? Buffer.from(change(body.toString())) : body,
            }),
          },
    );
    for (const pages of [2, 4]) {
      const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
      expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
      const puts = proxy.requests.filter(
        ({ operation, path }) => operation === 'put' && path.endsWith('/index.html'),
      );
      expect(puts).toHaveLength(pages);
    }
  });
});

describe('32 jobs of a matrix store at the same time', () => {
  test.each([
    ['on a store with conditional writes', []],
    ['on a store that ignores them', ['if-match', 'if-none-match']],
  ])('%s: all 32 links are there, each once', async (_title, without) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
      operation === 'put' && without.length > 0 ? { without } : undefined,
    );
    const targets = Array.from({ length: 32 }, (_, index) => `t${index}`);
    await Promise.all(
      targets.map((target) => makeWheel(job.workspace, `${target}/foo-1.0-1${target}-py3-none-any.whl`)),
    );
    const results = await Promise.all(
      targets.map((target) => job.step('store', { target, path: target, 'endpoint-url': proxy.endpoint })),
    );
    expect(results.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    const expected = results.map(
      ({ outputs }) => `7_1/${outputs['wheel-key']!.split('/7_1/')[1]}#sha256=${outputs.sha256}`,
    );
    expect(linksOf(await job.page())).toEqual(expected.sort());
    expect(linksOf(await job.page('foo'))).toHaveLength(32);
    // Whoever wrote it last, the page is the same.
    const before = await job.page();
    await job.step('store', { target: 't0', path: 't0', 'endpoint-url': proxy.endpoint });
    expect(await job.page()).toBe(before);
  });
});
