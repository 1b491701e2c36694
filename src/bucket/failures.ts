/** Turns what the SDK throws into one sentence of cause and one of remedy. */
import { type Problem, WheelStoreError } from '../errors.ts';
import type { Bucket, RequestPurpose } from './client.ts';

/** The parts of the SDK's errors (`ServiceException`, Node's system errors) that are read here. */
interface SdkError {
  readonly name?: string;
  readonly message?: string;
  readonly Code?: string;
  /** Node's code of a system or TLS error. */
  readonly code?: string;
  /** S3 names the right region in some refusals (S3 API, "Error responses": AuthorizationHeaderMalformed). */
  readonly Region?: string;
  readonly cause?: unknown;
  readonly $metadata?: {
    readonly httpStatusCode?: number;
    readonly attempts?: number;
    readonly requestId?: string;
  };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

interface Failure {
  readonly code: string;
  readonly status: number | undefined;
  /** S3's own words, on one line. */
  readonly words: string;
  readonly attempts: number;
  readonly requestId: string | undefined;
}

const EXPIRED = new Set(['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired', 'RequestExpired']);
const REFUSED_CREDENTIALS = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidToken',
  'InvalidClientTokenId',
  'UnrecognizedClientException',
  'InvalidIdentityToken',
]);
const NO_CREDENTIALS = new Set(['CredentialsProviderError', 'ProviderError', 'TokenProviderError']);
const UNREACHABLE = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'TimeoutError',
]);
const UNTRUSTED_CERTIFICATE = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);
const WRONG_REGION = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);

/** The HTTP status of an answer, from the SDK's error or from the error that explains it. */
export function statusOf(error: unknown): number | undefined {
  return sdkErrorIn(error).$metadata?.httpStatusCode;
}

/** S3's id of a request that it refused; empty when the error holds none. */
export function requestIdOf(error: unknown): string {
  return sdkErrorIn(error).$metadata?.requestId ?? '';
}

/** S3's error code (or Node's), such as `PreconditionFailed`, from the SDK's error or the one that explains it. */
export function codeOf(error: unknown): string {
  const found = sdkErrorIn(error);
  return found.code ?? found.Code ?? found.name ?? '';
}

/** Whether the request was given up because its signal said so. */
export function isAbort(error: unknown): boolean {
  return (error as SdkError | undefined)?.name === 'AbortError';
}

/** The region that S3 names in an answer that says the request went to a wrong one. */
export function regionNamedBy(error: unknown): string | undefined {
  const failure = error as SdkError | undefined;
  const status = failure?.$metadata?.httpStatusCode;
  if (status !== 301 && status !== 307 && status !== 400) return undefined;
  if (status === 400 && !WRONG_REGION.has(codeOf(error))) return undefined;
  const region = failure?.$response?.headers?.['x-amz-bucket-region'] ?? failure?.Region;
  return region !== undefined && /^[a-z0-9-]{1,40}$/.test(region) ? region : undefined;
}

/**
 * Explains a failed request.
 *
 * @param error - what the SDK threw
 * @returns the error to throw: `error` itself when it is an abort or already explained
 */
export function explain(error: unknown, bucket: Bucket, purpose: RequestPurpose): unknown {
  if (isAbort(error) || error instanceof WheelStoreError) return error;
  const failure = read(error as SdkError);
  const problem =
    explainCredentials(failure, bucket) ??
    explainConnection(failure, bucket) ??
    explainRefusal(failure, bucket, purpose) ??
    explainOther(failure, bucket, purpose);
  return new WheelStoreError(problem, { cause: error });
}

function sdkErrorIn(error: unknown): SdkError {
  const inner = error instanceof WheelStoreError ? error.cause : error;
  return (inner ?? {}) as SdkError;
}

function read(error: SdkError): Failure {
  const words = (error.message ?? '').replace(/\s+/g, ' ').trim();
  return {
    code: codeOf(error),
    status: error.$metadata?.httpStatusCode,
    words: words === 'UnknownError' ? '' : words.slice(0, 500),
    attempts: error.$metadata?.attempts ?? 1,
    requestId: error.$metadata?.requestId,
  };
}

function explainCredentials({ code, words }: Failure, { settings }: Bucket): Problem | undefined {
  if (EXPIRED.has(code)) {
    return {
      title: 'AWS credentials expired',
      reason: `S3 says that the credentials of this job have expired (${code}).`,
      remedy:
        'Raise role-duration-seconds of aws-actions/configure-aws-credentials (and the role’s own maximum), or run that step again right before this one.',
    };
  }
  if (NO_CREDENTIALS.has(code)) {
    return {
      title: 'No AWS credentials',
      reason: `No AWS credentials were found to reach the bucket '${settings.name}' with.`,
      remedy: settings.credentialsRemedy,
    };
  }
  if (REFUSED_CREDENTIALS.has(code)) {
    return {
      title: 'AWS credentials refused',
      reason: `The store refused the credentials of this job (${code}${words === '' ? '' : `: ${words}`}).`,
      remedy:
        'Check the key and secret, or the role that configure-aws-credentials assumes, and that they belong to this endpoint.',
    };
  }
  if (code === 'RequestTimeTooSkewed') {
    return {
      title: 'Clock is wrong',
      reason: `The store refused the request because the clock of this machine differs too much from its own (${code}).`,
      remedy: 'Set the clock of the runner (for instance with chrony or timedatectl) and run the job again.',
    };
  }
  return undefined;
}

