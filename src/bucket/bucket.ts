/**
 * What an open bucket is, and what a request to it is about.
 *
 * The operations are functions of this folder that take the bucket first: `listObjects`, `headObject`, `hashObject`,
 * `deleteObject` and `putEmptyObject` (objects), `putFile` (upload), `downloadObject` (download), `getText` and
 * `replaceText` (text), `plainUrl` and `presignedUrl` (url). What they answer is an outcome, a value, or a
 * WheelStoreError that says what to do; statuses and codes of HTTP and S3 stay in this folder.
 *
 * Whoever may be ended takes an `AbortSignal` named `signal`: as its last parameter, or in its options where it has
 * some. A caller whose request may outlast a cancelled job gives it a later signal (deadline: `afterGrace`,
 * `untilCleanedUp`).
 */
import type { S3Client } from '@aws-sdk/client-s3';
import type { CredentialNotes } from './credential-sources.ts';
import type { ObjectSettings } from './object-settings.ts';

/** How to reach a bucket. Nothing below this object reads inputs or the environment. */
export interface BucketSettings {
  readonly name: string;
  readonly region: string;
  /** Whether the user chose the region for this bucket, and not for whatever else the job does. */
  readonly isRegionGiven: boolean;
  /** Whether AWS_ACCESS_KEY_ID is set: then the environment signs, and no profile (botocore, `EnvProvider`). */
  readonly hasEnvironmentKeys: boolean;
  /** A custom endpoint; undefined: what the SDK resolves from its environment and configuration files. */
  readonly endpoint: string | undefined;
  /** undefined: path style with a custom endpoint or a dotted bucket name. */
  readonly pathStyle: boolean | undefined;
  /** Send requests without a signature, as for a public bucket. */
  readonly anonymous: boolean;
  /** Base URL under which the bucket's keys are served to readers. */
  readonly publicUrl: string | undefined;
  /** Seconds for which URLs are to be presigned; undefined: plain URLs. */
  readonly presignSeconds: number | undefined;
  /** How what is put is to be kept. */
  readonly writing: ObjectSettings;
  /** Whether this side offers to pay for requests, as a bucket may demand. */
  readonly requesterPays: boolean;
  /** Whether the environment asks for checksums on every request (AWS_REQUEST_CHECKSUM_CALCULATION). */
  readonly checksumsAsked: boolean;
  /** Seconds that a request may take from its first byte to its answer's last, without what large bodies need. */
  readonly requestTimeout: number;
  /** `http_proxy`, `https_proxy` and `no_proxy`, as Node's agents read them. */
  readonly proxy: Readonly<Record<string, string | undefined>>;
  /** What to tell a reader whose step has no credentials. */
  readonly credentialsRemedy: string;
}

/** An open bucket. */
export interface Bucket {
  readonly settings: BucketSettings;
  readonly client: S3Client;
  /** The region that requests are signed for; a redirect corrects it. */
  readonly region: { current: string };
  /** The endpoint that is not AWS's own, if there is one; it may hold a password. */
  readonly customEndpoint: string | undefined;
  /**
   * Whether the store is certain to honour `If-Match` and `If-None-Match` on a put, as AWS is (S3 user guide,
   * "Conditional writes"). Another engine may ignore them, and no answer of its tells.
   */
  readonly honoursConditions: boolean;
  /** A custom endpoint without what may be secret in it; empty on AWS. */
  readonly address: string;
  readonly credentialNotes: CredentialNotes;
  /** `s3://bucket/key`, for people and for the AWS CLI. */
  uri(key: string): string;
  /** Stops the client's sockets, so that the process can end at once. */
  close(): void;
}

/** What a request is about, for the sentence that explains its failure. */
export interface RequestPurpose {
  /** The IAM action that the request needs, such as `s3:PutObject`. */
  readonly permission: string;
  /** The key, or the key prefix of a list. */
  readonly key: string;
  /** Bytes of the body that is sent or received; undefined: none but a document of S3's. */
  readonly bytes?: number;
  /** Gives the request up. */
  readonly signal: AbortSignal | undefined;
}
