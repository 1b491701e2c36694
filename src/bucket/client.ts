/** Opens a bucket: endpoint, region, addressing style and credentials settled once, without a request. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { fromEnv } from '@aws-sdk/credential-provider-env';
import { WheelStoreError } from '../errors.ts';
import { credentialsIn, hideSecrets, plainAddress } from '../untrusted/foreign-text.ts';
import { readAnswers } from './answers.ts';
import type { Bucket, BucketSettings, RequestPurpose } from './bucket.ts';
import { listenToSources } from './credential-sources.ts';
import {
  boundTries,
  collectDocument,
  deadlinesOf,
  type RequestOptions,
  TOO_LARGE,
  unlessAborted,
} from './deadline.ts';
import { namesBucket, regionAfter } from './endpoint.ts';
import { codeOf, explainFailure } from './failures.ts';
import { placeOf, s3Uri } from './names.ts';
import { observe, type SentRequest } from './observe.ts';

/** Tries per request, the first included; the SDK waits in between, with jitter, at most 20 s. */
const MAX_ATTEMPTS = 5;
const CONNECT_TIMEOUT_MS = 10_000;
/** How long a connection may stay silent before the request is tried again, unless more was asked for. */
const MIN_IDLE_SECONDS = 60;
const MAX_SOCKETS = 16;

/**
 * Opens a bucket. Sends nothing.
 *
 * @param onRequest - told of each request; where nobody wants to know, nothing is spent on it
 * @throws WheelStoreError when the SDK's configuration files cannot be read, or the endpoint names the bucket.
 */
export async function openBucket(
  settings: BucketSettings,
  onRequest?: (request: SentRequest) => void,
): Promise<Bucket> {
  const region = { current: settings.region };
  const { logger, notes } = listenToSources();
  const client = new S3Client({
    logger,
    region: async () => region.current,
    ...(settings.endpoint === undefined ? {} : { endpoint: settings.endpoint }),
    ...credentialsOf(settings),
    maxAttempts: MAX_ATTEMPTS,
    // Ours is a SHA-256 over the whole wheel; a second checksum per answer would cost and prove less.
    responseChecksumValidation: 'WHEN_REQUIRED',
    streamCollector: collectDocument,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: Math.max(MIN_IDLE_SECONDS, settings.requestTimeout) * 1000,
      httpAgent: new HttpAgent({ keepAlive: true, maxSockets: MAX_SOCKETS, proxyEnv: settings.proxy }),
      httpsAgent: new HttpsAgent({ keepAlive: true, maxSockets: MAX_SOCKETS, proxyEnv: settings.proxy }),
    },
  });
  readAnswers(client);
  if (onRequest !== undefined) observe(client, onRequest);
  leavePayloadToTls(client);
  boundTries(client, settings.requestTimeout);
  if (settings.requesterPays) offerToPay(client);
  const customEndpoint = settings.endpoint ?? (await client.config.serviceConfiguredEndpoint?.());
  hideSecrets(credentialsIn(customEndpoint ?? ''));
  if (customEndpoint !== undefined) checkEndpoint(settings, customEndpoint);
  client.config.forcePathStyle =
    settings.pathStyle ?? (customEndpoint !== undefined || settings.name.includes('.'));
  if (customEndpoint !== undefined) suitForeignEngines(client, settings);
  return {
    settings,
    client,
    region,
    customEndpoint,
    honoursConditions: customEndpoint === undefined,
    address: plainAddress(customEndpoint ?? '') ?? '',
    credentialNotes: notes,
    uri: (key) => s3Uri(settings.name, key),
    close: () => client.destroy(),
  };
}

/**
 * Sends one request through `request`, once more when S3 answers that the bucket is in another region, and
 * from then on all requests of this bucket go there. `request` passes its options on to the client, which end
 * the request when the purpose's signal is aborted, or when it takes too long.
 *
 * @throws WheelStoreError that says what to do; its `cause` is the SDK's error, which `statusOf` and `codeOf`
 *   read. An abort is passed on as it is.
 */
