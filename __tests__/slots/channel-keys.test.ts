import { describe, expect, test } from '@jest/globals';
import {
  channelFolder,
  channelKey,
  channelMarkerKey,
  isChannel,
  metadataKey,
  pageKeys,
  readChannelKey,
} from '../../src/slots/layout.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';

const PLACE = { channels: 'a/channels', channel: 'nightly' };
const COMMIT = 'c'.repeat(40);
const NAME = parseWheelFilename('Foo_Bar-1.0+cu121-py3-none-any.whl');
const ID = '12345678-1234-1234-1234-123456789012';

test.each([
  ['nightly', true],
  ['pr-123', true],
  ['3.0', true],
  ['a'.repeat(64), false],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['', false],
  ['Nightly', false],
  ['.hidden', false],
  ['-x', false],
  ['a/b', false],
  ['a b', false],
  ['a\n', false],
  [COMMIT, false],
])('%j is a channel: %s', (text, expected) => {
  expect(isChannel(text)).toBe(expected);
});

test('keys', () => {
  const key = channelKey(PLACE, COMMIT, NAME);
  expect(key).toBe(`a/channels/nightly/foo-bar/${COMMIT}/Foo_Bar-1.0+cu121-py3-none-any.whl`);
  expect(channelFolder({ channels: '', channel: 'nightly' })).toBe('nightly/');
  expect(pageKeys(PLACE)).toEqual({ file: 'a/channels/nightly/index.html', folder: 'a/channels/nightly/' });
  expect(pageKeys(PLACE, 'foo-bar').folder).toBe('a/channels/nightly/foo-bar/');
  expect(readChannelKey(PLACE, key)).toEqual({ kind: 'file', key, commit: COMMIT, name: NAME });
  expect(readChannelKey(PLACE, metadataKey(key))).toEqual({
    kind: 'metadata',
    key: `${key}.metadata`,
    of: key,
  });
  const marker = channelMarkerKey(PLACE, ID, 'removing');
  expect(readChannelKey(PLACE, marker)).toEqual({ kind: 'marker', key: marker, id: ID, action: 'removing' });
});

describe('is not the key of anything in a channel', () => {
  test.each([
    ['nightly/foo-bar/index.html'],
    [`nightly/foo-bar/${COMMIT}/index.html`],
    [`nightly/other/${COMMIT}/${NAME.filename}`],
    [`nightly/foo-bar/main/${NAME.filename}`],
    [`nightly/foo-bar/${COMMIT}/x/${NAME.filename}`],
    [`nightly/${COMMIT}/${NAME.filename}`],
    [`other/foo-bar/${COMMIT}/${NAME.filename}`],
    ['nightly/'],
    ['nightly/.x.publishing'],
  ])('%s', (key) => {
    expect(readChannelKey(PLACE, `a/channels/${key}`)).toBeUndefined();
  });
});
