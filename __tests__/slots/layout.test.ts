import { describe, expect, test } from '@jest/globals';
import {
  commitFolder,
  isCommit,
  isDecimal,
  isTarget,
  markerKey,
  normalisePrefix,
  readSlotMarker,
  readWheelKey,
  slotFolder,
  wheelKey,
} from '../../src/slots/layout.ts';

const commit = 'a'.repeat(40);
const W = 'foo-1.0+cu121-py3-none-any.whl';

describe('keys', () => {
  test.each([
    ['builds', '', `builds/${commit}/7_2/${W}`],
    ['', '', `${commit}/7_2/${W}`],
    ['a/b', 'linux-x86_64-cp312', `a/b/${commit}/7_2/linux-x86_64-cp312/${W}`],
  ])('prefix %p, target %p: built and read back', (prefix, target, key) => {
    const slot = { prefix, commit, run: '7', attempt: '2', target };
    expect(wheelKey(slot, W)).toBe(key);
    expect(readWheelKey(slot, key)).toMatchObject({
      key,
      run: '7',
      attempt: '2',
      target,
      name: { filename: W },
    });
    expect(key.startsWith(slotFolder(slot))).toBe(true);
    expect(key.startsWith(commitFolder(slot))).toBe(true);
  });

  test('the old flat layout', () => {
    const place = { prefix: 'builds', commit };
    const key = `builds/${commit}/${W}`;
    expect(readWheelKey(place, key)).toMatchObject({ key, run: undefined, attempt: undefined, target: '' });
  });

  test('the sdist has a target that no wheel has', () => {
    const slot = { prefix: 'builds', commit, run: '7', attempt: '2', target: 'sdist' };
    const name = { filename: 'foo-1.0.tar.gz', project: 'foo', tags: [] };
    expect(readWheelKey(slot, wheelKey(slot, 'foo-1.0.tar.gz'))).toMatchObject({ target: 'sdist', name });
    expect(readWheelKey(slot, wheelKey(slot, W))).toBeUndefined();
  });

  test.each([
    [`builds/${commit}/7_2/foo-1.0.tar.gz`],
    [`builds/${commit}/7_2/linux/foo-1.0.tar.gz`],
    [`builds/${commit}/foo-1.0.tar.gz`],
    [`builds/${commit}/7_2/sdist/foo-latest.tar.gz`],
    [`builds/${commit}/7_2/x.txt`],
    [`builds/${commit}/7_2/`],
    [`builds/${commit}/7_2/foo-latest-py3-none-any.whl`],
    [`builds/${commit}/7/${W}`],
    [`builds/${commit}/7_/${W}`],
    [`builds/${commit}/07_2/${W}`],
    [`builds/${commit}/7_2_3/${W}`],
    [`builds/${commit}/7_2/../${W}`],
    [`builds/${commit}/7_2/a/b/${W}`],
    [`builds/${'a'.repeat(64)}/7_2/${W}`],
    [`other/${commit}/7_2/${W}`],
  ])('%s is not the key of a wheel', (key) => {
    expect(readWheelKey({ prefix: 'builds', commit }, key)).toBeUndefined();
  });
});

describe('the key of a marker', () => {
  const sha256 = '0a'.repeat(32);
  const putId = '00000000-0000-4000-8000-0123456789ab';

  test.each([
    ['claim', '', `b/${commit}/7_2/.${sha256}.${putId}.claim`],
    ['removing', '', `b/${commit}/7_2/.${sha256}.${putId}.removing`],
    ['claim', 'cp312', `b/${commit}/7_2/cp312/.${sha256}.${putId}.claim`],
  ] as const)('%s, target %p: built and read back, and not that of a wheel', (kind, target, key) => {
    const slot = { prefix: 'b', commit, run: '7', attempt: '2', target };
    expect(markerKey(slot, sha256, putId, kind)).toBe(key);
    expect(readSlotMarker(key)).toEqual({ key, sha256, putId, kind });
    expect(readWheelKey(slot, key)).toBeUndefined();
  });

  test.each([
    [`x/.${sha256}.${putId}.other`],
    [`x/.${sha256}.${putId}.claim.whl`],
    [`x/.${sha256}.${putId}.claim\n`],
    [`x/.${sha256}.${putId}`],
    [`x/.${sha256}.claim`],
    [`x/.${sha256.toUpperCase()}.${putId}.claim`],
    [`x/.${sha256.slice(1)}.${putId}.claim`],
    [`x/${sha256}.${putId}.claim`],
    [`.${sha256}.${putId}.claim`],
    [`x/${W}`],
  ])('%j is not one', (key) => {
    expect(readSlotMarker(key)).toBeUndefined();
  });
});

test.each([
  ['/builds//x/', 'builds/x'],
  ['', ''],
  ['/', ''],
  ['a', 'a'],
])('prefix %p becomes %p', (text, prefix) => {
  expect(normalisePrefix(text)).toBe(prefix);
});

test.each([['../x'], ['a/..'], ['./a'], ['a\\b'], ['a\nb'], ['a\u0000']])('prefix %p is rejected', (text) => {
  expect(() => normalisePrefix(text)).toThrow("'prefix'");
});

test.each([
  ['a'.repeat(40), true],
  ['0'.repeat(64), true],
  ['a'.repeat(41), false],
  ['A'.repeat(40), false],
  [`${'a'.repeat(40)}\n`, false],
  ['', false],
])('commit %p: %p', (text, expected) => {
  expect(isCommit(text)).toBe(expected);
});

test.each([
  ['linux-x86_64-cp312', true],
  ['a+b', true],
  ['1', true],
  ['a'.repeat(100), true],
  ['a'.repeat(101), false],
  ['.a', false],
  ['-a', false],
  ['a/b', false],
  ['a\n', false],
  ['', false],
])('target %p: %p', (text, expected) => {
  expect(isTarget(text)).toBe(expected);
});

test.each([
  ['0', true],
  ['10', true],
  ['01', false],
  ['', false],
  ['-1', false],
  ['1.5', false],
  ['1\n', false],
])('number %p: %p', (text, expected) => {
  expect(isDecimal(text)).toBe(expected);
});
