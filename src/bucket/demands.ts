/** What a bucket demands of a request besides a permission, read from its refusal: encryption, an ACL, who pays. */
import type { Problem } from '../errors.ts';
import type { Failure } from './answers.ts';
import type { Bucket, RequestPurpose } from './bucket.ts';
import { resourceOf } from './names.ts';
import type { ObjectSettings } from './object-settings.ts';

type Refusal = Pick<Failure, 'code' | 'status' | 'words'>;

/** An input about how objects are kept, what it is set to, and how a store's words point to it. */
interface Wish {
  readonly input: string;
  readonly value: (settings: ObjectSettings) => string | undefined;
  readonly words: RegExp;
  /** S3's codes for a value that it does not take (S3 API, "List of error codes"). */
  readonly code: RegExp;
  /** The IAM action that it needs besides s3:PutObject. */
  readonly permission?: string;
}

const WISHES: readonly Wish[] = [
  {
    input: 'server-side-encryption',
    value: ({ encryption }) => encryption,
    words: /encrypt|\bSSE\b/i,
    code: /^InvalidEncryptionAlgorithm/,
  },
  {
    input: 'acl',
    value: ({ acl }) => acl,
    words: /\bacls?\b|access control list|bucket-owner-full-control/i,
    code: /^AccessControlListNotSupported$/,
    permission: 's3:PutObjectAcl',
  },
  {
    input: 'storage-class',
    value: ({ storageClass }) => storageClass,
    words: /storage.?class/i,
    code: /^InvalidStorageClass$/,
  },
  {
    input: 'tags',
    value: ({ tagging }) => tagging,
    words: /\btag(s|ging)?\b/i,
    code: /^InvalidTag/,
    permission: 's3:PutObjectTagging',
  },
];

/** @returns undefined unless the refusal points to an input */
export function explainDemand(
  refusal: Refusal,
  bucket: Bucket,
  purpose: RequestPurpose,
): Problem | undefined {
  const { code, status, words } = refusal;
  if (status === 403 && code === 'AccessDenied') {
    if (/requester.?pays|request.?payer/i.test(words) && !bucket.settings.requesterPays)
      return unpaid(words, bucket, purpose);
    return explainPermission(words, bucket, purpose) ?? explainPolicy(words, bucket, purpose);
  }
  return purpose.permission === 's3:PutObject' ? explainValue(refusal, bucket, purpose) : undefined;
}

/** What else may be missing where a store gives no reason for refusing a put; begins with a blank if not empty. */
export function furtherNeeds(words: string, { settings }: Bucket, { permission }: RequestPurpose): string {
  if (permission !== 's3:PutObject' || actionIn(words) !== undefined) return '';
  const needed = WISHES.filter((wish) => wish.permission && wish.value(settings.writing) !== undefined);
  const unset = WISHES.filter(
    ({ input, value }) =>
      ['server-side-encryption', 'acl'].includes(input) && value(settings.writing) === undefined,
  );
  return [
    ...needed.map(({ input, permission: needs }) => ` The input '${input}' needs ${needs} as well.`),
    unset.length === 0
      ? ''
      : ` If the bucket's policy demands encryption or an ACL, set ${unset.map(({ input }) => `'${input}'`).join(' or ')}.`,
  ].join('');
}

function unpaid(words: string, bucket: Bucket, purpose: RequestPurpose): Problem {
  return {
    title: 'Access denied',
    reason: `The bucket '${bucket.settings.name}' is a Requester Pays bucket, and the request for ${bucket.uri(purpose.key)} does not offer to pay; S3 says: ${words}.`,
    remedy: "Set the input 'request-payer' to requester.",
  };
}

/** S3 names another action than the request's own: the one that an input needs besides it. */
function explainPermission(words: string, bucket: Bucket, purpose: RequestPurpose): Problem | undefined {
  const action = actionIn(words);
  const wish = WISHES.find(({ permission }) => permission !== undefined && permission === action);
  if (wish === undefined) return undefined;
  return {
    title: 'Access denied',
    reason: `${action}, which the input '${wish.input}' needs, was refused for ${bucket.uri(purpose.key)}; S3 says: ${words}.`,
    remedy: `Allow ${action} on ${resourceOf(bucket, purpose)}, or remove '${wish.input}'.`,
  };
}

/** A policy denies puts that lack something: the role may put, but not so. */
function explainPolicy(words: string, bucket: Bucket, purpose: RequestPurpose): Problem | undefined {
  if (purpose.permission !== 's3:PutObject' || isAboutKms(words)) return undefined;
  const isExplicit = /explicit(ly)? den/i.test(words);
  const named = WISHES.filter((wish) => wish.words.test(withoutNames(words)));
  if (named.length === 0 && !isExplicit) return undefined;
  const meant = named.length > 0 ? named : WISHES.filter(({ input }) => input !== 'storage-class');
  const { writing } = bucket.settings;
  const set = meant.map((wish) => `${wish.input} is ${wish.value(writing) ?? 'not set'}`).join(', ');
  const inputs = meant.map(({ input }) => `'${input}'`).join(' or ');
  return {
    title: 'Access denied',
    reason: `A policy refuses ${bucket.uri(purpose.key)} as it was sent (${set}); S3 says: ${words}.`,
    remedy:
      named.length > 0
        ? `Set the input ${inputs} to what the bucket's policy demands${meant[0]!.input === 'server-side-encryption' ? " (with 'kms-key-id', if it names a key)" : ''}.`
        : `If the policy demands encryption, an ACL or tags, set ${inputs} to that; otherwise change the policy that denies it.`,
  };
}

/** The store does not take the value of an input, or has nothing of the kind. */
function explainValue(
  { code, status, words }: Refusal,
  bucket: Bucket,
  purpose: RequestPurpose,
): Problem | undefined {
  const set = WISHES.filter((wish) => wish.value(bucket.settings.writing) !== undefined);
  const isLacking = status === 501 || code === 'NotImplemented';
  const meant =
    WISHES.find((wish) => wish.code.test(code)) ??
    (status === 400 && !isAboutKms(words)
      ? set.find((wish) => wish.words.test(withoutNames(words)))
      : undefined);
  if (meant === undefined && !(isLacking && set.length > 0)) return undefined;
  const inputs = (meant === undefined ? set : [meant]).map(({ input }) => `'${input}'`).join(' or ');
  const value = meant?.value(bucket.settings.writing);
  return {
    title: 'Store refused the request',
    reason: `The store did not accept ${bucket.uri(purpose.key)} with ${inputs}${value === undefined ? '' : ` (${value})`}: ${words} (${code}).`,
    remedy:
      meant?.input === 'acl'
        ? "Remove 'acl': the bucket has ACLs disabled (S3 Object Ownership), or accepts only bucket-owner-full-control."
        : `Give ${inputs} a value that this bucket accepts, or remove it.`,
  };
}

/** The action that S3 names as not allowed, in its words since 2024. */
function actionIn(words: string): string | undefined {
  return /not authorized to perform: ([a-z0-9-]+:\w+)/i.exec(words)?.[1];
}

/** A refusal of KMS's own, not one of a policy that demands KMS. */
function isAboutKms(words: string): boolean {
  return /\bkms\b/i.test(words.replace(/\baws:kms(:dsse)?\b|\bSSE-KMS\b|x-amz-[\w-]+/gi, ''));
}

/** Names of resources and users may hold any word. */
function withoutNames(words: string): string {
  return words.replace(/"[^"]*"|\barn:\S+|s3:\/\/\S+/g, '');
}
