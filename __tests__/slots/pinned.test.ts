import { describe, expect, test } from '@jest/globals';
import { fromPage, pinned } from '../../src/slots/pinned.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';

const namesOf = (...wheels: readonly string[]) =>
  wheels.map((wheel) => parseWheelFilename(`${wheel}-py3-none-any.whl`));

describe('each project is pinned', () => {
  test.each<[title: string, wheels: string[], expected: string[]]>([
    ['to its version', ['foo-1.0'], ['foo==1.0']],
    ['to the normal form', ['Foo.Bar-1.0.RC1'], ['foo-bar==1.0rc1']],
    ['to a development version', ['foo-1.0.dev1'], ['foo==1.0.dev1']],
    ['to a local version', ['foo-1.0+ubuntu_1'], ['foo==1.0+ubuntu.1']],
    ['to an epoch, quoted', ['foo-1!1.0+cu121'], ["'foo==1!1.0+cu121'"]],
    ['once', ['foo-1.0', 'foo-1.0'], ['foo==1.0']],
    ['to the highest version', ['foo-1.9', 'foo-1.10', 'foo-1.10.dev1'], ['foo==1.10']],
    ['to the highest local version', ['foo-1.0+cu121', 'foo-1.0', 'foo-1.0+cpu'], ['foo==1.0+cu121']],
    ['in the order of the wheels', ['foo-1', 'bar-2', 'foo-3'], ['foo==3', 'bar==2']],
  ])('%s', (_title, wheels, expected) => {
    expect(pinned(namesOf(...wheels))).toEqual(expected);
  });
});

test('the page’s URL is safe in a shell', () => {
  expect(fromPage('https://e.com/$(id)"/index.html', namesOf('foo-1.0', 'bar-2.0'))).toBe(
    '--find-links "https://e.com/%24%28id%29%22/index.html" foo==1.0 bar==2.0',
  );
});
