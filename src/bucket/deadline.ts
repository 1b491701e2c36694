/** Time limits for each try of a request and for all its tries together, and a size limit for responses. */
import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { readAtMost } from '../untrusted/bounded-read.ts';

/** Options for sending a request. */
export interface RequestOptions {
  readonly abortSignal: AbortSignal;
  /** Milliseconds for one try, from its first byte to the last byte of the response. */
  readonly requestTimeout: number;
}

/** Bytes per second. Six parallel parts at this rate are 0.8 Mbit/s. A slower connection counts as broken. */
const SLOWEST_RATE = 16 * 1024;
/** A request that exceeds its time limit is retried once, not four times. */
const SLOW_TRIES = 2;
const MIB = 1024 * 1024;
/**
 * A page of a listing with 1,000 keys of 1,024 percent-encoded bytes has about 3.5 MB (S3 API, ListObjectsV2). S3 has
 * no larger documents.
 */
const MAX_DOCUMENT_BYTES = 4 * MIB;
/** The `name` of the error for a larger response. */
export const RESPONSE_TOO_LARGE = 'ResponseTooLarge';

/**
 * How long one try may take, and all tries together, in milliseconds.
 *
 * @param seconds - limit for a try without a large body
 * @param bytes - size of the body of the request or the response
 */
export function deadlinesOf(
  seconds: number,
  bytes: number,
): { readonly perTry: number; readonly total: number } {
  const perTry = Math.ceil((seconds + bytes / SLOWEST_RATE) * 1000);
  return { perTry, total: perTry * SLOW_TRIES };
}

/** Ends each try of the client's requests after its `requestTimeout`, even if bytes keep trickling in. */
export function limitTries(client: S3Client, seconds: number): void {
  const handler = client.config.requestHandler;
  const handle = handler.handle.bind(handler);
  handler.handle = async (request, options?: object) => {
    const { abortSignal, requestTimeout = seconds * 1000 } = (options ?? {}) as Partial<RequestOptions>;
    const timeout = new AbortController();
    let body: Readable | undefined;
    // AbortSignal.timeout cannot be cleared, and would keep each response in memory until it fires.
    const timer = setTimeout(() => {
      body?.destroy(timeoutError(requestTimeout));
      timeout.abort();
    }, requestTimeout).unref();
    const signals = [timeout.signal, ...(abortSignal === undefined ? [] : [abortSignal])];
    try {
      const result = await handle(request, { abortSignal: AbortSignal.any(signals) });
      body = result.response.body as Readable;
      // The response to a HEAD is never read, so nothing else would handle an error.
      body.on('error', () => undefined).once('close', () => clearTimeout(timer));
      return result;
    } catch (error) {
      clearTimeout(timer);
      throw timeout.signal.aborted ? timeoutError(requestTimeout) : error;
    }
  };
}

/** The SDK retries after an error with this name. */
function timeoutError(milliseconds: number): Error {
  const error = new Error(`no complete response within ${Math.round(milliseconds / 1000)} seconds`);
  return Object.assign(error, { name: 'TimeoutError' });
}

/**
 * Reads an S3 document up to a maximum size. The SDK alone would read it without limit.
 *
 * @throws Error with the name {@link RESPONSE_TOO_LARGE} if it is larger
 */
export async function collectDocument(stream: Readable): Promise<Uint8Array> {
  const bytes = await readAtMost(stream, MAX_DOCUMENT_BYTES);
  if (bytes === undefined) throw Object.assign(new Error('too large'), { name: RESPONSE_TOO_LARGE });
  return bytes;
}

/** A runner kills a cancelled step after 7.5 and another 2.5 seconds. Clean-up must end before that. */
const CLEAN_UP_MS = 7_000;
/** A put in progress may finish when the job is cancelled, because the outcome of an interrupted put is unknown. */
const GRACE_MS = 3_000;

/** A signal that aborts three seconds after `signal`, for requests whose outcome must be known. */
export function withGracePeriod(signal: AbortSignal): AbortSignal {
  return delayed(signal, GRACE_MS);
}

/** A signal that aborts seven seconds after `signal`, when clean-up must have ended. */
export function cleanUpDeadline(signal: AbortSignal): AbortSignal {
  return delayed(signal, CLEAN_UP_MS);
}

function delayed(signal: AbortSignal, milliseconds: number): AbortSignal {
  const timeout = new AbortController();
  const wait = () =>
    AbortSignal.timeout(milliseconds).addEventListener('abort', () => timeout.abort(signal.reason));
  if (signal.aborted) wait();
  else signal.addEventListener('abort', wait, { once: true });
  return timeout.signal;
}

/** Settles like `promise`, but rejects as soon as the signal aborts: the SDK checks the signal only while sending. */
export async function rejectOnAbort<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const stop = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const giveUp = () => reject(Object.assign(new Error('Request aborted'), { name: 'AbortError' }));
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { signal: stop.signal });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    stop.abort();
  }
}
