import { describe, expect, test } from '@jest/globals';
import type { BucketSettings } from '../../src/bucket/bucket.ts';
import { openBucket } from '../../src/bucket/client.ts';
import { encodeKey, plainUrl } from '../../src/bucket/url.ts';
import { SETTINGS } from '../../testing/answering-bucket.ts';

describe('the plain URL of a key', () => {
  const cases: [title: string, over: Partial<BucketSettings>, base: string][] = [
    ['on AWS', {}, 'https://my-wheels.s3.us-west-2.amazonaws.com'],
    ['in us-east-1', { region: 'us-east-1' }, 'https://my-wheels.s3.us-east-1.amazonaws.com'],
    ['in China', { region: 'cn-north-1' }, 'https://my-wheels.s3.cn-north-1.amazonaws.com.cn'],
    ['of a dotted bucket', { name: 'my.wheels' }, 'https://s3.us-west-2.amazonaws.com/my.wheels'],
    ['path style if requested', { pathStyle: true }, 'https://s3.us-west-2.amazonaws.com/my-wheels'],
    ['at a custom endpoint', { endpoint: 'https://s3.example.com' }, 'https://s3.example.com/my-wheels'],
    [
      'at an endpoint with a port and a path',
      { endpoint: 'http://localhost:9000/s3/' },
      'http://localhost:9000/s3/my-wheels',
    ],
    [
      'at a custom endpoint, host style',
      { endpoint: 'https://r2.example.com', pathStyle: false },
      'https://my-wheels.r2.example.com',
    ],
    ['below a public URL', { publicUrl: 'https://cdn.example.com/w/' }, 'https://cdn.example.com/w'],
  ];
  test.each(cases)('%s', async (_title, over, base) => {
    const bucket = await openBucket({ ...SETTINGS, ...over });
    expect(await plainUrl(bucket, 'builds/S/7_2/foo-1.0+cu121-py3-none-any.whl')).toBe(
      `${base}/builds/S/7_2/foo-1.0%2Bcu121-py3-none-any.whl`,
    );
    bucket.close();
  });
});

describe('percent-encoding, segment by segment', () => {
  test.each([
    ['a+b/c', 'a%2Bb/c'],
    ['a b', 'a%20b'],
    ["it's (1)*!", 'it%27s%20%281%29%2A%21'],
    ['1!2.0', '1%212.0'],
    ['é#?%', '%C3%A9%23%3F%25'],
    ['A-Z_a.z~0', 'A-Z_a.z~0'],
  ])('%s', (key, encoded) => {
    expect(encodeKey(key)).toBe(encoded);
  });
});

test('an encoded key has no special characters for a POSIX shell, cmd or PowerShell between double quotes', () => {
  const all = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).join('');
  // Special characters are $ ` " \\ and line breaks in sh, $ ` and quotes of any kind in PowerShell, % and " in cmd. In a
  // batch file, %2B loses its first two characters at worst, because cmd replaces %2 with the file's second argument.
  expect(encodeKey(all)).toMatch(/^(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+$/);
});
