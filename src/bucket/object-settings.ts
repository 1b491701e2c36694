/** How objects are to be kept: encryption, access list, storage class and tags of everything that is put. */
import type { CreateMultipartUploadCommandInput } from '@aws-sdk/client-s3';

/** What a bucket's owner may ask of each object. What is not set is left to the bucket. */
export interface ObjectSettings {
  readonly encryption?: 'AES256' | 'aws:kms' | 'aws:kms:dsse' | undefined;
  /** An id, ARN or alias of a KMS key; without it, S3 takes the bucket's key or AWS's own. */
  readonly kmsKeyId?: string | undefined;
  /** A canned access list (S3 user guide, "Access control list (ACL) overview"). */
  readonly acl?: CreateMultipartUploadCommandInput['ACL'] | undefined;
  readonly storageClass?: CreateMultipartUploadCommandInput['StorageClass'] | undefined;
  /** `key=value&key=value`, percent-encoded as the header `x-amz-tagging` wants it. */
  readonly tagging?: string | undefined;
}

/** A wheel, or one of the small objects beside it: index pages, and the empty objects that announce an upload. */
export type KindOfObject = 'wheel' | 'small';

type WritingFields = Pick<
  CreateMultipartUploadCommandInput,
  'ServerSideEncryption' | 'SSEKMSKeyId' | 'ACL' | 'StorageClass' | 'Tagging'
>;

/**
 * The fields of PutObject and CreateMultipartUpload (S3 API). A policy that demands encryption, an access list or
 * tags refuses objects of every kind without them, so all get them. Only the storage class is for wheels alone: classes
 * such as STANDARD_IA charge at least 128 KB and 30 days for what is rewritten or deleted within minutes.
 */
export function writingFields(settings: ObjectSettings, kind: KindOfObject): WritingFields {
  const { encryption, kmsKeyId, acl, storageClass, tagging } = settings;
  return {
    ServerSideEncryption: encryption,
    SSEKMSKeyId: kmsKeyId,
    ACL: acl,
    StorageClass: kind === 'wheel' ? storageClass : undefined,
    Tagging: tagging,
  };
}
