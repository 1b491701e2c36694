import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { commentKey, readMarker, renderComment, renderMarker } from '../../src/comment/text.ts';
import { printable } from '../../src/runner/log.ts';
import { shellSafe } from '../../src/untrusted/shell.ts';
import { content, KEY, marker } from '../../testing/marked-comments.ts';
import { runPython } from '../../testing/python.ts';
import { ROOT } from '../../testing/runner.ts';

const SEED = 20260101;
const MAX_CHARACTERS = 65_536;

describe('the hidden first line', () => {
  test.each([marker(), marker({ commit: 'c'.repeat(64), run: '9'.repeat(30) })])(
    '%p is read back',
    (written) => {
      const body = `${renderMarker(written)}\nText`;
      expect(readMarker(body)).toEqual(written);
      expect(readMarker(body.replaceAll('\n', '\r\n'))).toEqual(written);
      expect(body.match(/-->/g)).toHaveLength(1);
    },
  );

  test.each<[title: string, body: (line: string) => string]>([
    ['quoted', (line) => `> ${line}`],
    ['in the middle', (line) => `Look:\n${line}`],
    ['after a space', (line) => ` ${line}`],
    ['followed by text', (line) => `${line} text`],
    ['with a run that is not a number', (line) => line.replace('run=7', 'run=x')],
    ['with a key of another length', (line) => line.replace(KEY, `${KEY}0`)],
    ['truncated', (line) => line.slice(0, -4)],
    ['missing', () => 'Text'],
    ['an empty comment', () => ''],
  ])('%s: not read', (_title, body) => {
    expect(readMarker(body(renderMarker(marker())))).toBeUndefined();
  });

  test('contains only a hash of the key, which differs for each part', () => {
    const parts = {
      endpoint: '',
      bucket: 'wheels',
      prefix: 'builds',
      workflow: 'o/r/.github/workflows/a.yml',
    };
    const keys = [
      commentKey(parts),
      commentKey({ ...parts, endpoint: 'https://s3.example.com' }),
      commentKey({ ...parts, bucket: 'other' }),
      commentKey({ ...parts, prefix: 'pull-requests' }),
      commentKey({ ...parts, workflow: 'o/r/.github/workflows/b.yml' }),
      commentKey({ ...parts, prefix: 'builds-->', workflow: '' }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) expect(readMarker(renderMarker(marker({ key })))?.key).toBe(key);
  });
});

describe('GitHub’s size limit', () => {
  test('wheels that do not fit are counted', () => {
    const counts = fc.tuple(fc.nat(400), fc.nat(900));
    fc.assert(
      fc.property(counts, ([count, length]) => {
        const names = Array.from({ length: count }, (_, index) => `t${index}${'x'.repeat(length)}`);
        const body = renderComment(marker(), {
          ...content(...names),
          indexUrl: 'https://example.com/index.html',
        });
        const shown = body.split('<details').length - 1;
        const left = Number(/^And (\d+) more/m.exec(body)?.[1] ?? 0);
        expect(body.length).toBeLessThanOrEqual(MAX_CHARACTERS);
        expect(shown + left).toBe(count);
        expect(body).toMatch(/\[All wheels of this commit\]\(<https:\/\/example\.com\/index\.html>\)\n$/);
        const section = body.length / Math.max(shown, 1);
        if (left > 0) expect(body.length + section * 2).toBeGreaterThan(MAX_CHARACTERS);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });
});

describe('several projects', () => {
  const url = 'https://example.com/index.html';
  test.each([
    ['one command installs them together', `--find-links "${url}" foo==1.0 bar==2.0`, true],
    ['no such command if it is very long', `--find-links "${url}" ${'x'.repeat(9_000)}==1.0`, false],
  ])('%s', (_title, together, isShown) => {
    const body = renderComment(marker(), { ...content('t1', 't2'), indexUrl: url, together });
    const commands = [...body.matchAll(/^(?:uv )?pip install (.*)$/gm)].map(([, args]) => args);
    expect(commands.filter((args) => args === together)).toHaveLength(isShown ? 2 : 0);
    expect(commands.filter((args) => args?.startsWith('"'))).toHaveLength(4);
  });
});

describe('text from outside is not interpreted', () => {
  const hostile = fc.oneof(
    fc.constantFrom(
      '<img src=x onerror=alert(1)>',
      '</code></summary></details><script>',
      '`code`',
      '```\n# heading',
      '@octocat #1 :tada:',
      '[link](https://example.com)',
      '-->\n**bold**',
      '"; rm -rf ~; "',
      '$(id) `id` ${HOME} !!',
      '\u0000\u001b[31m\u2028\ud800',
    ),
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.string({ maxLength: 30 }),
  );

  test('by GitHub’s own Markdown', () => {
    const entry = fc.record({
      target: hostile,
      filename: hostile.filter((name) => name !== ''),
      base: hostile,
    });
    const cases = fc.sample(entry, { seed: SEED, numRuns: 500 });
    const bodies = cases.map(({ target, filename, base }) =>
      renderComment(marker(), {
        entries: [{ target, filename, url: `https://example.com/${base}`, size: 1 }],
        indexUrl: `https://example.com/${base}`,
        commitLabel: `at ${target}`,
        together: undefined,
      }),
    );
    const quiet = ['h3', 'details', 'summary', 'code', 'code', 'pre', 'code', 'pre', 'code', 'p', 'a'];
    const rendered = runPython<{ elements: string[]; codes: string[]; links: string[] }[]>(
      join(ROOT, 'testing/render_markdown.py'),
      bodies,
    );
    expect(rendered).toHaveLength(500);
    for (const [index, { elements, codes, links }] of rendered.entries()) {
      const url = shellSafe(`https://example.com/${cases[index]!.base}`);
      const { target, filename } = cases[index]!;
      expect(elements).toEqual(quiet);
      expect(codes[0]).toBe(printable(target === '' ? filename : target).toWellFormed());
      const label = printable(`at ${target}`).toWellFormed();
      expect(codes.slice(1)).toEqual([label, `pip install "${url}"\n`, `uv pip install "${url}"\n`]);
      expect(links).toEqual([expect.stringContaining('https://example.com/')]);
    }
  });

  test('by bash in the commands', () => {
    const urls = fc
      .sample(hostile, { seed: SEED, numRuns: 500 })
      .map((base) => shellSafe(`https://e.com/${base}`));
    const script = `set -o history -o histexpand\n${urls.map((url) => `printf '%s\\n' "${url}"`).join('\n')}`;
    const { stdout, stderr } = spawnSync('bash', ['--norc'], { input: script, encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(stdout.trimEnd().split('\n')).toEqual(urls);
  });

  test.each([
    ['https://e.com/foo-1.0%2Bcu121-py3-none-any.whl', 'https://e.com/foo-1.0%2Bcu121-py3-none-any.whl'],
    ['https://e.com/a(b)~c/d', 'https://e.com/a%28b%29~c/d'],
    ['https://e.com/$(id)`id`"\\!', 'https://e.com/%24%28id%29%60id%60%22%5C%21'],
    ['https://e.com/a\nb é', 'https://e.com/a%0Ab%20%C3%A9'],
  ])('%p is escaped as %p', (url, safe) => {
    expect(shellSafe(url)).toBe(safe);
  });
});
