/** Reads the inputs for how objects are stored, and who pays for requests. */
import * as core from '@actions/core';
import type { ObjectSettings } from '../bucket/object-settings.ts';
import { badInput } from './values.ts';

const ENCRYPTIONS = ['AES256', 'aws:kms', 'aws:kms:dsse'] as const;
const ACLS = [
  'private',
  'public-read',
  'public-read-write',
  'authenticated-read',
  'aws-exec-read',
  'bucket-owner-read',
  'bucket-owner-full-control',
] as const;
/** The storage classes of S3 (API, PutObject) whose objects can be read immediately. */
const STORAGE_CLASSES = [
  'STANDARD',
  'STANDARD_IA',
  'ONEZONE_IA',
  'INTELLIGENT_TIERING',
  'GLACIER_IR',
  'REDUCED_REDUNDANCY',
  'EXPRESS_ONEZONE',
  'OUTPOSTS',
  'SNOW',
  'FSX_OPENZFS',
  'FSX_ONTAP',
] as const;
const ARCHIVES = ['GLACIER', 'DEEP_ARCHIVE'];

/** S3 user guide, "Categorizing your objects using tags". Lengths count UTF-16 code units, as S3 does. */
const MAX_TAGS = 10;
const MAX_TAG_KEY = 128;
const MAX_TAG_VALUE = 256;

/**
 * The inputs `server-side-encryption`, `kms-key-id`, `acl`, `storage-class` and `tags`, which only store declares.
 *
 * @throws WheelStoreError that names the input
 */
export function readObjectSettings(): ObjectSettings {
  const encryption = readOptional('server-side-encryption', ENCRYPTIONS);
  return {
    encryption,
    kmsKeyId: readKmsKeyId(encryption),
    acl: readOptional('acl', ACLS),
    storageClass: readStorageClass(),
    tagging: readTags(),
  };
}

/**
 * The input `request-payer`: whether the requester pays.
 *
 * @param isAnonymous - whether requests are not signed, so that S3 cannot charge a requester
 * @throws WheelStoreError if the input is invalid, or requests are anonymous
 */
export function readRequestPayer(isAnonymous: boolean): boolean {
  const payer = readOptional('request-payer', ['requester'] as const);
  if (payer !== undefined && isAnonymous) {
    throw badInput(
      'request-payer',
      payer,
      'needs credentials, but no-sign-request is set',
      'Set only one of the two.',
    );
  }
  return payer !== undefined;
}

/** @returns undefined if the input is empty */
function readOptional<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
  const text = core.getInput(name);
  if (text === '') return undefined;
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  const remedy = `Write ${choices.join(' or ')}, or leave it empty.`;
  throw badInput(
    name,
    text,
    choices.length === 1 ? `is not ${choices[0]}` : 'is not a value that S3 accepts',
    remedy,
  );
}

function readStorageClass(): ObjectSettings['storageClass'] {
  const text = core.getInput('storage-class');
  if (ARCHIVES.includes(text)) {
    throw badInput(
      'storage-class',
      text,
      'archives objects: they must be restored before they can be read, so the wheel could not be installed',
      `Write ${STORAGE_CLASSES.join(' or ')}, or leave it empty; a life-cycle rule can move old wheels into an archive.`,
    );
  }
  return readOptional('storage-class', STORAGE_CLASSES);
}

function readKmsKeyId(encryption: ObjectSettings['encryption']): string | undefined {
  const id = core.getInput('kms-key-id');
  if (id === '') return undefined;
  if (encryption === undefined || encryption === 'AES256') {
    throw badInput(
      'kms-key-id',
      id,
      `needs 'server-side-encryption' to be aws:kms or aws:kms:dsse, and it is ${encryption ?? 'empty'}`,
      'Set server-side-encryption: aws:kms as well, or remove kms-key-id.',
    );
  }
  // It is sent in a header. Engines other than AWS have their own formats.
  if (/^[\x21-\x7e]{1,2048}$/.test(id)) return id;
  throw badInput(
    'kms-key-id',
    id,
    'is not the id, ARN or alias of a key',
    'Write it like arn:aws:kms:us-west-2:123456789012:key/1234abcd-… or alias/wheels.',
  );
}

/** @returns the tags in the format of the header `x-amz-tagging`; undefined if there are none */
function readTags(): string | undefined {
  const pairs = core
    .getInput('tags')
    .split(/[\r\n,&]/)
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '');
  if (pairs.length === 0) return undefined;
  const tags = new Map<string, string>();
  for (const pair of pairs) {
    const [key, value] = readTag(pair);
    if (tags.has(key)) throw badTag(pair, 'repeats a key', 'Give each key once.');
    tags.set(key, value);
  }
  if (tags.size > MAX_TAGS) throw badTag(pairs.join(','), `has ${tags.size} tags`, `S3 allows ${MAX_TAGS}.`);
  return [...tags].map((tag) => tag.map(encodeURIComponent).join('=')).join('&');
}

function readTag(pair: string): [key: string, value: string] {
  const end = pair.indexOf('=');
  const [key, value] = [pair.slice(0, Math.max(end, 0)).trim(), pair.slice(end + 1).trim()];
  if (key === '') throw badTag(pair, 'is not key=value', 'Write it like tags: expire=yes, team=wheels.');
  if (key.length > MAX_TAG_KEY || value.length > MAX_TAG_VALUE) {
    const remedy = `A key has at most ${MAX_TAG_KEY} characters, a value ${MAX_TAG_VALUE}.`;
    throw badTag(pair, 'is too long', remedy);
  }
  if (/^aws:/i.test(key))
    throw badTag(pair, 'has a key that is reserved for AWS', 'Choose a key that does not start with aws:.');
  if (!/^[\p{L}\p{N}\p{Zs}+\-=._:/@]*$/u.test(key + value)) {
    const remedy =
      'S3 allows letters, digits, blanks and + - = . _ : / @; write them as they are, not percent-encoded.';
    throw badTag(pair, 'has characters that S3 does not allow', remedy);
  }
  return [key, value];
}

function badTag(pair: string, problem: string, remedy: string) {
  return badInput('tags', pair, problem, remedy);
}
