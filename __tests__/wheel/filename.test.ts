import { describe, expect, test } from '@jest/globals';
import { WheelStoreError } from '../../src/errors.ts';
import { parseWheelFilename, readWheelFilename, wheelNameFault } from '../../src/wheel/filename.ts';

function refusal(filename: string): WheelStoreError {
  try {
    parseWheelFilename(filename);
  } catch (error) {
    if (error instanceof WheelStoreError) return error;
    throw error;
  }
  throw new Error(`${filename} was not refused`);
}

describe('a filename of a wheel', () => {
  test('is parsed into its parts', () => {
    expect(parseWheelFilename('Foo.bar_x-1!2.0RC1+Ubuntu_1-20240131235959a-cp39.CP310-abi3-any.whl')).toEqual(
      {
        filename: 'Foo.bar_x-1!2.0RC1+Ubuntu_1-20240131235959a-cp39.CP310-abi3-any.whl',
        project: 'foo-bar-x',
        version: {
          text: '1!2.0rc1+ubuntu.1',
          epoch: 1n,
          release: [2n, 0n],
          pre: { phase: 'rc', number: 1n },
          post: undefined,
          dev: undefined,
          local: ['ubuntu', 1n],
        },
        build: [20240131235959n, 'a'],
        tags: ['cp39-abi3-any', 'cp310-abi3-any'],
      },
    );
  });

  test.each([
    ['foo-1.0-1abc-py3-none-any.whl'],
    ['foo-1.0-cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl'],
    ['foo-1!2.0rc1-py2.py3-none-any.whl'],
    ['foo-1.0+ubuntu_1-py3-none-any.whl'],
    ['foo_bar-1.0-cp313-cp313t-musllinux_1_2_aarch64.whl'],
  ])('is accepted: %s', (filename) => {
    expect(parseWheelFilename(filename).filename).toBe(filename);
    expect(readWheelFilename(filename)?.filename).toBe(filename);
  });

  test('keeps a hash in a local version that looks like a number', () => {
    expect(parseWheelFilename('foo-1.0+1e5-py3-none-any.whl').version.text).toBe('1.0+1e5');
    expect(parseWheelFilename('foo-1.0+0x10.007-py3-none-any.whl').version.text).toBe('1.0+0x10.7');
    expect(parseWheelFilename('foo-1.0.dev20240131235959123456789-py3-none-any.whl').version.text).toBe(
      '1.0.dev20240131235959123456789',
    );
  });
});

describe('an invalid name is refused with the fault and a remedy', () => {
  test.each([
    ['foo-latest-py3-none-any.whl', '"latest" is not a version (PEP 440)', 'A version is like 1.0'],
    ['foo-1.0.whl', 'it has 2 parts between dashes instead of 5 or 6', 'The form is {project}-{version}'],
    [
      'foo-1.0-abc-py3-none-any.whl',
      '"abc", is the build tag, and that does not start with a digit',
      'digit',
    ],
    ['foo__bar-1.0-py3-none-any.whl', '"foo__bar" is not an escaped project name', 'as one _'],
    ['foo-1.0_1-py3-none-any.whl', '"1.0_1" is not a version', 'A version is like 1.0'],
    ['foo-1.0%2Bcu121-py3-none-any.whl', 'percent-encoded', '"foo-1.0+cu121-py3-none-any.whl"'],
    ['foo-1.0-py3-none-any (1).whl', 'a browser numbered it', 'Rename it to "foo-1.0-py3-none-any.whl"'],
    ['foo-1.0-py3-none-any.WHL', 'its suffix is not in lower case', 'end in .whl'],
    [
      'foo-1.0-py3-none-linux_amd64-noavx.whl',
      'the third, "py3", is the build tag',
      'a dash inside of any other part as _',
    ],
    ['foo-1.0-py3-none-any.whl ', 'it ends in white space', 'end in .whl'],
    ['foo-1.0.tar.gz', 'it does not end in .whl', 'The form is {project}-{version}'],
    [
      'foo-1.0-py3-none-any+x.whl',
      '"any+x" is not a valid part of a compatibility tag',
      'letters, digits, _ and .',
    ],
    [
      'foo-1.0-py3..py2-none-any.whl',
      '"" is not a valid part of a compatibility tag',
      'letters, digits, _ and .',
    ],
    ['foo-1.0-3.12-none-any.whl', '"3" is not a Python tag', 'begins with a letter'],
    ['foo-1.0-1\\..\\x-py3-none-any.whl', 'it holds "\\\\"', 'only letters'],
  ])('%s', (filename, fault, remedy) => {
    const error = refusal(filename);
    expect(error.title).toBe('Not a wheel filename');
    expect(error.reason).toContain(fault);
    expect(error.remedy).toContain(remedy);
    expect(readWheelFilename(filename)).toBeUndefined();
  });

  test('on one line and without control characters, even if it is long and hostile', () => {
    for (const hostile of [
      'foo-1.0-py3-none-any\r\n::error::x.whl',
      'foo-\u001b[2J-py3-none-any.whl',
      'foo-\u2028::set-output name=x::y\u0085-py3-none-any.whl',
      'foo-\u202e1.0-py3-none-any.whl',
      `foo-${'9'.repeat(5_000)}x-py3-none-any.whl`,
      '\ud800-1.0-py3-none-any.whl',
    ]) {
      const { message } = refusal(hostile);
      expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(message.length).toBeLessThan(1_000);
    }
  });
});

