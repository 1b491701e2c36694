import { describe, expect, test } from '@jest/globals';
import { pauseFor, refusalIn } from '../../src/comment/github.ts';

describe('the pause before a retry', () => {
  const NOW = 1_700_000_000_000;
  const response = (status: number | undefined, message = '', headers = {}) => ({
    status,
    message,
    headers,
  });
  test.each<[title: string, refusal: ReturnType<typeof response>, tried: number, pause: number | undefined]>([
    ['no response', response(undefined), 1, 500],
    ['no response for the third time', response(undefined), 3, 2000],
    ['500', response(500), 1, 500],
    ['503 with Retry-After', response(503, '', { 'retry-after': '7' }), 1, 7000],
    ['429', response(429), 1, 60_000],
    ['429 with Retry-After', response(429, '', { 'retry-after': 3 }), 1, 3000],
    ['403 of a secondary limit', response(403, 'You have exceeded a secondary rate limit'), 1, 60_000],
    ['403 with Retry-After', response(403, '', { 'retry-after': '0' }), 1, 0],
    [
      'a used-up quota',
      response(403, 'API rate limit exceeded', {
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': '1700000030',
      }),
      1,
      31_000,
    ],
    [
      'a quota that has been reset',
      response(429, '', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1600000000' }),
      1,
      1000,
    ],
    ['Retry-After that is not a number', response(429, '', { 'retry-after': 'soon' }), 1, 60_000],
    [
      '403 because of missing permissions',
      response(403, 'Resource not accessible by integration'),
      1,
      undefined,
    ],
    ['404', response(404), 1, undefined],
    ['422', response(422), 1, undefined],
  ])('%s', (_title, refusal, tried, pause) => {
    expect(pauseFor(refusal, tried, NOW)).toBe(pause);
  });

  test('GitHub’s message is shortened to one line', () => {
    const message = `a\n${'b'.repeat(1000)}`;
    expect(refusalIn({ response: { status: 500, headers: {}, data: { message } } }).message).toMatch(
      /^a b{298}$/,
    );
    expect(refusalIn(new Error('connect ECONNREFUSED'))).toEqual({
      status: undefined,
      headers: {},
      message: 'connect ECONNREFUSED',
    });
  });
});
