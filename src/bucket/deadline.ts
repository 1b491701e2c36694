/** Bounds in time and size: for each try of a request, for a request with all its tries, for what an answer holds. */
import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { readAtMost } from '../untrusted/bounded-read.ts';

/** What each request is sent with. */
export interface RequestOptions {
  readonly abortSignal: AbortSignal;
  /** Milliseconds for one try, from its first byte to the last byte of its answer. */
  readonly requestTimeout: number;
}

/** Bytes per second. Six parts at once at this rate are 0.8 Mbit/s; a slower line is as good as none. */
const SLOWEST_RATE = 16 * 1024;
/** A request that is slow to its end is tried once more, not five times. */
const SLOW_TRIES = 2;
const MIB = 1024 * 1024;
/**
 * A listing's page of 1,000 keys of 1,024 bytes, each of them percent-encoded, has some 3.5 MB (S3 API, ListObjectsV2);
 * no other document of S3 is larger.
 */
const MAX_DOCUMENT_BYTES = 4 * MIB;
/** How an answer that exceeds it shows in an error's `name`. */
export const TOO_LARGE = 'AnswerTooLarge';

/**
 * How long one try may take, and all tries together, in milliseconds.
 *
 * @param seconds - for a request without a body and an answer without one
 * @param bytes - what the body has besides
 */
export function deadlinesOf(seconds: number, bytes: number): { readonly one: number; readonly all: number } {
  const one = (seconds + bytes / SLOWEST_RATE) * 1000;
  return { one: Math.ceil(one), all: Math.ceil(one) * SLOW_TRIES };
}

/** Ends each try of the client's requests at its `requestTimeout`: also one whose bytes come one at a time. */
export function boundTries(client: S3Client, seconds: number): void {
  const handler = client.config.requestHandler;
  const handle = handler.handle.bind(handler);
  handler.handle = async (request, options?: object) => {
    const { abortSignal, requestTimeout = seconds * 1000 } = (options ?? {}) as Partial<RequestOptions>;
    const late = new AbortController();
    let body: Readable | undefined;
    // AbortSignal.timeout cannot be taken back, and would keep each answer in memory until its time is up.
    const timer = setTimeout(() => {
      body?.destroy(tooLate(requestTimeout));
      late.abort();
    }, requestTimeout).unref();
    const signals = [late.signal, ...(abortSignal === undefined ? [] : [abortSignal])];
    try {
      const answer = await handle(request, { abortSignal: AbortSignal.any(signals) });
      body = answer.response.body as Readable;
      // The answer to a HEAD is never read, so nothing else listens.
      body.on('error', () => undefined).once('close', () => clearTimeout(timer));
      return answer;
    } catch (error) {
      clearTimeout(timer);
      throw late.signal.aborted ? tooLate(requestTimeout) : error;
    }
  };
}

/** The SDK tries again after an error of this name. */
function tooLate(milliseconds: number): Error {
  const error = new Error(`no complete response within ${Math.round(milliseconds / 1000)} seconds`);
  return Object.assign(error, { name: 'TimeoutError' });
}

/**
 * Reads the documents that S3 answers with, which the SDK would read without end.
 *
 * @throws Error of the name {@link TOO_LARGE}
 */
export async function collectDocument(stream: Readable): Promise<Uint8Array> {
  const bytes = await readAtMost(stream, MAX_DOCUMENT_BYTES);
  if (bytes === undefined) throw Object.assign(new Error('too large'), { name: TOO_LARGE });
  return bytes;
}

/** A runner kills a cancelled step after 7.5 and 2.5 seconds; what this step put is removed before that. */
const CLEAN_UP_MS = 7_000;
/** A put that is under way when the job is cancelled may end; cut off, its outcome is unknown. */
const GRACE_MS = 3_000;

/** Aborts soon after `signal` does, to let a request end whose outcome would be unknown. */
export function afterGrace(signal: AbortSignal): AbortSignal {
  return delayed(signal, GRACE_MS);
}

/** Aborts when a clean-up has to be over: some seconds after `signal` was aborted, and never before. */
export function untilCleanedUp(signal: AbortSignal): AbortSignal {
  return delayed(signal, CLEAN_UP_MS);
}

function delayed(signal: AbortSignal, milliseconds: number): AbortSignal {
  const late = new AbortController();
  const wait = () =>
    AbortSignal.timeout(milliseconds).addEventListener('abort', () => late.abort(signal.reason));
  if (signal.aborted) wait();
  else signal.addEventListener('abort', wait, { once: true });
  return late.signal;
}

/** Settles as `promise` does, unless the signal is aborted first: the SDK looks at it only while it sends. */
export async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
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
