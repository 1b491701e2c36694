/** Explains rejections that aren't about a missing permission: encryption, an ACL, tags or Requester Pays. */
import type { Problem } from '../errors.ts';
import type { Bucket, RequestPurpose } from './bucket.ts';
import { resourceOf } from './names.ts';
import type { ObjectSettings } from './object-settings.ts';
import type { Failure } from './responses.ts';

type Refusal = Pick<Failure, 'code' | 'status' | 'message'>;

/** An input that controls how objects are stored, and how to recognize it in a rejection. */
interface StorageInput {
  readonly input: string;
  readonly value: (settings: ObjectSettings) => string | undefined;
  /** Matches S3's message. */
  readonly pattern: RegExp;
  /** S3's codes for a value that it doesn't accept (S3 API, "List of error codes"). */
  readonly code: RegExp;
  /** The IAM action that the input requires in addition to s3:PutObject. */
  readonly permission?: string;
}

const STORAGE_INPUTS: readonly StorageInput[] = [
  {
    input: 'server-side-encryption',
    value: ({ encryption }) => encryption,
    pattern: /encrypt|\bSSE\b/i,
    code: /^InvalidEncryptionAlgorithm/,
  },
  {
    input: 'acl',
    value: ({ acl }) => acl,
    pattern: /\bacls?\b|access control list|bucket-owner-full-control/i,
    code: /^AccessControlListNotSupported$/,
    permission: 's3:PutObjectAcl',
  },
  {
    input: 'storage-class',
    value: ({ storageClass }) => storageClass,
    pattern: /storage.?class/i,
    code: /^InvalidStorageClass$/,
  },
  {
    input: 'tags',
    value: ({ tagging }) => tagging,
    pattern: /\btag(s|ging)?\b/i,
    code: /^InvalidTag/,
    permission: 's3:PutObjectTagging',
  },
];

/** @returns undefined if the rejection is not about an input */
export function explainDemand(
  refusal: Refusal,
  bucket: Bucket,
  purpose: RequestPurpose,
): Problem | undefined {
  const { code, status, message } = refusal;
  if (status === 403 && code === 'AccessDenied') {
    if (/requester.?pays|request.?payer/i.test(message) && !bucket.settings.requesterPays)
      return requesterPays(message, bucket, purpose);
    return explainPermission(message, bucket, purpose) ?? explainPolicy(message, bucket, purpose);
  }
  return purpose.permission === 's3:PutObject' ? explainValue(refusal, bucket, purpose) : undefined;
}

/** What else may be missing if a store rejects a put without a reason. Begins with a space unless it is empty. */
export function furtherNeeds(message: string, { settings }: Bucket, { permission }: RequestPurpose): string {
  if (permission !== 's3:PutObject' || actionIn(message) !== undefined) return '';
  const needed = STORAGE_INPUTS.filter(
    (entry) => entry.permission && entry.value(settings.writing) !== undefined,
  );
  const unset = STORAGE_INPUTS.filter(
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

function requesterPays(message: string, bucket: Bucket, purpose: RequestPurpose): Problem {
  return {
    title: 'Access denied',
    reason: `The bucket '${bucket.settings.name}' is a Requester Pays bucket, and the request for ${bucket.uri(purpose.key)} does not offer to pay; S3 says: ${message}.`,
    remedy: "Set the input 'request-payer' to requester.",
  };
}

/** S3 denies not the request's own action, but one that an input requires in addition. */
function explainPermission(message: string, bucket: Bucket, purpose: RequestPurpose): Problem | undefined {
  const action = actionIn(message);
  const entry = STORAGE_INPUTS.find(({ permission }) => permission !== undefined && permission === action);
  if (entry === undefined) return undefined;
  return {
    title: 'Access denied',
    reason: `${action}, which the input '${entry.input}' needs, was refused for ${bucket.uri(purpose.key)}; S3 says: ${message}.`,
    remedy: `Allow ${action} on ${resourceOf(bucket, purpose)}, or remove '${entry.input}'.`,
  };
}

/** The role may put objects, but a policy denies puts without certain settings. */
function explainPolicy(message: string, bucket: Bucket, purpose: RequestPurpose): Problem | undefined {
  if (purpose.permission !== 's3:PutObject' || isAboutKms(message)) return undefined;
  const isExplicit = /explicit(ly)? den/i.test(message);
  const named = STORAGE_INPUTS.filter((entry) => entry.pattern.test(withoutNames(message)));
  if (named.length === 0 && !isExplicit) return undefined;
  const affected = named.length > 0 ? named : STORAGE_INPUTS.filter(({ input }) => input !== 'storage-class');
  const { writing } = bucket.settings;
  const set = affected.map((entry) => `${entry.input} is ${entry.value(writing) ?? 'not set'}`).join(', ');
  const inputs = affected.map(({ input }) => `'${input}'`).join(' or ');
  return {
    title: 'Access denied',
    reason: `A policy refuses ${bucket.uri(purpose.key)} as it was sent (${set}); S3 says: ${message}.`,
    remedy:
      named.length > 0
        ? `Set the input ${inputs} to what the bucket's policy demands${affected[0]!.input === 'server-side-encryption' ? " (with 'kms-key-id', if it names a key)" : ''}.`
        : `If the policy demands encryption, an ACL or tags, set ${inputs} to that; otherwise change the policy that denies it.`,
  };
}

/** The store doesn't accept the value of an input, or doesn't support that setting. */
function explainValue(
  { code, status, message }: Refusal,
  bucket: Bucket,
  purpose: RequestPurpose,
): Problem | undefined {
  const set = STORAGE_INPUTS.filter((entry) => entry.value(bucket.settings.writing) !== undefined);
  const isUnsupported = status === 501 || code === 'NotImplemented';
  const affected =
    STORAGE_INPUTS.find((entry) => entry.code.test(code)) ??
    (status === 400 && !isAboutKms(message)
      ? set.find((entry) => entry.pattern.test(withoutNames(message)))
      : undefined);
  if (affected === undefined && !(isUnsupported && set.length > 0)) return undefined;
  const inputs = (affected === undefined ? set : [affected]).map(({ input }) => `'${input}'`).join(' or ');
  const value = affected?.value(bucket.settings.writing);
  return {
    title: 'Store refused the request',
    reason: `The store did not accept ${bucket.uri(purpose.key)} with ${inputs}${value === undefined ? '' : ` (${value})`}: ${message} (${code}).`,
    remedy:
      affected?.input === 'acl'
        ? "Remove 'acl': the bucket has ACLs disabled (S3 Object Ownership), or accepts only bucket-owner-full-control."
        : `Give ${inputs} a value that this bucket accepts, or remove it.`,
  };
}

/** The denied action, which S3's messages contain since 2024. */
function actionIn(message: string): string | undefined {
  return /not authorized to perform: ([a-z0-9-]+:\w+)/i.exec(message)?.[1];
}

/** Whether KMS itself rejected the request, rather than a policy that requires KMS. */
function isAboutKms(message: string): boolean {
  return /\bkms\b/i.test(message.replace(/\baws:kms(:dsse)?\b|\bSSE-KMS\b|x-amz-[\w-]+/gi, ''));
}

/** Removes names of resources and users, which may contain any word. */
function withoutNames(message: string): string {
  return message.replace(/"[^"]*"|\barn:\S+|s3:\/\/\S+/g, '');
}
