/** Opens a bucket, which fixes endpoint, region, addressing style and credentials, and sends requests to it. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { fromEnv } from '@aws-sdk/credential-provider-env';
import { WheelStoreError } from '../errors.ts';
import { credentialsIn, hideSecrets, plainAddress } from '../untrusted/foreign-text.ts';
import type { Bucket, BucketSettings, RequestPurpose } from './bucket.ts';
import { collectSourceFailures } from './credential-sources.ts';
import {
  collectDocument,
  deadlinesOf,
  limitTries,
  RESPONSE_TOO_LARGE,
  type RequestOptions,
  rejectOnAbort,
} from './deadline.ts';
import { namesBucket, regionAfter } from './endpoint.ts';
import { explainFailure } from './explain-failure.ts';
import { codeOf } from './failures.ts';
import { s3Uri, storeAsSubject } from './names.ts';
import { observe, type SentRequest } from './observe.ts';
import { readErrorResponses } from './responses.ts';

/** Tries per request, including the first. The SDK waits in between, with jitter, at most 20 s. */
const MAX_ATTEMPTS = 5;
const CONNECT_TIMEOUT_MS = 10_000;
/** How long a connection may be idle before the request is retried, unless the request timeout is longer. */
const MIN_IDLE_SECONDS = 60;
const MAX_SOCKETS = 16;

/**
 * Opens a bucket. Sends nothing.
 *
 * @param onRequest - called for each request; if omitted, requests aren't traced at all
 * @throws WheelStoreError if the SDK's configuration files cannot be read, or the endpoint contains the bucket name
 */
export async function openBucket(
  settings: BucketSettings,
  onRequest?: (request: SentRequest) => void,
): Promise<Bucket> {
  const region = { current: settings.region };
  const { logger, failures } = collectSourceFailures();
  const closing = new AbortController();
  const client = new S3Client({
    logger,
    region: async () => region.current,
    ...(settings.endpoint === undefined ? {} : { endpoint: settings.endpoint }),
    ...credentialsOf(settings),
    maxAttempts: MAX_ATTEMPTS,
    // We check the SHA-256 of the whole wheel. A checksum per response would cost time and prove less.
    responseChecksumValidation: 'WHEN_REQUIRED',
    streamCollector: collectDocument,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: Math.max(MIN_IDLE_SECONDS, settings.requestTimeout) * 1000,
      httpAgent: new HttpAgent({ keepAlive: true, maxSockets: MAX_SOCKETS, proxyEnv: settings.proxy }),
      httpsAgent: new HttpsAgent({ keepAlive: true, maxSockets: MAX_SOCKETS, proxyEnv: settings.proxy }),
    },
  });
  readErrorResponses(client);
  if (onRequest !== undefined) observe(client, onRequest);
  leavePayloadUnsigned(client);
  limitTries(client, settings.requestTimeout);
  if (settings.requesterPays) offerToPay(client);
  const customEndpoint = settings.endpoint ?? (await client.config.serviceConfiguredEndpoint?.());
  hideSecrets(credentialsIn(customEndpoint ?? ''));
  if (customEndpoint !== undefined) checkEndpoint(settings, customEndpoint);
  client.config.forcePathStyle =
    settings.pathStyle ?? (customEndpoint !== undefined || settings.name.includes('.'));
  if (customEndpoint !== undefined) adaptToCustomEndpoint(client, settings);
  return {
    settings,
    client,
    region,
    customEndpoint,
    honoursConditions: customEndpoint === undefined,
    address: plainAddress(customEndpoint ?? '') ?? '',
    credentialFailures: failures,
    uri: (key) => s3Uri(settings.name, key),
    closed: closing.signal,
    close() {
      // Otherwise the SDK would retry a request that lost its socket.
      closing.abort();
      client.destroy();
    },
  };
}

/**
 * Sends one request. If S3 responds that the bucket is in another region, sends it once more, to that region, which
 * later requests then use as well.
 *
 * @param request - must pass its options to the client: they end the request if the purpose's signal is aborted, or
 *   if it takes too long
 * @throws WheelStoreError with a remedy; its `cause` is the SDK's error, which `statusOf` and `codeOf` read. An abort
 *   is rethrown unchanged.
 */
export async function send<Output>(
  bucket: Bucket,
  purpose: RequestPurpose,
  request: (client: S3Client, options: RequestOptions) => Promise<Output>,
): Promise<Output> {
  for (let redirects = 0; ; redirects += 1) {
    const used = bucket.region.current;
    try {
      return await sendInTime(bucket, purpose, request);
    } catch (error) {
      const named = mayFollow(bucket, error) ? regionAfter(error) : undefined;
      const isNew = named !== undefined && named !== used;
      // A bucket is in one region, so a second redirect means a loop.
      if (!isNew || redirects === 1) throw explainFailure(error, bucket, purpose);
      bucket.region.current = named;
    }
  }
}

