/** Turns errors of the SDK into one sentence of cause and one of remedy. */
import { type Problem, WheelStoreError } from '../errors.ts';
import { foreignText } from '../untrusted/foreign-text.ts';
import type { Bucket, RequestPurpose } from './bucket.ts';
import { joinReasons } from './credential-sources.ts';
import { explainDemand, furtherNeeds } from './demands.ts';
import { explainForeignResponse, explainProxy, explainScheme, tooLarge } from './foreign-responses.ts';
import { describeStore, resourceOf, storeAsSubject, tries } from './names.ts';
import { type Failure, responseIn, unreadableResponse, wasSent } from './responses.ts';

/** The fields used here of the SDK's errors (`ServiceException`, and Node's system errors). */
interface SdkError {
  readonly name?: string;
  readonly message?: string;
  readonly Code?: string;
  /** Node's code for a system or TLS error. */
  readonly code?: string;
  /** The right region, in some of S3's rejections (S3 API, "Error responses": AuthorizationHeaderMalformed). */
  readonly Region?: string;
  /** The argument that an InvalidArgument is about. */
  readonly ArgumentName?: string;
  /** The SDK sets it on errors that are responses of a service. */
  readonly $fault?: string;
  readonly cause?: unknown;
  readonly $metadata?: {
    readonly httpStatusCode?: number;
    readonly attempts?: number;
    readonly requestId?: string;
  };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
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
const DENIED = new Set(['AccessDenied', 'AccessDeniedException', 'AccessForbidden', 'UnauthorizedAccess']);
const WRONG_REGION = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  'InvalidRegionName',
]);

/** The HTTP status, from the SDK's error or from the WheelStoreError that explains it. */
export function statusOf(error: unknown): number | undefined {
  return sdkErrorIn(error).$metadata?.httpStatusCode;
}

/** S3's id of a rejected request; empty if the error has none. */
export function requestIdOf(error: unknown): string {
  return sdkErrorIn(error).$metadata?.requestId ?? '';
}

/** S3's error code (or Node's), such as `PreconditionFailed`, from the SDK's error or the one that explains it. */
export function codeOf(error: unknown): string {
  const found = sdkErrorIn(error);
  return found.code ?? found.Code ?? found.name ?? '';
}

/** Whether the request was cancelled by its signal. */
export function isAbort(error: unknown): boolean {
  return (error as SdkError | undefined)?.name === 'AbortError';
}

/**
 * Whether the same request may succeed later: a busy store, an outage, a broken connection. A host name that doesn't
 * exist is probably a mistake, so it doesn't count.
 */
export function isTransient(error: unknown): boolean {
  const status = statusOf(error) ?? 0;
  const code = codeOf(error);
  if (status === 408 || status === 429 || code === 'RequestTimeout') return true;
  if (status >= 300) return status >= 500 && status !== 501;
  return UNREACHABLE.has(code) && code !== 'ENOTFOUND';
}

/** The right region, if S3's response says that the request went to a wrong one. */
export function regionNamedBy(error: unknown): string | undefined {
  const failure = error as SdkError | undefined;
  const status = failure?.$metadata?.httpStatusCode;
  if (status !== 301 && status !== 307 && status !== 400) return undefined;
  if (status === 400 && !WRONG_REGION.has(codeOf(error))) return undefined;
  const region = failure?.$response?.headers?.['x-amz-bucket-region'] ?? failure?.Region;
  return region !== undefined && /^[a-z0-9-]{1,40}$/.test(region) ? region : undefined;
}

/**
 * Whether S3's response says that there is no such object. A 404 from something else, such as a firewall, doesn't
 * count.
 */
export function isAbsent(error: unknown): boolean {
  const cause = sdkErrorIn(error);
  return statusOf(error) === 404 && codeOf(error) !== 'NoSuchBucket' && responseIn(cause)?.isS3 !== false;
}

