import { describe, expect, test } from '@jest/globals';
import {
  credentialsIn,
  foreignText,
  formsOf,
  hideSecrets,
  messageOf,
  plainAddress,
  withoutSecrets,
} from '../../src/untrusted/foreign-text.ts';

const TOKEN = 'IQoJb3JpZ2luX2VjEXAMPLE/+token==';

describe('case 44: the user name and password of a URL are removed', () => {
  test.each([
    ['Invalid proxy URL: http://user:s3cretpw@proxy.corp:99999', 'proxy.corp:99999'],
    ['via http://user:s3cretpw@proxy.corp:3128/: HTTP/1.1 407', 'proxy.corp:3128/: HTTP/1.1 407'],
    ['http://user:s3cret/pw@proxy.corp:3128', 'proxy.corp:3128'],
    ['http://user:12/s3cretpw@proxy.corp:3128', 'proxy.corp:3128'],
    ['http://user:s3cret@pw@proxy.corp:3128', 'proxy.corp:3128'],
    ['http://user:s3cret%zzpw@proxy.corp:3128', 'proxy.corp:3128'],
    ['http://user:s3cret pw@proxy.corp:3128', ''],
    ['http://user:s3cret pw@cretpw@proxy.corp:3128', ''],
    ['http://user:s3cret#pw?cretpw@proxy.corp', 'proxy.corp'],
    ['http://s3cretpw@proxy.corp', 'proxy.corp'],
    ['http://:s3cretpw@proxy.corp', 'proxy.corp'],
    ['socks5h://user:s3cretpw@proxy.corp', 'proxy.corp'],
    ['http://user:s3cretpw', 'http://user:***'],
    ['"http://user:s3cretpw@h" and \'https://u:s3cretpw@h\'', 'and'],
    ['Proxy-Authorization: Basic dXNlcjpzM2NyZXRwdw==', 'uthorization: ***'],
  ])('%s', (text, kept) => {
    for (const clean of [withoutSecrets(text), foreignText(text)]) {
      expect(clean).not.toMatch(/s3cret|cretpw|dXNlcjpz/);
      expect(clean).toContain(kept);
    }
  });
});

test.each([
  ['connect ECONNREFUSED 127.0.0.1:9000'],
  ['http://localhost:9000/bucket failed for octocat@example.com'],
  ['http://[::1]:9000, tried twice'],
  ['the endpoint http://127.0.0.1:9000: no answer'],
  ['s3://wheels/team:a@b/c?d'],
  ['wheel-url: https://host:8443/builds/foo-1.0%2Bcu121-py3-none-any.whl'],
  ['demo @ https://host/demo-1.0-py3-none-any.whl#sha256=abc'],
  ['Basic authentication is not supported'],
  ['arn:aws:s3:::wheels/*'],
])('%s is left as it is', (text) => {
  expect(withoutSecrets(text)).toBe(text);
  expect(foreignText(text)).toBe(text);
});

test('query strings, signatures and tokens are removed', () => {
  const text = `GET https://h/k?X-Amz-Credential=AKIAEX%2F2026&X-Amz-Signature=0123abcd /k?X-Amz-Signature=0123abcd
    x-amz-security-token:${TOKEN}
    <SessionToken>${TOKEN}</SessionToken> "SecretAccessKey": "wJalrXUtnFEMI"
    authorization: AWS4-HMAC-SHA256 Credential=AKIAEX/2026, SignedHeaders=host, Signature=0123abcd
    Bearer abcdefghijklm0123 ghp_0123456789abcdef0123 eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJyZXBvIn0.c2lnbmF0dXJl`;
  for (const clean of [withoutSecrets(text), foreignText(text, 5000)]) {
    expect(clean).not.toMatch(/AKIAEX|0123|IQoJ|wJalr|eyJ/);
  }
});

describe('registered secrets', () => {
  test('are removed in every form, before the text is cut', () => {
    hideSecrets([TOKEN, 'p%40ss/w0rd', undefined, '', 'short']);
    const page = `${' '.repeat(480)}${'x'.repeat(480)} ${TOKEN} ${encodeURIComponent(TOKEN)} p@ss/w0rd p%40ss%2Fw0rd p%40ss%2fw0rd`;
    const clean = foreignText(page.repeat(1000));
    expect(clean.length).toBeLessThanOrEqual(500);
    for (const form of ['IQoJb', 'EXAMPLE', 'w0rd']) expect(foreignText(page, 5000)).not.toContain(form);
    expect(clean).not.toContain('IQo');
    expect(foreignText('a short one')).toBe('a short one');
  });

  test.each([
    [`${'a'.repeat(1_000_000)}`],
    ['http://a:'.repeat(100_000)],
    ['x-amz-signature='.repeat(60_000)],
  ])('one megabyte takes no time', (text) => {
    expect(foreignText(text).length).toBeLessThanOrEqual(500);
  });
});

test.each([
  ['http://user:s3cretpw@host', ['user:s3cretpw', 's3cretpw']],
  ['http://user:a/b@c%zz @host:1', ['user:a/b@c%zz ', 'a/b@c%zz ']],
  ['user:s3cretpw@host:3128', ['user:s3cretpw', 's3cretpw']],
  ['http://token@host', ['token']],
  ['http://host', []],
])('the credentials in %s', (url, credentials) => {
  expect(credentialsIn(url).slice(0, -1)).toEqual(credentials);
});

test('short secrets have no forms', () => {
  expect(formsOf('abc')).toEqual([]);
  expect(formsOf('a%zz/b@')).toContain('a%25zz%2Fb%40');
});

test.each([
  ['http://user:s3cretpw@host:1/a/?b#c', 'http://host:1/a'],
  ['no URL', undefined],
])('the address %s is %p', (url, plain) => {
  expect(plainAddress(url)).toBe(plain);
});

test.each([
  [new Error('a\n b'), 'a b'],
  ['text', 'text'],
  [undefined, ''],
  [null, ''],
  [{ message: undefined, toString: (): string => 'thing' }, 'thing'],
])('the message of %p', (thrown, message) => {
  expect(messageOf(thrown)).toBe(message);
});
