import { describe, expect, test } from '@jest/globals';
import { checkExpected, nameTargets } from '../../src/slots/own-targets.ts';

const targets = (...filenames: string[]) =>
  nameTargets(filenames.map((filename) => `/w/dist/${filename}`)).map(({ target }) => target);

describe('targets', () => {
  test('of one project are named from the tags alone', () => {
    expect(
      targets(
        'demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl',
        'demo-1.0-cp313-cp313t-macosx_11_0_arm64.whl',
        'demo-1.0-cp39-abi3-win_amd64.whl',
      ),
    ).toEqual(['cp312-manylinux_x86_64', 'cp313t-macosx_arm64', 'cp39-abi3-win_amd64']);
  });

  test('of several projects begin with the project', () => {
    expect(targets('libfoo-1.0-py3-none-any.whl', 'Foo_Bar-2.0-py3-none-any.whl')).toEqual([
      'libfoo.py3-none-any',
      'foo-bar.py3-none-any',
    ]);
  });

  test('two spellings of a project are one project', () => {
    expect(targets('foo_bar-1.0-py2-none-any.whl', 'Foo.Bar-1.0-py3-none-any.whl')).toEqual([
      'py2-none-any',
      'py3-none-any',
    ]);
  });

  test('of no wheels are none', () => {
    expect(targets()).toEqual([]);
  });
});

describe('an error', () => {
  const refused: [title: string, paths: string[], pattern: RegExp][] = [
    [
      'two versions of a wheel',
      ['/d/demo-1.0-py3-none-any.whl', '/d/demo-1.1-py3-none-any.whl'],
      /py3-none-any \(demo-1\.0-py3-none-any\.whl and demo-1\.1-py3-none-any\.whl\)/,
    ],
    [
      'two compiler images of one build',
      ['/d/a-1-cp312-cp312-manylinux_2_17_x86_64.whl', '/d/a-1-cp312-cp312-manylinux_2_28_x86_64.whl'],
      /cp312-manylinux_x86_64 \(a-1-.*2_17_x86_64\.whl and a-1-.*2_28_x86_64\.whl\)/,
    ],
    [
      'one filename in two folders',
      ['/d/x/demo-1.0-py3-none-any.whl', '/d/y/demo-1.0-py3-none-any.whl'],
      /\/d\/x\/demo-1\.0-py3-none-any\.whl and \/d\/y\/demo/,
    ],
    [
      'a target that is too long',
      [`/d/${'a'.repeat(90)}-1-py3-none-any.whl`, '/d/b-1-py3-none-any.whl'],
      /would get the target a+\.py3-none-any, which has 103 characters/,
    ],
    [
      'a project that begins with an underscore',
      ['/d/_a-1-py3-none-any.whl', '/d/b-1-py3-none-any.whl'],
      /would get the target -a\.py3-none-any/,
    ],
    ['an invalid filename', ['/d/demo-latest-py3-none-any.whl'], /latest/],
  ];
  test.each(refused)('%s', (_title, paths, pattern) => {
    expect(() => nameTargets(paths)).toThrow(pattern);
  });
});

describe('expected wheels', () => {
  const wheels = nameTargets([
    '/d/demo-1.0-cp312-cp312-linux_x86_64.whl',
    '/d/demo-1.0-cp313-cp313-linux_x86_64.whl',
  ]);

  test('may be fewer than there are', () => {
    expect(() => checkExpected(wheels, [])).not.toThrow();
    expect(() => checkExpected(wheels, ['cp313-linux_x86_64'])).not.toThrow();
  });

  test('that are missing are named, and so is what is there', () => {
    expect(() => checkExpected(wheels, ['cp312-linux_x86_64', 'cp314-linux_x86_64'])).toThrow(
      /1 of the 2 wheels in 'expect' is not at 'path': cp314-linux_x86_64\. There are cp312-linux_x86_64 \(demo-1\.0-cp312-cp312-linux_x86_64\.whl\), cp313-linux_x86_64 \(/,
    );
  });
});