/** Codes that engines without conditional writes may return instead of 501, but also for other reasons. */
const UNSPECIFIC = new Set(['', 'InvalidArgument', 'InvalidRequest', 'BadRequest', 'UnsupportedHeader']);
const NAMES_CONDITION = /if-(none-)?match|conditional|precondition|header you provided implies/i;
/** Matches any other header or argument. */
const NAMES_SOMETHING_ELSE =
  /\b(x-amz-[a-z-]+|content-[a-z0-9]+|digest|checksum|signature|storage.?class|tag(ging)?|metadata|encryption|acl|region|token|date|length|size)\b/i;

/**
 * Whether a store rejects a put because it doesn't support conditions (`If-None-Match`, `If-Match`). In the S3 API, the
 * response is a 501 or NotImplemented. With a custom endpoint, it may also be a 405, or a 400 with an unspecific code
 * and a message that doesn't name another cause.
 */
export function refusesCondition(error: unknown, { customEndpoint }: Bucket): boolean {
  const cause = sdkErrorIn(error);
  if (!wasSent(cause)) return false;
  const { status, code, message } = read(cause);
  if (status === 501 || code === 'NotImplemented') return true;
  if (customEndpoint === undefined) return false;
  if (status === 405 || code === 'MethodNotAllowed') return true;
  if (status !== 400 || !UNSPECIFIC.has(code)) return false;
  const text = `${message} ${foreignText(cause.ArgumentName, 100)}`;
  return NAMES_CONDITION.test(text) || !NAMES_SOMETHING_ELSE.test(text);
}

/**
 * Explains a failed request.
 *
 * @param error - as thrown by the SDK
 * @returns the error to throw: `error` itself if it is an abort or already explained
 */
export function explainFailure(error: unknown, bucket: Bucket, purpose: RequestPurpose): unknown {
  if (isAbort(error) || error instanceof WheelStoreError) return error;
  const failure = read(error as SdkError);
  const problem =
    explainSources(failure, bucket) ??
    explainProxy(failure, bucket) ??
    explainForeignResponse(failure, bucket, purpose) ??
    explainCredentials(failure) ??
    explainConnection(failure, bucket) ??
    explainLimit(failure, bucket, purpose) ??
    explainDemand(failure, bucket, purpose) ??
    explainRefusal(failure, bucket, purpose) ??
    explainOther(failure, bucket, purpose);
  return new WheelStoreError(problem, { cause: error });
}

function sdkErrorIn(error: unknown): SdkError {
  const inner = error instanceof WheelStoreError ? error.cause : error;
  return (inner ?? {}) as SdkError;
}

/** Placeholders that the SDK uses if the response has no code or message. */
const MADE_UP = /^(UnknownError|Unknown|NotFound|\d{3}|Error)$/;

function read(error: SdkError): Failure {
  const code = codeOf(error);
  const message = foreignText(error.message).replace(
    / ?Deserialization error: to see the raw response.*/,
    '',
  );
  return {
    code: MADE_UP.test(code) ? '' : foreignText(code, 100),
    status: error.$metadata?.httpStatusCode,
    message: MADE_UP.test(message) ? '' : message,
    attempts: error.$metadata?.attempts ?? 1,
    requestId: foreignText(error.$metadata?.requestId, 100) || undefined,
    response: responseIn(error) ?? unreadableResponse(error),
    isSent: wasSent(error),
  };
}

/** Names of the SDK's credential errors, and Node's codes for reading a file or reaching a service. */
const CREDENTIALS_ERROR =
  /^(Credentials|Token)?ProviderError$|^InstanceMetadataV1FallbackError$|^E[A-Z]{3,}$|Timeout/;

