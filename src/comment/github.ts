/** GitHub's REST API: the client, its network access, and its retries. */
import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { getOctokit } from '@actions/github';
import { exponential } from '../backoff.ts';
import { WheelStoreError } from '../errors.ts';
import { trace } from '../runner/log.ts';
import { type Proxies, proxyTo } from '../runner/proxy.ts';
import { readAtMost } from '../untrusted/bounded-read.ts';
import { foreignText, messageOf } from '../untrusted/foreign-text.ts';

/** How to reach the API. */
export interface GitHubAccess {
  readonly apiUrl: string;
  readonly token: string;
  readonly proxies: Proxies;
  /** Seconds until the last byte of the response. */
  readonly requestTimeout: number;
}

/** The client that `@actions/github` creates. */
export type GitHub = ReturnType<typeof getOctokit>;

/** How long a step waits for GitHub, in total. Longer waits would cost more runner time than a comment is worth. */
export interface Patience {
  /** Aborts requests and waits. */
  readonly signal: AbortSignal;
  leftMs: number;
}

/** The patience of one comment: 90 seconds. */
export function patienceUntil(signal: AbortSignal): Patience {
  return { signal, leftMs: 90_000 };
}

/** Tries of a request, including the first. */
const MAX_TRIES = 4;
const FIRST_PAUSE_MS = 500;
const PAUSE_AT_LIMIT_MS = 60_000;
/** Idle timeout of a connection. */
const IDLE_TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 3;
/** More than a page of 100 comments of 65,536 characters, all escaped in JSON. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** Sent with each request, so that responses keep their format when GitHub releases a new version. */
const API_VERSION = '2022-11-28';

/**
 * Opens a client. It retries reads that may succeed later, but not writes: the caller reads again before it writes.
 * `@actions/github` is loaded here, after the inputs were checked, because it reads the URL of the API when it loads.
 *
 * @throws WheelStoreError if Node's agents don't support the proxy
 */
export async function openGitHub(access: GitHubAccess, patience: Patience): Promise<GitHub> {
  // Throws if Node doesn't support the proxy.
  proxyTo(access.apiUrl, access.proxies);
  const { getOctokit } = await import('@actions/github');
  const client = getOctokit(access.token, {
    baseUrl: access.apiUrl.replace(/\/+$/, ''),
    userAgent: 'wheel-store-action',
    request: { fetch: fetchThrough(access), signal: patience.signal },
    log: { debug: trace, info: trace, warn: trace, error: trace },
  });
  client.hook.wrap('request', async (send, options) => {
    options.headers['x-github-api-version'] = API_VERSION;
    for (let tried = 1; ; tried += 1) {
      try {
        return checked(await send(options), access.apiUrl);
      } catch (error) {
        if (options.method !== 'GET') throw error;
        await pauseAfter(error, tried, patience);
      }
    }
  });
  return client;
}

/** Rejects text, which octokit accepts in place of JSON. */
function checked<Result extends { readonly status: number; readonly data: unknown }>(
  result: Result,
  apiUrl: string,
): Result {
  if (result.status === 204 || typeof result.data === 'object') return result;
  throw new WheelStoreError({
    title: 'Not a GitHub response',
    reason: `${URL.parse(apiUrl)?.host} did not respond as GitHub's API does. It may be a sign-in page.`,
    remedy: 'Check GITHUB_API_URL, and any proxy or firewall between the runner and GitHub.',
  });
}

/**
 * Waits before a retry, as long as the response or the backoff requires.
 *
 * @param tried - 1 after the first try
 * @throws the error itself if a retry cannot help
 */
export async function pauseAfter(error: unknown, tried: number, patience: Patience): Promise<void> {
  patience.signal.throwIfAborted();
  const pause = isHttpError(error) ? pauseFor(refusalIn(error), tried, Date.now()) : undefined;
  if (pause === undefined || tried >= MAX_TRIES || pause > patience.leftMs) throw error;
  // Jitter spreads the retries of jobs that were rejected at the same moment.
  const jittered = Math.min(Math.round(pause * (1 + Math.random() / 4)), patience.leftMs);
  patience.leftMs -= jittered;
  trace(`GitHub: ${messageOf(error)} Retrying in ${jittered} ms.`);
  await delay(jittered, undefined, { signal: patience.signal });
}

/** Whether octokit threw the error for a failed request. Anything else is a bug. */
export function isHttpError(error: unknown): boolean {
  return (error as Error | undefined)?.name === 'HttpError';
}