async function sendInTime<Output>(
  bucket: Bucket,
  purpose: RequestPurpose,
  request: (client: S3Client, options: RequestOptions) => Promise<Output>,
): Promise<Output> {
  const { perTry, total } = deadlinesOf(bucket.settings.requestTimeout, purpose.bytes ?? 0);
  const timeout = AbortSignal.timeout(total);
  const cancelled = purpose.signal === undefined ? [] : [purpose.signal];
  const abortSignal = AbortSignal.any([...cancelled, timeout, bucket.closed]);
  try {
    return await rejectOnAbort(request(bucket.client, { abortSignal, requestTimeout: perTry }), abortSignal);
  } catch (error) {
    if (timeout.aborted && purpose.signal?.aborted !== true) throw tooSlow(bucket, purpose, total);
    if (codeOf(error) === RESPONSE_TOO_LARGE) throw responseTooLarge(bucket, purpose, error);
    throw error;
  }
}

function tooSlow(bucket: Bucket, purpose: RequestPurpose, milliseconds: number): WheelStoreError {
  const cause = Object.assign(new Error('deadline'), { name: 'TimeoutError' });
  return new WheelStoreError(
    {
      title: 'Store too slow',
      reason: `${storeAsSubject(bucket)} did not complete ${purpose.permission} on ${bucket.uri(purpose.key)} within ${Math.round(milliseconds / 1000)} seconds.`,
      remedy:
        'Run the job again; if the store is always this slow, set WHEEL_STORE_REQUEST_TIMEOUT to more seconds in the env of the step.',
    },
    { cause },
  );
}

function responseTooLarge(bucket: Bucket, purpose: RequestPurpose, cause: unknown): WheelStoreError {
  return new WheelStoreError(
    {
      title: 'Not an S3 response',
      reason: `${storeAsSubject(bucket)} responded to ${purpose.permission} on ${bucket.uri(purpose.key)} with more data than any S3 response has.`,
      remedy:
        "Check that 'endpoint-url' is an S3 endpoint, and any proxy or firewall between the runner and the store.",
    },
    { cause },
  );
}

/** After InvalidRegionName, `auto` is a guess, made only for a custom endpoint if the region may be meant for AWS. */
function mayFollow({ settings, customEndpoint }: Bucket, error: unknown): boolean {
  return codeOf(error) !== 'InvalidRegionName' || (customEndpoint !== undefined && !settings.isRegionGiven);
}

/** @throws WheelStoreError if the endpoint contains the bucket name, so that each URL would contain it twice */
function checkEndpoint({ name, endpoint, pathStyle }: BucketSettings, customEndpoint: string): void {
  const where = namesBucket(customEndpoint, name, pathStyle);
  if (where === undefined) return;
  const source =
    endpoint === undefined
      ? 'The endpoint that AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the AWS configuration file sets'
      : "The input 'endpoint-url'";
  const isHost =
    where === 'host' ? ', or set force-path-style: true if this is the host of the whole store' : '';
  throw new WheelStoreError({
    title: 'Bucket in the endpoint',
    reason: `${source} names the bucket '${name}' in its ${where}, so every URL would contain it twice.`,
    remedy: `Leave the bucket out of the endpoint${isHost}.`,
  });
}

/** With AWS_PROFILE set, the SDK's own chain ignores keys in the environment. The AWS CLI uses them, and so do we. */
function credentialsOf({ anonymous, hasEnvironmentKeys }: BucketSettings): S3ClientConfig {
  if (anonymous) return unsigned();
  return hasEnvironmentKeys ? { credentials: fromEnv() } : {};
}

/** The SDK has no option for anonymous requests, so use a signer that doesn't sign. */
function unsigned(): S3ClientConfig {
  return {
    credentials: { accessKeyId: '', secretAccessKey: '' },
    signer: { sign: async (request) => request },
  };
}

/**
 * TLS already protects the body of a request, so the signature doesn't need its SHA-256 (S3 API, "Signature
 * Calculations for the Authorization Header": `UNSIGNED-PAYLOAD`). AWS also gets a CRC32 of the body.
 */
function leavePayloadUnsigned(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const request = args.request as { protocol: string; body?: unknown; headers: Record<string, string> };
      if (request.protocol === 'https:' && request.body instanceof Uint8Array) {
        request.headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD';
      }
      return next(args);
    },
    { step: 'build', priority: 'low', name: 'leavePayloadUnsigned' },
  );
}

/**
 * Adds the header to every request. In a presigned URL, it becomes part of the query (S3 user guide, "Downloading
 * objects from Requester Pays buckets"). Runs before signing, because the signature covers it.
 */
function offerToPay(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      (args.request as { headers: Record<string, string> }).headers['x-amz-request-payer'] = 'requester';
      return next(args);
    },
    { step: 'build', name: 'offerToPay' },
  );
}

/** Many S3-compatible stores reject the checksums that AWS added in 2025, and don't support `Expect: 100-continue`. */
function adaptToCustomEndpoint(client: S3Client, settings: BucketSettings): void {
  client.config.expectContinueHeader = false;
  if (!settings.hasChecksumSetting) client.config.requestChecksumCalculation = async () => 'WHEN_REQUIRED';
}
