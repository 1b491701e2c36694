import { describe, expect, test } from '@jest/globals';
import { mismatchIn } from '../../src/bucket/download.ts';

describe('case 74: the response to a range request', () => {
  const listed = { etag: '"a"', size: 100 };
  const range = { first: 10, last: 19 };
  test.each<
    [
      etag: string | undefined,
      contentRange: string | undefined,
      requested: typeof range | undefined,
      mismatch: unknown,
    ]
  >([
    ['"a"', 'bytes 10-19/100', range, undefined],
    ['W/"a"', 'bytes 10-19/*', range, undefined],
    ['a', 'bytes 10-19/100', range, undefined],
    [undefined, 'bytes 10-19/100', range, undefined],
    ['"b"', 'bytes 10-19/100', range, 'another object'],
    ['"a"', 'bytes 10-18/100', range, 'another range'],
    ['"a"', 'bytes 9-19/100', range, 'another range'],
    ['"a"', 'bytes 10-19/99', range, 'another range'],
    ['"a"', 'bytes */100', range, 'another range'],
    ['"a"', 'nonsense', range, 'another range'],
    ['"a"', undefined, range, 'another range'],
    ['"a"', undefined, undefined, undefined],
    ['"a"', 'bytes 0-99/100', undefined, undefined],
    ['"a"', 'bytes 0-98/100', undefined, 'another range'],
    ['"b"', undefined, undefined, 'another object'],
  ])('%s %s', (ETag, ContentRange, requested, mismatch) => {
    expect(mismatchIn(listed, requested, { ETag, ContentRange })).toBe(mismatch);
  });
});
