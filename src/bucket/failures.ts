/** What an error of the SDK is about: its status and code, and whether a retry or another request may help. */
import { WheelStoreError } from '../errors.ts';
import { foreignText } from '../untrusted/foreign-text.ts';
import type { Bucket } from './bucket.ts';
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

/** Node's codes for a connection that failed. */
export const UNREACHABLE = new Set([
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
/** S3's codes for a request to the wrong region. */
export const WRONG_REGION = new Set([
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
  const { status, code, message } = readFailure(cause);
  if (status === 501 || code === 'NotImplemented') return true;
  if (customEndpoint === undefined) return false;
  if (status === 405 || code === 'MethodNotAllowed') return true;
  if (status !== 400 || !UNSPECIFIC.has(code)) return false;
  const text = `${message} ${foreignText(cause.ArgumentName, 100)}`;
  return NAMES_CONDITION.test(text) || !NAMES_SOMETHING_ELSE.test(text);
}

/**
 * Whether a store rejects a copy because it doesn't copy objects (S3 API, CopyObject and UploadPartCopy). With a custom
 * endpoint, any 400 with an unspecific code counts: if the cause is another, a put with the same headers shows it.
 */
export function refusesCopy(error: unknown, { customEndpoint }: Bucket): boolean {
  const cause = sdkErrorIn(error);
  if (!wasSent(cause)) return false;
  const { status, code } = readFailure(cause);
  if (status === 501 || code === 'NotImplemented') return true;
  if (customEndpoint === undefined) return false;
  return status === 405 || code === 'MethodNotAllowed' || (status === 400 && UNSPECIFIC.has(code));
}

function sdkErrorIn(error: unknown): SdkError {
  const inner = error instanceof WheelStoreError ? error.cause : error;
  return (inner ?? {}) as SdkError;
}

/** Placeholders that the SDK uses if the response has no code or message. */
const MADE_UP = /^(UnknownError|Unknown|NotFound|\d{3}|Error)$/;

/** What an error of the SDK says, without secrets. */
export function readFailure(thrown: unknown): Failure {
  const error = sdkErrorIn(thrown);
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
