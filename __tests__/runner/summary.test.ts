import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { printable } from '../../src/runner/log.ts';
import type { LinkedWheel } from '../../src/runner/outputs.ts';
import { type Report, renderSummary } from '../../src/runner/summary.ts';
import { shellSafe } from '../../src/untrusted/shell.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';
import { runPython } from '../../testing/python.ts';
import { ROOT, shownText } from '../../testing/runner.ts';

const COMMIT = 'a'.repeat(40);
const BEFORE = 'b'.repeat(40);
const INDEX = `https://wheels.example.com/builds/${COMMIT}/index.html`;

function wheelOf(filename: string, more: Partial<LinkedWheel> = {}): LinkedWheel {
  const key = `builds/${COMMIT}/7_1/${more.target ?? ''}/${filename}`;
  const plainUrl = `https://wheels.example.com/${key}`;
  return {
    key,
    name: parseWheelFilename(filename),
    target: '',
    run: '7',
    attempt: '1',
    size: 1_000_000,
    etag: '',
    lastModified: undefined,
    sha256: 'c'.repeat(64),
    requiresPython: undefined,
    ref: undefined,
    url: plainUrl,
    plainUrl,
    ...more,
  };
}

const foo = wheelOf('foo-1.0-cp312-cp312-linux_x86_64.whl', { target: 'cp312' });
const foo11 = wheelOf('foo-1.0-cp311-cp311-linux_x86_64.whl', { target: 'cp311' });

function summaryOf(
  wheels: readonly LinkedWheel[],
  { commitLabel = '', ...more }: Partial<Report> & { readonly commitLabel?: string } = {},
): string {
  const inputs = {
    bucket: { name: 'my-wheels' },
    commitLabel,
    repository: 'octo/demo',
    repositoryUrl: 'https://github.com/octo/demo',
  } as Report['inputs'];
  return renderSummary({ heading: 'Wheel stored', inputs, wheels, index: undefined, ...more });
}

/** The lines of code blocks. */
function commandsIn(summary: string): string[] {
  return [...summary.matchAll(/^```sh\n(.*?)\n```$/gms)].flatMap(([, block]) => block!.split('\n'));
}

describe('the change in size', () => {
  test.each([
    ['more', 900_000, '+97.7 KiB (+11.1%) against'],
    ['less', 1_250_000, '−244.1 KiB (−20.0%) against'],
    ['a byte', 999_999, '+1 byte (+0.0%) against'],
    ['none', 1_000_000, 'none against'],
  ])('%s', (_title, size, text) => {
    const summary = summaryOf([foo], {
      before: { size, earlier: { commit: BEFORE, description: 'the base' } },
    });
    const link = `[<code>bbbbbbb</code>](https://github.com/octo/demo/commit/${BEFORE}), the base`;
    expect(summary).toContain(`| Change | ${text} ${link} |`);
  });

  test('is not shown if the earlier size is unknown', () => {
    expect(summaryOf([foo])).not.toContain('Change');
  });
});

describe('the files of the wheel', () => {
  const files = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `f${index}`, compressedSize: 1, size: 2 }));

  test('the largest are listed in a collapsed section, with their share', () => {
    const largest = [
      { name: 'foo/big_one.so', compressedSize: 750_000, size: 3_000_000 },
      { name: 'foo/a.py', compressedSize: 100, size: 200 },
    ];
    const summary = summaryOf([foo], { inventory: { files: 30, unpackedSize: 3_100_000, largest } });
    expect(shownText(summary)).toContain('<summary>The 2 largest of 30 files</summary>\n\n| File |');
    expect(shownText(summary)).toMatch(
      /\n\| <code>foo\/big_one\.so<\/code> \| 732\.4&nbsp;KiB \| 2\.9&nbsp;MiB \| 75\.0% \|\n/,
    );
    expect(shownText(summary)).toContain('| <0.1% |\n\n</details>');
    expect(shownText(summary)).toContain('976.6 KiB (1,000,000 bytes), unpacked 3.0 MiB in 30 files');
  });

  test.each([
    [1, 'All 1 file<'],
    [9, 'All 9 files<'],
  ])('%d: all are listed', (count, text) => {
    const inventory = { files: count, unpackedSize: 18, largest: files(count) };
    expect(summaryOf([foo], { inventory })).toContain(text);
  });
});

