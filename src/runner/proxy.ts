/**
 * Decides which proxy a request uses. The variables are read as in curl and pip, and converted for Node's agents. What
 * the agents don't support is rejected here, because Node's own errors could show a password.
 */
import { WheelStoreError } from '../errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Protocol = 'http' | 'https';

/** The option `proxyEnv` of Node's agents (Node.js docs, `http.Agent`). */
export type ProxyVariables = Environment;

/** The proxies of an environment. */
export interface Proxies {
  /** For Node's agents: only proxies that they support, and hosts in their format. */
  readonly variables: ProxyVariables;
  readonly http: Proxy | undefined;
  readonly https: Proxy | undefined;
  /** The entries of NO_PROXY, in lower case. */
  readonly bypass: readonly string[];
}

/** A proxy, and the variable that sets it. */
interface Proxy {
  readonly variable: string;
  /** Such as `http` or `socks5`. */
  readonly scheme: string;
  readonly url: string;
}

/**
 * Reads the proxy variables. The first one that is set counts, even if it is empty: lower case, upper case, then
 * `ALL_PROXY` (curl's man page, "Environment"). An address without a scheme is that of an http proxy.
 *
 * @throws WheelStoreError if one is not a URL; the error doesn't show the value, which may contain a password
 */
export function readProxies(env: Environment): Proxies {
  const [http, https] = [readProxy(env, 'http'), readProxy(env, 'https')];
  const bypass = readBypass(env.no_proxy ?? env.NO_PROXY ?? '');
  const usable = (proxy: Proxy | undefined) => (proxy !== undefined && isSupported(proxy) ? proxy.url : '');
  const variables = {
    http_proxy: usable(http),
    https_proxy: usable(https),
    no_proxy: bypass.flatMap(nodeEntries).join(','),
  };
  return { variables, http, https, bypass };
}

function readProxy(env: Environment, protocol: Protocol): Proxy | undefined {
  const names = [`${protocol}_proxy`, `${protocol.toUpperCase()}_PROXY`, 'all_proxy', 'ALL_PROXY'];
  const variable = names.find((name) => env[name] !== undefined);
  const value = variable === undefined ? '' : env[variable]!;
  if (variable === undefined || value === '') return undefined;
  const [, scheme = 'http', rest = value] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(value) ?? [];
  const proxy = { variable, scheme: scheme.toLowerCase(), url: `${scheme.toLowerCase()}://${rest}` };
  const problem = isSupported(proxy) ? problemWithAddress(proxy.url) : undefined;
  if (problem !== undefined) throw invalidProxy(variable, problem);
  return proxy;
}

function isSupported({ scheme }: Proxy): boolean {
  return scheme === 'http' || scheme === 'https';
}

/** Entries are separated by commas or whitespace, as in curl. Dots around a name are ignored. */
function readBypass(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[,\s]+/)
    .map((entry) => entry.replace(/^\.+|\.+$/g, '').replace(/\.+(?=:\d+$)/, ''))
    .filter((entry) => entry !== '');
}

/**
 * Whether an entry of NO_PROXY matches a host. An entry is one of:
 *
 * - `*`
 * - a name, which includes its subdomains; `*.name` means only the subdomains
 * - an address, an IPv4 network in CIDR notation (`10.0.0.0/8`), or a range of IPv4 addresses with `-`
 * - a name or address with a port, which means that port of exactly this host
 *
 * @param host - in lower case; an IPv6 address without brackets
 * @param port - such as `443`
 */
function matchesHost(entry: string, host: string, port: string): boolean {
  if (entry === '*' || entry === host || unbracketed(entry) === host) return true;
  if (unbracketed(entry) === `${host}:${port}`) return true;
  const range = rangeOf(entry);
  const address = parseIpv4(host);
  if (range !== undefined) return address !== undefined && range[0] <= address && address <= range[1];
  if (entry.startsWith('*.')) return host.endsWith(entry.slice(1));
  return address === undefined && !host.includes(':') && host.endsWith(`.${entry}`);
}

