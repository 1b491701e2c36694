/** Encryption, ACL, storage class and tags of the objects that are put. */
import type { CreateMultipartUploadCommandInput } from '@aws-sdk/client-s3';

/** Settings that a bucket's owner may require. If one is not set, the bucket's default applies. */
export interface ObjectSettings {
  readonly encryption?: 'AES256' | 'aws:kms' | 'aws:kms:dsse' | undefined;
  /** The id, ARN or alias of a KMS key. If not set, S3 uses the bucket's key or AWS's own. */
  readonly kmsKeyId?: string | undefined;
  /** A canned ACL (S3 user guide, "Access control list (ACL) overview"). */
  readonly acl?: CreateMultipartUploadCommandInput['ACL'] | undefined;
  readonly storageClass?: CreateMultipartUploadCommandInput['StorageClass'] | undefined;
  /** `key=value&key=value`, percent-encoded as the header `x-amz-tagging` requires. */
  readonly tagging?: string | undefined;
}

/** A wheel, or one of the small objects beside it: index pages, claims and removal markers. */
export type ObjectKind = 'wheel' | 'small';

type WritingFields = Pick<
  CreateMultipartUploadCommandInput,
  'ServerSideEncryption' | 'SSEKMSKeyId' | 'ACL' | 'StorageClass' | 'Tagging'
>;

/**
 * The fields of PutObject and CreateMultipartUpload (S3 API). A policy that requires encryption, an ACL or tags rejects
 * any object without them, so all objects get them. Only wheels get the storage class: classes such as STANDARD_IA
 * charge for at least 128 KB and 30 days, but small objects are rewritten or deleted within minutes.
 */
export function writingFields(settings: ObjectSettings, kind: ObjectKind): WritingFields {
  const { encryption, kmsKeyId, acl, storageClass, tagging } = settings;
  return {
    ServerSideEncryption: encryption,
    SSEKMSKeyId: kmsKeyId,
    ACL: acl,
    StorageClass: kind === 'wheel' ? storageClass : undefined,
    Tagging: tagging,
  };
}