/** A response with an error status, or the failure to get one. */
export interface Refusal {
  /** undefined: there was no response. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | number | undefined>>;
  /** GitHub's message, or that of the connection error. */
  readonly message: string;
}

/** Reads octokit's error. Its own status is 500 if there was no response. */
export function refusalIn(error: unknown): Refusal {
  const thrown = error as {
    readonly message?: string;
    readonly response?: {
      readonly status: number;
      readonly headers: Refusal['headers'];
      readonly data?: { readonly message?: unknown };
    };
  };
  const { response } = thrown;
  const message = response?.data?.message;
  return {
    status: response?.status,
    headers: response?.headers ?? {},
    message: foreignText(typeof message === 'string' ? message : thrown.message, 300),
  };
}

/** Whether GitHub limits our requests. */
export function isLimit({ status, headers, message }: Refusal): boolean {
  const isSlowedDown = /rate limit/i.test(message) || headers['retry-after'] !== undefined;
  return status === 429 || (status === 403 && isSlowedDown);
}

/**
 * Milliseconds to wait before a retry: what the response requires, otherwise an exponential backoff (GitHub docs,
 * "Best practices for using the REST API", "Handle rate limit errors appropriately").
 *
 * @param tried - 1 after the first try
 * @param now - milliseconds since the epoch
 * @returns undefined if the same request would fail again
 */
export function pauseFor(refusal: Refusal, tried: number, now: number): number | undefined {
  const { status, headers } = refusal;
  if (status !== undefined && status < 500 && status !== 408 && !isLimit(refusal)) return undefined;
  const after = Number.parseInt(String(headers['retry-after']), 10) * 1000;
  if (!Number.isNaN(after)) return after;
  const reset = Number.parseInt(String(headers['x-ratelimit-reset']), 10) * 1000;
  if (String(headers['x-ratelimit-remaining']) === '0' && !Number.isNaN(reset))
    return Math.max(reset - now, 0) + 1000;
  return isLimit(refusal) ? PAUSE_AT_LIMIT_MS : exponential(tried, { firstMs: FIRST_PAUSE_MS });
}

/**
 * `fetch` for octokit that uses Node's agents, and so the same proxies as the S3 client. It follows redirects, such as
 * those of a renamed repository, on the same host only, because the request has a token.
 */
function fetchThrough({ proxies, requestTimeout }: GitHubAccess): typeof fetch {
  const proxyEnv = proxies.variables;
  const agents = {
    'http:': { agent: new HttpAgent({ proxyEnv }), request: httpRequest },
    'https:': { agent: new HttpsAgent({ proxyEnv }), request: httpsRequest },
  };
  return async (input, init = {}) => {
    let url = new URL(String(input));
    for (let redirects = 0; ; redirects += 1) {
      const { agent, request } = agents[url.protocol as keyof typeof agents];
      const outgoing = request(url.href, {
        agent,
        method: init.method ?? 'GET',
        headers: init.headers as Record<string, string>,
        timeout: IDLE_TIMEOUT_MS,
        signal: AbortSignal.any([
          AbortSignal.timeout(requestTimeout * 1000),
          ...(init.signal ? [init.signal] : []),
        ]),
      });
      // A connection that breaks while the body arrives is an error of the response's stream.
      outgoing.on('error', () => undefined);
      outgoing.on('timeout', () =>
        outgoing.destroy(new Error(`No response within ${IDLE_TIMEOUT_MS / 1000} seconds.`)),
      );
      outgoing.end(init.body ?? undefined);
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      const body = await readBody(response);
      const next = redirectOf(response, url);
      if (next === undefined || redirects === MAX_REDIRECTS) return responseOf(response, body);
      url = next;
    }
  };
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const body = await readAtMost(response, MAX_RESPONSE_BYTES);
  if (body === undefined) throw new Error("The response is larger than any of GitHub's.");
  return body;
}

function redirectOf(
  { statusCode = 0, headers: { location = '' } }: IncomingMessage,
  from: URL,
): URL | undefined {
  if (![301, 302, 307, 308].includes(statusCode)) return undefined;
  const to = URL.parse(location, from.href);
  return to?.origin === from.origin ? to : undefined;
}

function responseOf({ statusCode = 0, headers }: IncomingMessage, body: Buffer): Response {
  // Octokit treats a redirect that was not followed as a success. A Response with the status 204 must not have a body.
  const isSuccess = statusCode >= 200 && statusCode < 300;
  const status = isSuccess ? statusCode : Math.min(Math.max(statusCode, 400), 599);
  return new Response(status === 204 ? null : Uint8Array.from(body), {
    status,
    headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
  });
}