function explainConnection({ code, words, attempts }: Failure, bucket: Bucket): Problem | undefined {
  if (UNTRUSTED_CERTIFICATE.has(code)) {
    return {
      title: 'TLS certificate not trusted',
      reason: `The certificate of ${placeOf(bucket)} is not trusted here (${code}).`,
      remedy:
        'If a private authority signed it, set NODE_EXTRA_CA_CERTS to the path of its PEM file in the env of the job or step.',
    };
  }
  if (UNREACHABLE.has(code)) {
    return {
      title: 'Store not reached',
      reason: `${placeOf(bucket)} could not be reached in ${tries(attempts)} (${code}${words === '' ? '' : `: ${words}`}).`,
      remedy:
        'Check endpoint-url, region, the network of the runner and its HTTPS_PROXY and NO_PROXY settings.',
    };
  }
  return undefined;
}

function explainRefusal(failure: Failure, bucket: Bucket, purpose: RequestPurpose): Problem | undefined {
  const { code, status, words } = failure;
  if (code === 'NoSuchBucket') {
    return {
      title: 'No such bucket',
      reason: `There is no bucket '${bucket.settings.name}' at ${placeOf(bucket)}.`,
      remedy: "Check the inputs 'bucket', 'region' and 'endpoint-url'; this action does not create buckets.",
    };
  }
  if (/\bkms\b/i.test(code) || (status === 403 && /\bkms\b/i.test(words)) || code.startsWith('KMS.')) {
    return {
      title: 'KMS refused',
      reason: `S3 could not use the KMS key of the bucket '${bucket.settings.name}': ${words} (${code}).`,
      remedy: 'Let the role of this job use the key (kms:GenerateDataKey and kms:Decrypt).',
    };
  }
  if (status === 301 || WRONG_REGION.has(code)) {
    return {
      title: 'Wrong region',
      reason: `The bucket '${bucket.settings.name}' is not in the region ${bucket.region.current} (${code}${words === '' ? '' : `: ${words}`}).`,
      remedy: "Set the input 'region' to the bucket's own region.",
    };
  }
  if (status === 403 || status === 401) {
    const signed = bucket.settings.anonymous
      ? 'without credentials (no-sign-request)'
      : 'with the credentials of this job';
    return {
      title: 'Access denied',
      reason: `${purpose.permission} was refused ${signed} for ${objectName(bucket, purpose)}${words === '' ? '' : `; S3 says: ${words}`}.`,
      remedy: `Allow ${purpose.permission} on ${resourceOf(bucket, purpose)} in the role's policy and in the bucket's.`,
    };
  }
  return undefined;
}

function explainOther(failure: Failure, bucket: Bucket, purpose: RequestPurpose): Problem {
  const { code, status, words, attempts, requestId } = failure;
  const said = [code, status === undefined ? '' : `HTTP ${status}`, words]
    .filter((part) => part !== '')
    .join(', ');
  const id = requestId === undefined ? '' : `, request id ${requestId}`;
  if (status !== undefined && (status >= 500 || status === 429) && status !== 501) {
    return {
      title: 'Store is failing',
      reason: `${placeOf(bucket)} failed ${tries(attempts)} for ${objectName(bucket, purpose)} (${said}${id}).`,
      remedy: 'Run the job again in a few minutes; if it goes on, look at the health page of the store.',
    };
  }
  return {
    title: 'Store refused the request',
    reason: `${placeOf(bucket)} did not do ${purpose.permission} for ${objectName(bucket, purpose)} (${said}${id}).`,
    remedy: "Check that 'endpoint-url' is an S3 endpoint and that the bucket takes such requests.",
  };
}

/** Which store this is, for a sentence: AWS's region or the endpoint, without what may be secret in it. */
export function placeOf(bucket: Bucket): string {
  return bucket.customEndpoint === undefined
    ? `S3 in ${bucket.region.current}`
    : `the endpoint ${withoutSecrets(bucket.customEndpoint)}`;
}

/** An endpoint may carry a user name, a password or a query; none of them belongs in a log. */
function withoutSecrets(endpoint: string): string {
  const url = URL.parse(endpoint);
  return url === null ? 'that is set' : `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}`;
}

function objectName(bucket: Bucket, { key }: RequestPurpose): string {
  return `s3://${bucket.settings.name}/${key}`;
}

function resourceOf(bucket: Bucket, { permission, key }: RequestPurpose): string {
  const arn = `arn:aws:s3:::${bucket.settings.name}`;
  return permission.startsWith('s3:List') ? arn : `${arn}/${key}`;
}

function tries(attempts: number): string {
  return attempts === 1 ? 'one try' : `${attempts} tries`;
}