/** Converts an entry for Node's agents (Node.js docs, "Built-in Proxy Support"). */
function nodeEntries(entry: string): string[] {
  const range = rangeOf(entry);
  if (range !== undefined) return [range.map(formatIpv4).join('-')];
  // Node would compare any other network as a name.
  if (entry.includes('/')) return [];
  const isName = !entry.startsWith('*') && !/^[\d.:]+$|[[:]/.test(entry);
  return isName ? [entry, `.${entry}`] : [unbracketed(entry)];
}

function unbracketed(entry: string): string {
  return entry.replace(/^\[([0-9a-f:.]+)\](:\d+)?$/, '$1$2');
}

/** The first and the last address, as numbers, of a network or of a range with `-`. */
function rangeOf(entry: string): [number, number] | undefined {
  const [, network = '', bits = ''] = /^([\d.]+)\/(\d{1,2})$/.exec(entry) ?? [];
  const base = parseIpv4(network);
  if (base !== undefined && Number(bits) <= 32) {
    const size = 2 ** (32 - Number(bits));
    const first = base - (base % size);
    return [first, first + size - 1];
  }
  const [first, last] = entry.split('-').map(parseIpv4);
  return first !== undefined && last !== undefined ? [first, last] : undefined;
}

function parseIpv4(text: string): number | undefined {
  if (!/^(\d{1,3}\.){3}\d{1,3}$/.test(text)) return undefined;
  const octets = text.split('.').map(Number);
  return octets.every((octet) => octet <= 255)
    ? octets.reduce((sum, octet) => sum * 256 + octet, 0)
    : undefined;
}

function formatIpv4(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

/**
 * The variable that sets the proxy for a request to `url`.
 *
 * @returns undefined if the request uses no proxy
 * @throws WheelStoreError if Node's agents don't support that kind of proxy
 */
export function proxyTo(url: string, proxies: Proxies): string | undefined {
  const to = URL.parse(url);
  const proxy = to?.protocol === 'http:' ? proxies.http : proxies.https;
  if (to === null || proxy === undefined) return undefined;
  const host = unbracketed(to.hostname.toLowerCase().replace(/\.$/, ''));
  const port = to.port || (to.protocol === 'http:' ? '80' : '443');
  if (proxies.bypass.some((entry) => matchesHost(entry, host, port))) return undefined;
  if (isSupported(proxy)) return proxy.variable;
  const name = to.protocol === 'http:' ? 'HTTP_PROXY' : 'HTTPS_PROXY';
  throw new WheelStoreError({
    title: 'Invalid proxy',
    reason: `The environment variable ${proxy.variable} names a ${proxy.scheme}:// proxy, which Node does not support.`,
    remedy: `Set ${name} to an http:// or https:// proxy in the env of the step, set it to an empty string to use no proxy, or add ${host} to NO_PROXY.`,
  });
}

/**
 * Whether the agents of a version of Node support proxies: since 24.5.0, and since 22.21.0 for Node 22 (Node.js docs,
 * `http.Agent`, `proxyEnv`, "History").
 *
 * @param version - as in `process.versions.node`
 */
export function usesProxies(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);
}

/** The warning if a proxy is set, but this version of Node doesn't support proxies; undefined if there is no need. */
export function unusedProxy(variable: string | undefined, version: string): string | undefined {
  if (variable === undefined || usesProxies(version)) return undefined;
  return `${variable} is set, but Node ${version}, which this runner uses, does not support proxies, so requests bypass it. Update the runner to 2.328.0 or newer.`;
}

/**
 * What is wrong with the address of a proxy, as the end of a sentence. An unescaped `/`, `?` or `#` in a user name or
 * password ends the host too early (RFC 3986, section 3.2), and the request would go to a wrong host. A `%` must begin
 * percent-encoded UTF-8 (section 2.1).
 *
 * @returns undefined if nothing is wrong
 */
function problemWithAddress(address: string): string | undefined {
  if (/[\r\n]/.test(address)) return 'contains a line break';
  const url = URL.parse(address);
  if (url === null || /@/.test(url.pathname + url.search + url.hash)) return 'is not a URL';
  try {
    decodeURIComponent(`${url.username}:${url.password}`);
    return undefined;
  } catch {
    return 'is not a URL: it contains a % that does not begin percent-encoded UTF-8';
  }
}

function invalidProxy(name: string, problem: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Invalid proxy',
    reason: `The environment variable ${name} ${problem}.`,
    remedy: `Write it like ${name}=http://proxy.example.com:3128, with a port up to 65535. Percent-encode / ? # @ and % in the user name and password.`,
  });
}
