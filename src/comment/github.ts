/** GitHub's REST API: one client, the network it goes through, and when a request is worth another try. */
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
  /** Seconds that a request may take to its answer's last byte. */
  readonly requestTimeout: number;
}

/** The client, as `@actions/github` makes it. */
export type GitHub = ReturnType<typeof getOctokit>;

/** How long a step waits for GitHub, all its waits together; a job should not be paid for longer ones. */
export interface Patience {
  /** Ends requests and waits. */
  readonly signal: AbortSignal;
  leftMs: number;
}

/** As much patience as a comment is worth. */
export function patienceUntil(signal: AbortSignal): Patience {
  return { signal, leftMs: 90_000 };
}

/** Tries per request, the first included. */
const MAX_TRIES = 4;
const FIRST_PAUSE_MS = 500;
const PAUSE_AT_LIMIT_MS = 60_000;
/** How long a connection may stay silent. */
const SILENCE_TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 3;
/** A page of 100 comments of 65,536 characters, each of them escaped in JSON, stays below. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Said with every request, so that answers keep their form when GitHub's next version comes. */
const API_VERSION = '2022-11-28';

/**
 * Opens a client. Reads are tried again where that may help; writes are not, because whoever writes looks first.
 * The library is loaded here, by nobody else, because reading the URL of the API is the first thing it does.
 *
 * @throws WheelStoreError when the proxy to the API is of a kind that Node's agents do not speak to
 */
export async function openGitHub(access: GitHubAccess, patience: Patience): Promise<GitHub> {
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

/** Octokit takes text for an answer where JSON is due. */
function checked<Answer extends { readonly status: number; readonly data: unknown }>(
  answer: Answer,
  apiUrl: string,
): Answer {
  if (answer.status === 204 || typeof answer.data === 'object') return answer;
  throw new WheelStoreError({
    title: 'Not a GitHub response',
    reason: `${URL.parse(apiUrl)?.host} did not respond as GitHub's API does. It may be a sign-in page.`,
    remedy: 'Check GITHUB_API_URL, and any proxy or firewall between the runner and GitHub.',
  });
}

/**
 * Waits as long as the answer or the number of tries says.
 *
 * @param tried - 1 after the first try
 * @throws the error itself where another try is of no use
 */
export async function pauseAfter(error: unknown, tried: number, patience: Patience): Promise<void> {
  patience.signal.throwIfAborted();
  const pause = isHttpError(error) ? pauseFor(refusalIn(error), tried, Date.now()) : undefined;
  if (pause === undefined || tried >= MAX_TRIES || pause > patience.leftMs) throw error;
  // Whoever was sent away at the same moment shall not come back at the same moment.
  const jittered = Math.min(Math.round(pause * (1 + Math.random() / 4)), patience.leftMs);
  patience.leftMs -= jittered;
  trace(`GitHub: ${messageOf(error)} Trying again in ${jittered} ms.`);
  await delay(jittered, undefined, { signal: patience.signal });
}

/** Whether octokit threw it for an answer, or for want of one: anything else is a defect. */
export function isHttpError(error: unknown): boolean {
  return (error as Error | undefined)?.name === 'HttpError';
}

/** What is read of an answer that is no success. */
export interface Refusal {
  /** undefined: there was no answer. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | number | undefined>>;
  /** GitHub's own words, or those of the connection's end. */
  readonly words: string;
}

/** Reads octokit's error, which says 500 where there was no answer. */
export function refusalIn(error: unknown): Refusal {
  const { response, message } = error as {
    readonly message?: string;
    readonly response?: {
      readonly status: number;
      readonly headers: Refusal['headers'];
      readonly data?: { readonly message?: unknown };
    };
  };
  const said = response?.data?.message;
  return {
    status: response?.status,
    headers: response?.headers ?? {},
    words: foreignText(typeof said === 'string' ? said : message, 300),
  };
}

/** Whether GitHub says that we ask too much or too fast. */
export function isLimit({ status, headers, words }: Refusal): boolean {
  const isSlowedDown = /rate limit/i.test(words) || headers['retry-after'] !== undefined;
  return status === 429 || (status === 403 && isSlowedDown);
}

/**
 * Milliseconds to wait before the request may be tried again: what the answer says, else longer each time (GitHub
 * docs, "Best practices for using the REST API", "Handle rate limit errors appropriately").
 *
 * @param tried - 1 after the first try
 * @param now - milliseconds since the epoch
 * @returns undefined where the same request would fail again
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
 * `fetch` for octokit through Node's own agents, which know the proxies as those of the S3 client do. Redirects,
 * as from a repository's old name, are followed on the same host only: the request carries a token.
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
        timeout: SILENCE_TIMEOUT_MS,
        signal: AbortSignal.any([
          AbortSignal.timeout(requestTimeout * 1000),
          ...(init.signal ? [init.signal] : []),
        ]),
      });
      // What ends the line while the body arrives is told by the answer's stream.
      outgoing.on('error', () => undefined);
      outgoing.on('timeout', () =>
        outgoing.destroy(new Error(`No answer within ${SILENCE_TIMEOUT_MS / 1000} seconds.`)),
      );
      outgoing.end(init.body ?? undefined);
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
      const body = await readBody(answer);
      const next = redirectOf(answer, url);
      if (next === undefined || redirects === MAX_REDIRECTS) return responseOf(answer, body);
      url = next;
    }
  };
}

async function readBody(answer: IncomingMessage): Promise<Buffer> {
  const body = await readAtMost(answer, MAX_ANSWER_BYTES);
  if (body === undefined) throw new Error('The answer is larger than any of GitHub’s.');
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
  // Octokit takes a redirect that was not followed for a success; a Response of 204 may have no body at all.
  const isSuccess = statusCode >= 200 && statusCode < 300;
  const status = isSuccess ? statusCode : Math.min(Math.max(statusCode, 400), 599);
  return new Response(status === 204 ? null : Uint8Array.from(body), {
    status,
    headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
  });
}
