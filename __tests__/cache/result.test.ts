import { describe, expect, test } from '@jest/globals';
import { timeoutSeconds } from '../../src/cache/process.ts';
import {
  type CacheResult,
  interpretResult,
  maskSecrets,
  type OutputLine,
  parseLine,
} from '../../src/cache/result.ts';

const DONE: CacheResult = { outcome: 'done', reason: '' };
const NONE: CacheResult = { outcome: 'none', reason: '' };

describe('parsing lines of output', () => {
  const cases: [line: string, parsed: OutputLine][] = [
    ['Cache restored successfully', { kind: 'text', text: 'Cache restored successfully' }],
    ['', { kind: 'text', text: '' }],
    ['::debug::a b', { kind: 'detail', text: 'a b' }],
    ['::debug::', { kind: 'detail', text: '' }],
    ['::add-mask::s%25cret', { kind: 'secret', text: 's%cret' }],
    ['::warning::over%0Aout', { kind: 'fault', text: 'over\nout' }],
    ['::error title=a::b::c', { kind: 'fault', text: 'b::c' }],
    ['::set-output name=x::y', { kind: 'detail', text: 'y' }],
    ['text ::error::x', { kind: 'text', text: 'text ::error::x' }],
  ];
  test.each(cases)('%j', (line, parsed) => expect(parseLine(line)).toEqual(parsed));
});

test('secrets and the queries of URLs are removed', () => {
  const text = 'GET http://host/a?sig=x%2F&se=1 "https://b/c?d" token tokens plain? yes';
  expect(maskSecrets(text, ['token', ''])).toBe(
    'GET http://host/a?*** "https://b/c?***" *** ***s plain? yes',
  );
});

describe('the result of an operation', () => {
  const fault = (text: string): OutputLine => ({ kind: 'fault', text });
  const text = (words: string): OutputLine => ({ kind: 'text', text: words });
  const archive = text('Cache Size: ~1 MB (1048576 B)');
  const reserved =
    'the service did not reserve the entry: another job may be saving it, or the quota is used up';
  const cases: [name: string, sent: CacheResult | undefined, lines: OutputLine[], expected: CacheResult][] = [
    ['done', DONE, [archive, text('Cache restored successfully')], DONE],
    ['no entry', NONE, [{ kind: 'detail', text: 'Failed to restore: x' }], NONE],
    ['no message', undefined, [], { outcome: 'fault', reason: 'its process ended without a result' }],
    [
      'an error that was thrown',
      { outcome: 'fault', reason: 'Invalid URL.' },
      [],
      { outcome: 'fault', reason: 'Invalid URL' },
    ],
    [
      'a failed look-up, which looks like a miss',
      NONE,
      [fault('Failed to restore: getCacheEntry failed: Cache service responded with 500')],
      { outcome: 'fault', reason: 'Cache service responded with 500' },
    ],
    [
      'a failure of several lines: only the first',
      NONE,
      [
        fault(
          'Failed to restore: Failed to GetCacheEntryDownloadURL: Unable to make request: ECONNREFUSED\nIf you',
        ),
      ],
      { outcome: 'fault', reason: 'Unable to make request: ECONNREFUSED' },
    ],
    [
      'an archive that cannot be unpacked',
      NONE,
      [archive, fault('Failed to restore: "/usr/bin/tar" failed with error: exit code 2')],
      { outcome: 'broken-entry', reason: 'it cannot be unpacked' },
    ],
    [
      'an upload that fails after the archive is created',
      DONE,
      [
        archive,
        fault('uploadChunk failed'),
        fault('Failed to save: Cache service responded with 403 during upload chunk.'),
      ],
      { outcome: 'fault', reason: 'Cache service responded with 403 during upload chunk' },
    ],
    [
      'an entry that another job has reserved',
      { outcome: 'declined', reason: 'the service gave no reason' },
      [text('Failed to save: Unable to reserve cache with key k, another job may be creating this cache.')],
      { outcome: 'declined', reason: reserved },
    ],
    [
      'a read-only token',
      NONE,
      [
        fault(
          'Failed to save: Unable to reserve cache with key k. More details: cache write denied: read-only',
        ),
      ],
      { outcome: 'declined', reason: 'cache write denied: read-only' },
    ],
    [
      'a policy of the runner',
      NONE,
      [text("Cache restore skipped: the effective cache-mode 'none' does not permit reads.")],
      { outcome: 'declined', reason: "the effective cache-mode 'none' does not permit reads" },
    ],
  ];
  test.each(cases)('%s', (_name, sent, lines, expected) =>
    expect(interpretResult(sent, lines)).toEqual(expected),
  );
});

test.each([
  [0, 60],
  [1, 61],
  [4 * 1024 ** 2, 61],
  [1024 ** 3, 316],
])('%i bytes: a timeout of %i seconds', (size, seconds) => expect(timeoutSeconds(size)).toBe(seconds));
