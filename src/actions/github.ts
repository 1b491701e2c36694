/** GitHub's REST API: one client, the network it goes through, and when a request is worth another try. */
import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { getOctokit } from '@actions/github';
import { trace } from './log.ts';

/** How to reach the API. */
export interface GitHubAccess {
  readonly apiUrl: string;
  readonly token: string;
  /** HTTP_PROXY, HTTPS_PROXY, NO_PROXY and their lower-case twins. */
  readonly proxy: Readonly<Record<string, string | undefined>>;
}

/** The client, as `@actions/github` makes it. */
export type GitHub = ReturnType<typeof getOctokit>;

/** Tries per request, the first included. */
export const MOST_TRIES = 4;
/** The longest time that an answer may ask us to wait; a job should not be paid for longer ones. */
const LONGEST_PAUSE_MS = 60_000;
const FIRST_PAUSE_MS = 500;
/** How long a connection may stay silent. */
const SILENCE_TIMEOUT_MS = 20_000;
const MOST_REDIRECTS = 3;

/**
 * Opens a client. Reads are tried again where that may help; writes are not, because whoever writes looks first.
 *
 * @param signal - ends requests and waits
 */
export function openGitHub({ apiUrl, token, proxy }: GitHubAccess, signal: AbortSignal): GitHub {
  const client = getOctokit(token, {
    baseUrl: apiUrl.replace(/\/+$/, ''),
    userAgent: 'wheel-store-action',
    request: { fetch: fetchThrough(proxy), signal },
    log: { debug: trace, info: trace, warn: trace, error: trace },
  });
  client.hook.wrap('request', async (send, options) => {
    if (options.method !== 'GET') return send(options);
    for (let tried = 1; ; tried += 1) {
      try {
        return await send(options);
      } catch (error) {
        await pauseAfter(error, tried, signal);
      }
    }
  });
  return client;
}

/**
 * Waits as long as the answer or the number of tries says.
 *
 * @throws the error itself where another try is of no use
 */
export async function pauseAfter(error: unknown, tried: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const pause = pauseFor(refusalIn(error), tried, Date.now());
  if (pause === undefined || tried >= MOST_TRIES) throw error;
  trace(`GitHub: ${(error as Error).message} Trying again in ${pause} ms.`);
  await delay(pause, undefined, { signal });
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
    words: (typeof said === 'string' ? said : (message ?? '')).replace(/\s+/g, ' ').slice(0, 300),
  };
}

/**
 * Milliseconds to wait before the request may be tried again: what the answer says, else longer each time (GitHub
 * docs, "Best practices for using the REST API", "Handle rate limit errors appropriately").
 *
 * @param tried - 1 after the first try
 * @param now - milliseconds since the epoch
 * @returns undefined where the same request will fail again, or only a wait that is too long would help
 */
export function pauseFor(
  { status, headers, words }: Refusal,
  tried: number,
  now: number,
): number | undefined {
  const isLimit =
    status === 429 || (status === 403 && (/rate limit/i.test(words) || headers['retry-after'] !== undefined));
  if (status !== undefined && status < 500 && status !== 408 && !isLimit) return undefined;
  const after = Number(headers['retry-after'] ?? Number.NaN) * 1000;
  const isSpent = String(headers['x-ratelimit-remaining']) === '0';
  const reset = isSpent ? Number(headers['x-ratelimit-reset'] ?? Number.NaN) * 1000 - now : Number.NaN;
  const asked = [after, reset].find((pause) => !Number.isNaN(pause));
  const own = (isLimit ? 4 : 1) * FIRST_PAUSE_MS * 2 ** (tried - 1) * (1 + Math.random() / 2);
  const pause = asked === undefined ? own : Math.max(asked, 0);
  return pause > LONGEST_PAUSE_MS ? undefined : Math.round(pause);
}

/**
 * `fetch` for octokit through Node's own agents, which know the proxies as those of the S3 client do. Redirects,
 * as from a repository's old name, are followed on the same host only: the request carries a token.
 */
function fetchThrough(proxyEnv: GitHubAccess['proxy']): typeof fetch {
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
        ...(init.signal ? { signal: init.signal } : {}),
      });
      // What ends the line while the body arrives is told by the answer's stream.
      outgoing.on('error', () => undefined);
      outgoing.on('timeout', () =>
        outgoing.destroy(new Error(`No answer within ${SILENCE_TIMEOUT_MS / 1000} seconds.`)),
      );
      outgoing.end(init.body ?? undefined);
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
      const body = await buffer(answer);
      const next = redirectOf(answer, url);
      if (next === undefined || redirects === MOST_REDIRECTS) return responseOf(answer, body);
      url = next;
    }
  };
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