describe('case 50: a name is safe in a command', () => {
  const unsafe = [
    ...[
      '$(id)',
      '`id`',
      ';id',
      '&id',
      '|id',
      '>x',
      '<x',
      '%PATH%',
      '^',
      '"',
      "'",
      ' ',
      '~',
      '*',
      '?',
      '#',
      '=',
    ],
    ...[
      '(1)',
      '[a]',
      '{a,b}',
      '$x',
      '\\x',
      '\n',
      '\r\n',
      '\t',
      '\0',
      '\u0085',
      '\u00a0',
      '\u2028',
      ',',
      '@',
      ':',
      '/',
    ],
    ...['é', '名', '\u202e', '\u200b', '٣', '\ufeff', '😀', '\ud800'],
  ];
  const patterns = [
    (text: string) => `demo${text}-1.0-py3-none-any.whl`,
    (text: string) => `demo-1.0${text}-py3-none-any.whl`,
    (text: string) => `demo-1.0+${text}-py3-none-any.whl`,
    (text: string) => `demo-1.0-1${text}-py3-none-any.whl`,
    (text: string) => `demo-1.0-py3${text}-none-any.whl`,
    (text: string) => `demo-1.0-py3-none-any${text}.whl`,
  ];

  test.each(unsafe)('%j is refused in every part', (text) => {
    for (const pattern of patterns) {
      const filename = pattern(text);
      expect(readWheelFilename(filename)).toBeUndefined();
      expect(refusal(filename).title).toBe('Not a wheel filename');
      expect(wheelNameFault(filename)).toMatch(/^it |^a browser numbered it/);
      expect(wheelNameFault(filename)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    }
  });

  test('the error shows the character', () => {
    expect(wheelNameFault('demo-1.0-1$(id)-py3-none-any.whl')).toBe('it holds "$"');
    expect(wheelNameFault('démo-1.0-py3-none-any.whl')).toBe('it holds "é"');
    expect(refusal('demo-1.0-1$(id)-py3-none-any.whl').remedy).toContain(
      'only letters (A to Z, a to z), digits',
    );
  });

  test('a name that does not look like a wheel has no fault', () => {
    for (const filename of [
      'index.html',
      '',
      'demo-1.0.tar.gz',
      '.claim',
      'demo-1.0-py3-none-any.whl',
      'whl',
    ]) {
      expect(wheelNameFault(filename)).toBeUndefined();
    }
    expect(wheelNameFault('demo-1.0-py3-none-any.WHL')).toBe('its suffix is not in lower case');
  });

  test('a name that is too long or expands to too many tags is refused', () => {
    const ofLength = (length: number) =>
      `${'d'.repeat(length - '-1.0-py3-none-any.whl'.length)}-1.0-py3-none-any.whl`;
    expect(wheelNameFault(ofLength(1_024))).toBeUndefined();
    expect(wheelNameFault(ofLength(1_025))).toBe('it is longer than 1024 bytes');
    const set = (count: number) => Array.from({ length: count }, (_, index) => `a${index}`).join('.');
    expect(readWheelFilename(`d-1-${set(10)}-${set(10)}-${set(10)}.whl`)?.tags).toHaveLength(1_000);
    expect(wheelNameFault(`d-1-${set(10)}-${set(10)}-${set(11)}.whl`)).toBe(
      'it expands to more than 1000 tags',
    );
  });
});

test('ten thousand names of a listing are parsed quickly, including hostile ones', () => {
  const set = Array.from({ length: 10 }, (_, index) => `a${index}`).join('.');
  const names = Array.from({ length: 5_000 }, (_, index) => [
    `foo-1.0.dev${index}-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl`,
    // A thousand tags each, which are not used.
    `foo-1.0.dev${index}-${set}-${set}-${set}.whl`,
  ]).flat();
  const before = process.cpuUsage();
  expect(names.filter((name) => readWheelFilename(name) !== undefined)).toHaveLength(10_000);
  const { user, system } = process.cpuUsage(before);
  // Processor time, which doesn't depend on other processes. It takes a fiftieth of this, and would take minutes if the
  // tags were expanded.
  expect((user + system) / 1_000).toBeLessThan(10_000);
});