export async function send<Output>(
  bucket: Bucket,
  purpose: RequestPurpose,
  request: (client: S3Client, options: RequestOptions) => Promise<Output>,
): Promise<Output> {
  for (let redirects = 0; ; redirects += 1) {
    const asked = bucket.region.current;
    try {
      return await sendInTime(bucket, purpose, request);
    } catch (error) {
      const named = mayFollow(bucket, error) ? regionAfter(error) : undefined;
      const isNew = named !== undefined && named !== asked;
      // A bucket is in one region: a second redirect means that two parties on the way disagree, and go on so.
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
  const { one, all } = deadlinesOf(bucket.settings.requestTimeout, purpose.bytes ?? 0);
  const late = AbortSignal.timeout(all);
  const abortSignal = purpose.signal === undefined ? late : AbortSignal.any([purpose.signal, late]);
  try {
    return await unlessAborted(request(bucket.client, { abortSignal, requestTimeout: one }), abortSignal);
  } catch (error) {
    if (late.aborted && purpose.signal?.aborted !== true) throw tooSlow(bucket, purpose, all);
    if (codeOf(error) === TOO_LARGE) throw answerTooLarge(bucket, purpose, error);
    throw error;
  }
}

function tooSlow(bucket: Bucket, purpose: RequestPurpose, milliseconds: number): WheelStoreError {
  const cause = Object.assign(new Error('deadline'), { name: 'TimeoutError' });
  return new WheelStoreError(
    {
      title: 'Store too slow',
      reason: `${placeOf(bucket)} did not complete ${purpose.permission} on ${bucket.uri(purpose.key)} within ${Math.round(milliseconds / 1000)} seconds.`,
      remedy:
        'Run the job again; if the store is always this slow, set WHEEL_STORE_REQUEST_TIMEOUT to more seconds in the env of the step.',
    },
    { cause },
  );
}

function answerTooLarge(bucket: Bucket, purpose: RequestPurpose, cause: unknown): WheelStoreError {
  return new WheelStoreError(
    {
      title: 'Not an S3 response',
      reason: `${placeOf(bucket)} responded to ${purpose.permission} on ${bucket.uri(purpose.key)} with more data than any S3 response has.`,
      remedy:
        "Check that 'endpoint-url' is an S3 endpoint, and any proxy or firewall between the runner and the store.",
    },
    { cause },
  );
}

/** Guessing is for a region that was meant for another cloud; AWS and whoever names one say it in each answer. */
function mayFollow({ settings, customEndpoint }: Bucket, error: unknown): boolean {
  return codeOf(error) !== 'InvalidRegionName' || (customEndpoint !== undefined && !settings.isRegionGiven);
}

/** @throws WheelStoreError when the bucket would be in each address twice */
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

/** The SDK's own chain passes over keys in the environment when AWS_PROFILE is set; the AWS CLI does not. */
function credentialsOf({ anonymous, hasEnvironmentKeys }: BucketSettings): S3ClientConfig {
  if (anonymous) return unsigned();
  return hasEnvironmentKeys ? { credentials: fromEnv() } : {};
}

/** Anonymous requests: the SDK has no switch for them, so the signer leaves each request as it is. */
function unsigned(): S3ClientConfig {
  return {
    credentials: { accessKeyId: '', secretAccessKey: '' },
    signer: { sign: async (request) => request },
  };
}

/**
 * Over TLS the body of a request is protected as it is, and needs no SHA-256 of its own in the signature (S3 API,
 * "Signature Calculations for the Authorization Header": `UNSIGNED-PAYLOAD`). AWS gets a CRC32 of it besides.
 */
function leavePayloadToTls(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const request = args.request as { protocol: string; body?: unknown; headers: Record<string, string> };
      if (request.protocol === 'https:' && request.body instanceof Uint8Array) {
        request.headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD';
      }
      return next(args);
    },
    { step: 'build', priority: 'low', name: 'leavePayloadToTls' },
  );
}

/**
 * Every request says it, and every presigned URL, where it becomes a part of the query (S3 user guide, "Downloading
 * objects from Requester Pays buckets"). Before the signature, which covers it.
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

/** Many S3-compatible stores refuse the checksums that AWS added in 2025 and know no `Expect: 100-continue`. */
function suitForeignEngines(client: S3Client, settings: BucketSettings): void {
  client.config.expectContinueHeader = false;
  if (!settings.checksumsAsked) client.config.requestChecksumCalculation = async () => 'WHEN_REQUIRED';
}