describe('the commands to install', () => {
  test('one wheel: its URL, in separate blocks for pip and uv', () => {
    expect(commandsIn(summaryOf([foo]))).toEqual([
      `pip install "${foo.plainUrl}"`,
      `uv pip install "${foo.plainUrl}"`,
    ]);
  });

  test('several wheels of one version: the index page, which lets the installer choose', () => {
    expect(commandsIn(summaryOf([foo, foo11], { index: INDEX }))).toEqual([
      `pip install --find-links "${INDEX}" foo==1.0`,
      `uv pip install --find-links "${INDEX}" foo==1.0`,
    ]);
  });

  test('several projects: all of them, with a quoted epoch', () => {
    const bar = wheelOf('bar-1!2.0+cu121-py3-none-any.whl', { target: 'bar' });
    expect(commandsIn(summaryOf([foo, bar], { index: INDEX }))[0]).toBe(
      `pip install --find-links "${INDEX}" foo==1.0 'bar==1!2.0+cu121'`,
    );
  });

  test.each([
    ['and its page', INDEX, `--find-links "${INDEX}" foo==1.0 'bar==1!2.0'`],
    ['without a page', undefined, `"${foo.plainUrl}"`],
  ])('one wheel of a commit with several projects, %s', (_title, index, args) => {
    const projects = new Set(['foo', 'bar']);
    const alongside = [parseWheelFilename('bar-1!2.0-py3-none-any.whl')];
    expect(commandsIn(summaryOf([foo], { index, projects, alongside }))[0]).toBe(`pip install ${args}`);
  });

  test('several projects, of which one has several versions: the highest', () => {
    const wheels = [foo, wheelOf('foo-2.0-py3-none-any.whl'), wheelOf('bar-1.0-py3-none-any.whl')];
    expect(commandsIn(summaryOf(wheels, { index: INDEX }))[0]).toBe(
      `pip install --find-links "${INDEX}" foo==2.0 bar==1.0`,
    );
  });

  test.each([
    ['no index page', [foo, foo11], undefined],
    ['two versions of one project', [foo, wheelOf('foo-2.0-py3-none-any.whl')], INDEX],
  ])('%s: each wheel by its URL', (_title, wheels, index) => {
    expect(commandsIn(summaryOf(wheels, { index }))).toEqual([
      ...wheels.flatMap(({ plainUrl, target, name }) => [
        `# ${target || name.filename}`,
        `pip install "${plainUrl}"`,
      ]),
      ...wheels.flatMap(({ plainUrl, target, name }) => [
        `# ${target || name.filename}`,
        `uv pip install "${plainUrl}"`,
      ]),
    ]);
  });

  test('very many wheels: the first 50', () => {
    const wheels = Array.from({ length: 60 }, (_, index) => ({ ...foo, target: `t${index}` }));
    const summary = summaryOf(wheels);
    expect(commandsIn(summary)).toHaveLength(2 * 2 * 50);
    expect(summary).toContain('For the other 10, use the links in the table below.');
  });

  test.each([[[foo]], [[foo, foo11]]])('presigned URLs are not shown', (wheels) => {
    const presigned = wheels.map((wheel) => ({ ...wheel, url: `${wheel.plainUrl}?X-Amz-Signature=1` }));
    const summary = summaryOf(presigned, { index: INDEX });
    expect(commandsIn(summary)).toEqual([]);
    expect(summary).not.toMatch(/X-Amz|<a href/);
    expect(summary).toContain('`wheel-url`');
  });
});

test('the label of a commit', () => {
  const commitLabel = 'duckdb v1.4.0 + httpfs 1a2b3c4';
  expect(summaryOf([foo], { commitLabel })).toContain(`| Built&nbsp;from | <code>${commitLabel}</code> |`);
  expect(summaryOf([foo, foo11], { commitLabel })).toContain(`\n\nBuilt from <code>${commitLabel}</code>.`);
  expect(summaryOf([foo])).not.toContain('Built');
});

describe('several wheels', () => {
  test('of one run: the run is shown once', () => {
    const summary = summaryOf([foo, foo11]);
    expect(summary.match(/attempts\/1/g)).toHaveLength(1);
    expect(summary).toMatch(/\n\nAll stored by \[run 7, attempt 1\]/);
  });

  test('of several runs: each row shows its run', () => {
    const summary = summaryOf([
      foo,
      { ...foo11, run: '8' },
      { ...foo11, run: undefined, attempt: undefined },
    ]);
    expect(summary).toContain('| Stored by |');
    expect(summary).toContain('[run 8, attempt 1]');
    expect(summary).toContain('an unknown run (the old flat layout records none) |');
  });
});

describe('text from outside', () => {
  const SEED = 20260101;
  const marks = fc.constantFrom(
    '</details>',
    '</code></summary><script>',
    '\n\n# h',
    '| x |',
    '```',
    '[x](y)',
    '<!--',
    '\u2028',
    '&lt;',
    '\\',
    '$(id) `id` "',
    '\u0000\ud800',
  );
  const part = fc.oneof(marks, fc.string({ unit: 'binary', minLength: 1 }));
  const hostile = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''));

  function oneWith(text: string): string {
    const wheel = { ...foo, target: text, sha256: text, requiresPython: text, key: text };
    const url = `https://e.com/${text}`;
    const largest = [{ name: text, compressedSize: 1, size: 1 }];
    return summaryOf([{ ...wheel, url, plainUrl: url }], {
      inventory: { files: 11, unpackedSize: 1, largest },
      before: { size: 7, earlier: { commit: BEFORE, description: text } },
      reason: text,
      heading: text,
      commitLabel: `x${text}`,
    });
  }

  function severalWith(text: string): string {
    return summaryOf([{ ...foo, target: text, sha256: text }, foo11], {
      index: INDEX,
      reason: text,
      commitLabel: `x${text}`,
    });
  }

  test('does not change the elements that GitHub’s own Markdown renders, and is shown unchanged', () => {
    const texts = ['x', ...fc.sample(hostile, { seed: SEED, numRuns: 500 })];
    const script = join(ROOT, 'testing/render_markdown.py');
    const read = (summaries: readonly string[]) =>
      runPython<{ elements: string[]; codes: string[] }[]>(
        script,
        // As in the file that the runner reads.
        summaries.map((text) => text.toWellFormed()),
      );
    for (const summaryWith of [oneWith, severalWith]) {
      const [quiet, ...rendered] = read(texts.map(summaryWith));
      expect(rendered).toHaveLength(500);
      for (const [index, { elements, codes }] of rendered.entries()) {
        expect(elements).toEqual(quiet!.elements);
        const text = texts[index + 1]!;
        expect(codes).toContain(printable(text).toWellFormed());
        if (summaryWith === oneWith)
          expect(codes).toContain(`pip install "${shellSafe(`https://e.com/${text}`)}"\n`);
      }
    }
  });
});
