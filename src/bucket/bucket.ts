/**
 * The types of an open bucket and of a request to it.
 *
 * The operations are functions of this folder that take the bucket first: `listObjects`, `headObject`, `hashObject`,
 * `deleteObject` and `putEmptyObject` (objects), `putFile` (upload), `copyObject` (copy), `downloadObject` (download),
 * `getText` and `replaceText` (text), `plainUrl` and `presignedUrl` (url). They return an outcome or a value, or throw a
 * WheelStoreError with a remedy. HTTP statuses and S3 error codes stay in this folder.
 *
 * A function that can be cancelled takes an `AbortSignal` named `signal`, as its last parameter or in its options. If
 * a request may continue for a while after the job is cancelled, the caller passes a signal that aborts later
 * (deadline: `withGracePeriod`, `cleanUpDeadline`).
 */
import type { S3Client } from '@aws-sdk/client-s3';
import type { CredentialFailures } from './credential-sources.ts';
import type { ObjectSettings } from './object-settings.ts';

/** How to reach a bucket. The functions that get this object read neither inputs nor the environment. */
export interface BucketSettings {
  readonly name: string;
  readonly region: string;
  /** Whether the user set the region for this bucket, rather than for the whole job. */
  readonly isRegionGiven: boolean;
  /** Whether AWS_ACCESS_KEY_ID is set. If so, it takes precedence over a profile (botocore, `EnvProvider`). */
  readonly hasEnvironmentKeys: boolean;
  /** A custom endpoint; undefined: the one that the SDK finds in the environment and configuration files. */
  readonly endpoint: string | undefined;
  /** undefined: path style if the endpoint is custom or the bucket name has a dot. */
  readonly pathStyle: boolean | undefined;
  /** Whether to send unsigned requests, for a public bucket. */
  readonly anonymous: boolean;
  /** Base URL under which readers reach the bucket's keys. */
  readonly publicUrl: string | undefined;
  /** Seconds for which presigned URLs are valid; undefined: plain URLs. */
  readonly presignSeconds: number | undefined;
  /** Encryption, ACL, storage class and tags of the objects that are put. */
  readonly writing: ObjectSettings;
  /** Whether we agree to pay for requests to a Requester Pays bucket. */
  readonly requesterPays: boolean;
  /** Whether AWS_REQUEST_CHECKSUM_CALCULATION is set. If so, the SDK follows it, for a custom endpoint too. */
  readonly hasChecksumSetting: boolean;
  /** Seconds from the first byte of a request to the last byte of its response. Large bodies get more. */
  readonly requestTimeout: number;
  /** `http_proxy`, `https_proxy` and `no_proxy`, in the form that Node's agents take. */
  readonly proxy: Readonly<Record<string, string | undefined>>;
  /** The remedy in the error for missing credentials. */
  readonly credentialsRemedy: string;
}

/** An open bucket. */
export interface Bucket {
  readonly settings: BucketSettings;
  readonly client: S3Client;
  /** The region that requests are signed for. Updated if S3 redirects to another one. */
  readonly region: { current: string };
  /** The custom endpoint, if any. It may contain a password. */
  readonly customEndpoint: string | undefined;
  /**
   * Whether the store is certain to honour `If-Match` and `If-None-Match` on a put, as AWS does (S3 user guide,
   * "Conditional writes"). Other engines may ignore them, which their responses don't show.
   */
  readonly honoursConditions: boolean;
  /** The custom endpoint without secrets, for messages; empty on AWS. */
  readonly address: string;
  readonly credentialFailures: CredentialFailures;
  /** `s3://bucket/key`, as the AWS CLI takes it. */
  uri(key: string): string;
  /** Aborts when the bucket is closed. */
  readonly closed: AbortSignal;
  /** Cancels the requests that are still running, and closes the sockets, so that the process can exit at once. */
  close(): void;
}

/** What a request is for. Used in the error if it fails, and for its deadline. */
export interface RequestPurpose {
  /** The IAM action that the request needs, such as `s3:PutObject`. */
  readonly permission: string;
  /** The key, or the key prefix of a listing. */
  readonly key: string;
  /** Size of the body that is sent or received, in bytes; undefined: at most an S3 document. */
  readonly bytes?: number;
  /** The object that the request copies, as `s3://bucket/key`. */
  readonly copiedFrom?: string;
  /** Cancels the request. */
  readonly signal: AbortSignal | undefined;
}
