import { afterEach, describe, expect, test } from '@jest/globals';
import { readObjectSettings, readRequestPayer } from '../../src/runner/object-inputs.ts';

const NAMES = ['server-side-encryption', 'kms-key-id', 'acl', 'storage-class', 'tags', 'request-payer'];
const variable = (name: string) => `INPUT_${name.toUpperCase()}`;
const give = (inputs: Readonly<Record<string, string>>) => {
  for (const [name, value] of Object.entries(inputs)) process.env[variable(name)] = value;
};
afterEach(() => {
  for (const name of NAMES) delete process.env[variable(name)];
});

describe('case 66: how objects are stored', () => {
  const ARN = 'arn:aws:kms:us-west-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab';
  test.each<[inputs: Record<string, string>, settings: object]>([
    [{}, {}],
    [{ 'server-side-encryption': 'AES256' }, { encryption: 'AES256' }],
    [{ 'server-side-encryption': 'aws:kms' }, { encryption: 'aws:kms' }],
    [
      { 'server-side-encryption': 'aws:kms:dsse', 'kms-key-id': ARN },
      { encryption: 'aws:kms:dsse', kmsKeyId: ARN },
    ],
    [
      { 'server-side-encryption': 'aws:kms', 'kms-key-id': 'alias/wheels' },
      { encryption: 'aws:kms', kmsKeyId: 'alias/wheels' },
    ],
    [{ acl: 'bucket-owner-full-control' }, { acl: 'bucket-owner-full-control' }],
    [{ acl: 'public-read' }, { acl: 'public-read' }],
    [{ 'storage-class': 'STANDARD_IA' }, { storageClass: 'STANDARD_IA' }],
    [{ 'storage-class': 'GLACIER_IR' }, { storageClass: 'GLACIER_IR' }],
  ])('%p', (inputs, settings) => {
    give(inputs);
    expect(readObjectSettings()).toEqual(settings);
  });

  test.each<[title: string, tags: string, tagging: string | undefined]>([
    ['nothing', '', undefined],
    ['only separators', ' , &\n', undefined],
    ['one', 'expire=yes', 'expire=yes'],
    ['separated by commas', 'expire=yes, team=wheels', 'expire=yes&team=wheels'],
    ['separated by line breaks', 'expire=yes\r\n  team=wheels\n', 'expire=yes&team=wheels'],
    ['separated by &', 'expire=yes&team=wheels', 'expire=yes&team=wheels'],
    ['an empty value', 'expire=', 'expire='],
    ['spaces around the equals sign', 'expire = yes', 'expire=yes'],
    ['a value with an equals sign', 'a=b=c', 'a=b%3Dc'],
    ['other characters that S3 allows', 'a:b/c@d=+-._ x', 'a%3Ab%2Fc%40d=%2B-._%20x'],
    ['letters of other languages', 'größe=大', 'gr%C3%B6%C3%9Fe=%E5%A4%A7'],
    ['keys that differ only in case', 'a=1,A=2', 'a=1&A=2'],
    [
      'the longest key and value',
      `${'k'.repeat(128)}=${'v'.repeat(256)}`,
      `${'k'.repeat(128)}=${'v'.repeat(256)}`,
    ],
    [
      'ten',
      Array.from({ length: 10 }, (_, index) => `k${index}=v`).join(),
      Array.from({ length: 10 }, (_, index) => `k${index}=v`).join('&'),
    ],
  ])('tags: %s', (_title, tags, tagging) => {
    give({ tags });
    expect(readObjectSettings().tagging).toBe(tagging);
  });

  test.each<[title: string, inputs: Record<string, string>, message: RegExp]>([
    [
      'an encryption that S3 does not have',
      { 'server-side-encryption': 'aes256' },
      /AES256 or aws:kms or aws:kms:dsse/,
    ],
    [
      'an ACL that S3 does not have',
      { acl: 'bucket-owner' },
      /private or public-read .*bucket-owner-full-control/,
    ],
    ['a storage class that S3 does not have', { 'storage-class': 'standard' }, /STANDARD or STANDARD_IA/],
    ['an archive class', { 'storage-class': 'GLACIER' }, /'storage-class'.*restored/],
    ['the deep archive class', { 'storage-class': 'DEEP_ARCHIVE' }, /'storage-class'.*restored/],
    ['a KMS key without encryption', { 'kms-key-id': 'k' }, /'kms-key-id'.*aws:kms or aws:kms:dsse.*empty/],
    [
      'a KMS key with another encryption',
      { 'kms-key-id': 'k', 'server-side-encryption': 'AES256' },
      /'kms-key-id'.*it is AES256/,
    ],
    [
      'a KMS key with a line break',
      { 'kms-key-id': 'k\nx: y', 'server-side-encryption': 'aws:kms' },
      /'kms-key-id'/,
    ],
    [
      'a KMS key with a space',
      { 'kms-key-id': 'my key', 'server-side-encryption': 'aws:kms' },
      /'kms-key-id'/,
    ],
    [
      'a KMS key that is not ASCII',
      { 'kms-key-id': 'schlüssel', 'server-side-encryption': 'aws:kms' },
      /'kms-key-id'/,
    ],
    ['a tag without an equals sign', { tags: 'expire' }, /'tags' \("expire"\) is not key=value/],
    ['a tag without a key', { tags: '=yes' }, /'tags'.*is not key=value/],
    ['a tag key twice', { tags: 'a=1,a=2' }, /'tags'.*repeats a key/],
    ['eleven tags', { tags: Array.from({ length: 11 }, (_, index) => `k${index}=v`).join() }, /has 11 tags/],
    ['a tag key of 129 characters', { tags: `${'k'.repeat(129)}=v` }, /128/],
    ['a tag value of 257 characters', { tags: `k=${'v'.repeat(257)}` }, /256/],
    ['a tag key that is reserved for AWS', { tags: 'AWS:x=v' }, /aws:/],
    ['a tag with a percent sign', { tags: 'a=b%20c' }, /percent-encoded/],
    ['a tag with a bidirectional control', { tags: 'a=\u202E' }, /characters/],
    ['a tag with a lone surrogate', { tags: 'a=\uD800' }, /characters/],
    ['a tag with an emoji', { tags: 'a=🛞' }, /characters/],
  ])('%s is rejected', (_title, inputs, message) => {
    give(inputs);
    expect(readObjectSettings).toThrow(message);
  });
});

describe('case 66: who pays', () => {
  test.each([
    ['', false],
    ['requester', true],
  ])('%p', (payer, pays) => {
    give({ 'request-payer': payer });
    expect(readRequestPayer(false)).toBe(pays);
  });

  test.each([
    ['Requester', false, /Write requester/],
    ['true', false, /Write requester/],
    ['owner', false, /Write requester/],
    ['requester', true, /no-sign-request/],
  ])('%p, anonymous: %p', (payer, isAnonymous, message) => {
    give({ 'request-payer': payer });
    expect(() => readRequestPayer(isAnonymous)).toThrow(message);
  });
});
