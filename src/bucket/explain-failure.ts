/** Turns errors of the SDK into one sentence of cause and one of remedy. */
import { type Problem, WheelStoreError } from '../errors.ts';
import type { Bucket, RequestPurpose } from './bucket.ts';
import { joinReasons } from './credential-sources.ts';
import { explainDemand, furtherNeeds } from './demands.ts';
import { isAbort, readFailure, UNREACHABLE, WRONG_REGION } from './failures.ts';
import { explainForeignResponse, explainProxy, explainScheme, tooLarge } from './foreign-responses.ts';
import { describeStore, resourceOf, storeAsSubject, tries } from './names.ts';
import type { Failure } from './responses.ts';

const EXPIRED = new Set(['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired', 'RequestExpired']);
const REFUSED_CREDENTIALS = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidToken',
  'InvalidClientTokenId',
  'UnrecognizedClientException',
  'InvalidIdentityToken',
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

/**
 * Explains a failed request.
 *
 * @param error - as thrown by the SDK
 * @returns the error to throw: `error` itself if it is an abort or already explained
 */
export function explainFailure(error: unknown, bucket: Bucket, purpose: RequestPurpose): unknown {
  if (isAbort(error) || error instanceof WheelStoreError) return error;
  const failure = readFailure(error);
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
      remedy: `Allow ${purpose.permission} on ${resourceOf(bucket, purpose)} in the role's policy and in the bucket's.${furtherNeeds(message, bucket, purpose)}${copyNeeds(purpose)}`,
    };
  }
  return undefined;
}

/** S3 doesn't always say which of the two it denies. Tags are not read, because the copy gets its own. */
function copyNeeds({ copiedFrom }: RequestPurpose): string {
  return copiedFrom === undefined ? '' : ` The copy needs s3:GetObject on ${copiedFrom} as well.`;
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
