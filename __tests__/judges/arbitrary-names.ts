/** Generates valid and slightly invalid wheel filenames. */
import fc from 'fast-check';

const digits = fc.oneof(
  { weight: 6, arbitrary: fc.nat({ max: 30 }).map(String) },
  fc.constantFrom('0', '00', '01', '007', '20240131', '20240131235959', '123456789012345678901234567890'),
);
const separator = fc.constantFrom('', '', '.', '_', '-');
const letters = (...words: string[]) =>
  fc
    .constantFrom(...words)
    .chain((word) => fc.constantFrom(word, word, word.toUpperCase(), word[0]!.toUpperCase() + word.slice(1)));
/** Mostly valid, since a filename is valid only if all its parts are. */
const mostly = (good: fc.Arbitrary<string>, ...bad: string[]) =>
  fc.oneof({ weight: 12, arbitrary: good }, fc.constantFrom(...bad));
const maybe = (arbitrary: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant('') }, arbitrary);
const joined = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((texts) => texts.join(''));

const release = fc.array(digits, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'));
const pre = joined(
  separator,
  letters('a', 'b', 'c', 'rc', 'alpha', 'beta', 'pre', 'preview'),
  separator,
  maybe(digits),
);
const post = fc.oneof(
  joined(fc.constant('-'), digits),
  joined(separator, letters('post', 'rev', 'r'), separator, maybe(digits)),
);
const dev = joined(separator, letters('dev'), separator, maybe(digits));
const localPart = fc.oneof(
  digits,
  fc.constantFrom(
    'cu121',
    'CPU',
    'ubuntu',
    'g1234567',
    '1e5',
    '0x10',
    '12e4567',
    'abc',
    'Infinity',
    'd20240131',
    '0',
  ),
);
const local = joined(
  fc.constant('+'),
  localPart,
  fc
    .array(joined(fc.constantFrom('.', '_', '-'), localPart), { maxLength: 3 })
    .map((parts) => parts.join('')),
);

/** Versions (PEP 440) in all spellings, most of them not normalised. */
export const version: fc.Arbitrary<string> = joined(
  fc.constantFrom('', '', '', '', 'v', 'V', ' '),
  maybe(joined(digits, fc.constant('!'))),
  release,
  maybe(pre),
  maybe(post),
  maybe(dev),
  maybe(local),
);

const project = fc.oneof(
  fc.constantFrom(
    'foo',
    'foo_bar',
    'Foo.Bar',
    'foo._bar',
    'A',
    '_',
    '.',
    'foo_bár',
    'ÅNGSTRÖM',
    'İx',
    'ΑΣ',
    'ßß',
    'x²',
    '名前',
    'Ⅷ',
    'ﬁ',
  ),
  fc.stringMatching(/^[A-Za-z0-9._]{1,12}$/),
);
const build = fc.oneof(
  digits,
  joined(digits, fc.constantFrom('abc', '_1', '.2', 'x', ' y', '+z', 'é', '٣', '\u2028', '\x85q')),
  { weight: 1, arbitrary: fc.constantFrom('abc', '', '_1', '٣') },
);
const set = (...parts: string[]) =>
  fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 3 }).map((texts) => texts.join('.'));
const python = mostly(
  set('py3', 'py2', 'cp39', 'cp312', 'cp314', 'pp311', 'CP38', 'py30'),
  '',
  '3',
  '_x',
  'é1',
  'cp3+',
  'py3.',
  '.py3',
  'p y',
  '2.7.6',
);
const abi = mostly(set('none', 'abi3', 'cp39', 'cp313t', 'pypy311_pp73', 'NONE'), '', 'ab+', 'é', '1');
const platform = mostly(
  set(
    'any',
    'win_amd64',
    'win32',
    'macosx_11_0_arm64',
    'manylinux_2_17_x86_64',
    'manylinux1_x86_64',
    'musllinux_1_2_aarch64',
    'linux_x86_64',
  ),
  '',
  'a..b',
  'x y',
  'any+',
  'wasm32.',
  'éé',
);
const named = fc
  .tuple(project, version, fc.option(build, { nil: undefined, freq: 3 }), python, abi, platform)
  .map((parts) => `${parts.filter((part) => part !== undefined).join('-')}.whl`);

/** Characters and texts that replace a random part of a valid name. */
const wrong = fc.oneof(
  fc.constantFrom(
    ...[
      '-',
      '--',
      '_',
      '__',
      '.',
      '+',
      '!',
      '%2B',
      ' ',
      ' (1)',
      '\t',
      '\n',
      '\r\n',
      '\0',
      '/',
      '\\',
      'é',
      '٣',
      'ſ',
    ],
    ...[
      '.WHL',
      '.whl',
      '.zip',
      '::error::',
      '%0A',
      '\ufeff',
      '\x1f',
      '\x85',
      '\u00a0',
      '\u2028',
      '０',
      '﷐',
      '𝟙',
      'K',
    ],
  ),
  // Higher code points depend on the version of Unicode; another test covers all of them.
  fc.integer({ min: 1, max: 0x5ff }).map((code) => String.fromCodePoint(code)),
);
const mutated = fc
  .tuple(named, wrong, fc.nat({ max: 80 }), fc.nat({ max: 3 }))
  .map(([name, text, at, over]) => {
    const position = at % (name.length + 1);
    return name.slice(0, position) + text + name.slice(position + over);
  });

/** Filenames, by how they are generated. */
export const filenames = {
  named,
  mutated,
  twice: fc.tuple(mutated, wrong).map(([name, text]) => name + text),
};
