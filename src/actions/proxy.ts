/** Reads the proxy variables, and refuses what cannot be a URL before Node repeats it in an error. */
import { WheelStoreError } from '../errors.ts';

/** The variables that Node's agents read (Node.js docs, `http.Agent`, `proxyEnv`); the lower-case one wins. */
const PROXIES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'] as const;
const NO_PROXIES = ['no_proxy', 'NO_PROXY'] as const;

/** The record for `proxyEnv` of Node's agents. */
export type ProxyVariables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the proxy variables.
 *
 * @throws WheelStoreError when one cannot be read as a URL; its value may hold a password and is not repeated
 */
export function readProxies(env: Readonly<Record<string, string | undefined>>): ProxyVariables {
  for (const name of PROXIES) {
    const flaw = flawOfProxy(env[name] ?? '');
    if (flaw !== undefined) throw noUrl(name, flaw);
  }
  return Object.fromEntries([...PROXIES, ...NO_PROXIES].map((name) => [name, env[name]]));
}

/**
 * What keeps the address of a proxy from being read, as the end of a sentence; undefined: nothing. A user name or
 * password with an unescaped `/`, `?` or `#` ends the host too early (RFC 3986, section 3.2), so that the request
 * would go to a wrong one; what follows a `%` must be two hex digits of UTF-8 (section 2.1).
 */
function flawOfProxy(address: string): string | undefined {
  if (!/^https?:\/\//i.test(address)) return undefined;
  if (/[\r\n]/.test(address)) return 'holds a line break';
  const url = URL.parse(address);
  if (url === null || /@/.test(url.pathname + url.search + url.hash)) return 'is not a URL';
  try {
    decodeURIComponent(`${url.username}:${url.password}`);
    return undefined;
  } catch {
    return 'is not a URL: a % in it is not followed by two hex digits that make UTF-8';
  }
}

function noUrl(name: string, flaw: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Bad proxy',
    reason: `The environment variable ${name} ${flaw}.`,
    remedy: `Write it like ${name}=http://proxy.example.com:3128, with a port up to 65535; in a user name and password percent-encode / ? # @ and %.`,
  });
}