/** Errors before the request was sent: no credentials, or a source of them that failed. */
function explainSources(failure: Failure, { settings, credentialFailures }: Bucket): Problem | undefined {
  const { isSent, code, status, message } = failure;
  if (isSent || (status === undefined && !CREDENTIALS_ERROR.test(code))) return undefined;
  const isEndOfChain = message.startsWith('Could not load credentials from any providers');
  const last = isEndOfChain
    ? []
    : [status === undefined ? message : `${message} (${code || `HTTP ${status}`})`];
  const { sources, metadataService } = credentialFailures;
  const isMetadataService = metadataService.length > 0 || code === 'InstanceMetadataV1FallbackError';
  const reason = joinReasons(isMetadataService ? sources : [...sources, ...last]);
  if (reason !== '') {
    return {
      title: 'AWS credentials unavailable',
      reason: `The configured source of AWS credentials for the bucket '${settings.name}' provided none: ${reason}.`,
      remedy:
        'Check the trust policy of the role (AWS_ROLE_ARN) and the token file (AWS_WEB_IDENTITY_TOKEN_FILE), the profile (AWS_PROFILE) with its credential_process or SSO session, or the credential endpoint of the machine. Or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, as aws-actions/configure-aws-credentials does.',
    };
  }
  const also = joinReasons(isMetadataService ? [...metadataService, ...last] : []);
  return {
    title: 'No AWS credentials',
    reason: `No AWS credentials were found to reach the bucket '${settings.name}' with${also === '' ? '' : ` (the instance metadata service: ${also})`}.`,
    remedy: settings.credentialsRemedy,
  };
}

function explainCredentials({ code, message }: Failure): Problem | undefined {
  if (EXPIRED.has(code)) {
    return {
      title: 'AWS credentials expired',
      reason: `The AWS credentials of this job have expired (${code}).`,
      remedy:
        "Raise role-duration-seconds of aws-actions/configure-aws-credentials (and the role's own maximum), or run that step again right before this one.",
    };
  }
  if (REFUSED_CREDENTIALS.has(code)) {
    return {
      title: 'AWS credentials refused',
      reason: `The store refused the credentials of this job (${code}${message === '' ? '' : `: ${message}`}).`,
      remedy:
        'Check the key and secret, or the role that configure-aws-credentials assumes, and that they belong to this endpoint.',
    };
  }
  if (code === 'RequestTimeTooSkewed') {
    return {
      title: 'Clock out of sync',
      reason: `The store refused the request because the clock of this machine differs too much from its own (${code}).`,
      remedy:
        'Synchronize the clock of the runner (for example with chrony or timedatectl), then run the job again.',
    };
  }
  return undefined;
}

function explainConnection(failure: Failure, bucket: Bucket): Problem | undefined {
  const { code, message, attempts } = failure;
  if (UNTRUSTED_CERTIFICATE.has(code)) {
    return {
      title: 'TLS certificate not trusted',
      reason: `The certificate of ${describeStore(bucket)} is not trusted (${code}).`,
      remedy:
        'If a private authority signed it, set NODE_EXTRA_CA_CERTS to the path of its PEM file in the env of the job or step.',
    };
  }
  if (UNREACHABLE.has(code)) {
    const isPlain = bucket.customEndpoint?.startsWith('http:') === true;
    const mayBeTls = isPlain && code === 'ECONNRESET' ? ' If the port speaks TLS, write https://.' : '';
    return {
      title: 'Store unreachable',
      reason: `${storeAsSubject(bucket)} could not be reached in ${tries(attempts)} (${code}${message === '' ? '' : `: ${message}`}).`,
      remedy: `Check endpoint-url, region, the network of the runner and its HTTPS_PROXY and NO_PROXY settings.${mayBeTls}`,
    };
  }
  return explainScheme(failure, bucket);
}

/** Codes of AWS and other engines for a full store or an exhausted quota. */
const QUOTA = /quota|StorageFull|InsufficientStorage|CapExceeded|StorageLimit|DiskFull|OutOfSpace/i;

