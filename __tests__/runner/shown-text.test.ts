import { describe, expect, test } from '@jest/globals';
import { renderComment } from '../../src/comment/text.ts';
import { printable } from '../../src/runner/log.ts';
import { escapeCell } from '../../src/runner/markdown.ts';
import { cutToLimit } from '../../src/runner/summary.ts';
import { readableSize } from '../../src/sizes.ts';
import { renderIndexPage } from '../../src/slots/index-page.ts';
import { readCommands, shownText } from '../../testing/runner.ts';

describe('text from outside cannot start a workflow command', () => {
  test.each([
    ['::error::owned'],
    ['  ::set-output name=x::y'],
    ['a\n::error::owned'],
    ['a\r\n::error::owned'],
    ['a\u2028::error::owned'],
    ['##[error]owned'],
    ['a ##[add-mask]b'],
    ['%0A::error::owned'],
  ])('%p', (text) => {
    expect(readCommands(printable(text))).toEqual([]);
    expect(printable(text).split(/\r\n|\n|\r/)).toHaveLength(1);
    expect(printable(text)).toContain('owned'.slice(0, text.includes('owned') ? 5 : 0));
  });
});

describe('case 52: invisible characters are escaped', () => {
  const invisible = [
    ...[
      '\u061c',
      '\u200b',
      '\u200c',
      '\u200d',
      '\u200e',
      '\u200f',
      '\u202a',
      '\u202b',
      '\u202c',
      '\u202d',
      '\u202e',
    ],
    ...[
      '\u2060',
      '\u2066',
      '\u2067',
      '\u2068',
      '\u2069',
      '\ufeff',
      '\u00ad',
      '\u2028',
      '\u2029',
      '\u180e',
      '\u3164',
    ],
    ...['\0', '\u001b', '\u007f', '\u0085', '\ufff9', '\ud800'],
  ];
  test.each(invisible)('%j in the log, the summary, the comment and the index page', (character) => {
    const code = character.charCodeAt(0).toString(16);
    const long = `\\u${code.padStart(4, '0')}`;
    const shown = code.length <= 2 && code < 'a0' ? `\\x${code.padStart(2, '0')}` : long;
    expect(printable(`a${character}b`)).toBe(`a${shown}b`);
    expect(shownText(escapeCell(`a${character}b`))).toBe(`a${shown}b`);
    const entry = { target: `t${character}`, filename: 'x', url: 'https://x/y', size: 1 };
    const marker = { key: 'k', run: '1', attempt: '1', commit: 'c', by: 'b' };
    const comment = renderComment(marker, {
      entries: [entry],
      indexUrl: undefined,
      commitLabel: `l${character}`,
      together: undefined,
    });
    expect(shownText(comment)).toContain(`t${shown}`);
    expect(shownText(comment)).toContain(`l${shown}`);
    expect(comment).not.toContain(character === '\n' ? '' : character);
    const page = renderIndexPage({
      place: { prefix: '', commit: 'a'.repeat(40) },
      commitLabel: `l${character}`,
      wheels: [],
      url: `https://x/${character}`,
      project: `p${character}`,
      repositoryUrl: undefined,
    });
    expect(page).toContain(`Wheels of p${long}`);
    expect(page).toContain(`Built from l${long}<`);
    expect(page).not.toContain(character);
  });

  test('beyond the Basic Multilingual Plane: both surrogates', () => {
    expect(printable('a\u{e0041}b')).toBe('a\\udb40\\udc41b');
    expect(printable('名 😀 é')).toBe('名 😀 é');
  });
});

describe('text from outside stays text in the summary', () => {
  test.each([
    ['<img src=x onerror=alert(1)>'],
    ['a | b'],
    ['`code`'],
    ['[link](https://example.com)'],
    ['https://example.com'],
    ['**bold** _it_ ~~no~~'],
    ['@octocat #1'],
    ['\\| \\`'],
  ])('%p', (text) => {
    const cell = escapeCell(text);
    expect(cell).not.toMatch(/[<>|`*_[\]\\~@:]/);
    expect(shownText(cell)).toBe(text);
  });
});

describe('the size limit of a summary', () => {
  test('a longer summary is cut at the end of a line, with a note', () => {
    const markdown = 'é'.repeat(10).concat('\n').repeat(1000);
    const cut = cutToLimit(markdown, 5000);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(5000);
    expect(cut).toMatch(/é{10}\n\n_The rest of this summary was left out/);
  });

  test('a shorter summary is not changed', () => {
    expect(cutToLimit('é\n', 3)).toBe('é\n');
  });
});

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1024, '1.0 KiB (1,024 bytes)'],
  [1_468_006, '1.4 MiB (1,468,006 bytes)'],
  [1024 ** 2 - 1, '1.0 MiB (1,048,575 bytes)'],
  [6 * 1024 ** 3, '6.0 GiB (6,442,450,944 bytes)'],
])('%d bytes are shown as %s', (bytes, text) => {
  expect(readableSize(bytes)).toBe(text);
});