/** A full store, or a request that is too large. Checked before rejections, which would suggest a permission. */
function explainLimit(failure: Failure, bucket: Bucket, purpose: RequestPurpose): Problem | undefined {
  const { code, status, message } = failure;
  const details = [code, status === undefined ? '' : `HTTP ${status}`, message].filter((part) => part !== '');
  if (code === 'EntityTooLarge' || status === 413) return tooLarge(bucket, purpose, details.join(', '));
  const isFull = QUOTA.test(code) || status === 507 || /\b(quota|cap) (is )?exceeded/i.test(message);
  if (!isFull) return undefined;
  return {
    title: 'Store full',
    reason: `${storeAsSubject(bucket)} has no space left for the bucket '${bucket.settings.name}' (${details.join(', ')}), so ${bucket.uri(purpose.key)} was not stored.`,
    remedy:
      'Raise the quota of the bucket or account, or free space, for instance with a life-cycle rule that deletes old wheels; permissions are not the cause.',
  };
}

function explainRefusal(failure: Failure, bucket: Bucket, purpose: RequestPurpose): Problem | undefined {
  const { code, status, message } = failure;
  if (code === 'NoSuchBucket') {
    return {
      title: 'No such bucket',
      reason: `There is no bucket '${bucket.settings.name}' at ${describeStore(bucket)}.`,
      remedy: "Check the inputs 'bucket', 'region' and 'endpoint-url'; this action does not create buckets.",
    };
  }
  if (/\bkms\b/i.test(code) || (status === 403 && /\bkms\b/i.test(message)) || code.startsWith('KMS.')) {
    return {
      title: 'KMS refused',
      reason: `S3 could not use the KMS key of the bucket '${bucket.settings.name}': ${message} (${code}).`,
      remedy: 'Let the role of this job use the key (kms:GenerateDataKey and kms:Decrypt).',
    };
  }
  if (status === 301 || WRONG_REGION.has(code)) {
    return {
      title: 'Wrong region',
      reason: `The bucket '${bucket.settings.name}' is not in the region ${bucket.region.current} (${code}${message === '' ? '' : `: ${message}`}).`,
      remedy: "Set the input 'region' to the bucket's own region.",
    };
  }
  // A rejected HEAD has no document, and so no code.
  if (DENIED.has(code) || ((status === 403 || status === 401) && failure.response?.hasDocument === false)) {
    const signed = bucket.settings.anonymous
      ? 'without credentials (no-sign-request)'
      : 'with the credentials of this job';
    return {
      title: 'Access denied',
      reason: `${purpose.permission} was refused ${signed} for ${bucket.uri(purpose.key)}${message === '' ? '' : `; S3 says: ${message}`}.`,
      remedy: `Allow ${purpose.permission} on ${resourceOf(bucket, purpose)} in the role's policy and in the bucket's.${furtherNeeds(message, bucket, purpose)}`,
    };
  }
  return undefined;
}

function explainOther(failure: Failure, bucket: Bucket, purpose: RequestPurpose): Problem {
  const { code, status, message, attempts, requestId } = failure;
  const details = [code, status === undefined ? '' : `HTTP ${status}`, message]
    .filter((part) => part !== '')
    .join(', ');
  const id = requestId === undefined ? '' : `, request id ${requestId}`;
  if (status !== undefined && (status >= 500 || status === 429) && status !== 501) {
    return {
      title: 'Store is failing',
      reason: `${storeAsSubject(bucket)} failed ${tries(attempts)} for ${bucket.uri(purpose.key)} (${details}${id}).`,
      remedy: 'Run the job again in a few minutes; if it persists, check the status page of the store.',
    };
  }
  return {
    title: 'Store refused the request',
    reason: `${storeAsSubject(bucket)} rejected ${purpose.permission} on ${bucket.uri(purpose.key)} (${details}${id}).`,
    remedy: "Check that 'endpoint-url' is an S3 endpoint and that the bucket accepts such requests.",
  };
}
