import { Agent } from 'node:https';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { WheelStoreError } from '../../src/errors.ts';
import { proxyTo, readProxies, unusedProxy, usesProxies } from '../../src/runner/proxy.ts';
import { runPython } from '../../testing/python.ts';

const NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];

describe('case 44: a proxy variable that is not a URL: the error shows its name, but not its value', () => {
  test.each([
    ['a port above 65535', 'http://user:s3cretpw@proxy.corp:99999'],
    ['a slash in the password', 'http://user:s3/cretpw@proxy.corp:3128'],
    ['a slash after digits', 'http://user:12/s3cretpw@proxy.corp:3128'],
    ['a hash', 'http://user:s3#cretpw@proxy.corp:3128'],
    ['a question mark', 'https://user:?s3cretpw@proxy.corp:3128'],
    ['a percent sign', 'http://user:s3%zzcretpw@proxy.corp:3128'],
    ['a byte that is not UTF-8', 'http://user:s3%ffcretpw@proxy.corp:3128'],
    ['a line break', 'http://user:s3cretpw@proxy.corp:3128\n'],
    ['no host', 'http://user:s3cretpw@'],
  ])('%s', (_title, address) => {
    for (const name of NAMES) {
      const read = () => readProxies({ [name]: address });
      expect(read).toThrow(WheelStoreError);
      expect(read).toThrow(name);
      expect(read).not.toThrow(/s3|cretpw/);
    }
  });
});

test.each([
  [''],
  ['http://proxy.corp'],
  ['http://user:s3cretpw@proxy.corp:3128'],
  ['http://user:s3%2Fcret%40pw@proxy.corp:3128/'],
  ['http://user:s3@cretpw@proxy.corp:3128'],
  ['https://[::1]:3128'],
])('case 44: %p is accepted', (address) => {
  for (const name of NAMES) {
    const { variables } = readProxies({ [name]: address, NO_PROXY: 'x' });
    expect(variables[name.toLowerCase()]).toBe(address);
  }
});

const via = (url: string, env: Record<string, string>) => proxyTo(url, readProxies(env));

describe('case 60: which variable counts', () => {
  const P = 'http://proxy.corp:3128';
  test.each<[url: string, env: Record<string, string>, variable: string | undefined]>([
    ['https://host', { HTTPS_PROXY: P }, 'HTTPS_PROXY'],
    ['https://host', { https_proxy: P, HTTPS_PROXY: 'socks5://x' }, 'https_proxy'],
    ['https://host', { https_proxy: '', HTTPS_PROXY: P }, undefined],
    ['https://host', { HTTPS_PROXY: '', ALL_PROXY: P }, undefined],
    ['https://host', { HTTP_PROXY: P }, undefined],
    ['http://host', { HTTP_PROXY: P }, 'HTTP_PROXY'],
    ['http://host', { HTTPS_PROXY: P }, undefined],
    ['http://host', { ALL_PROXY: P }, 'ALL_PROXY'],
    ['https://host', { all_proxy: P, ALL_PROXY: 'ftp://x' }, 'all_proxy'],
    ['https://host', { HTTPS_PROXY: P, ALL_PROXY: 'socks5://x' }, 'HTTPS_PROXY'],
    ['https://host', { HTTPS_PROXY: P, no_proxy: '', NO_PROXY: 'host' }, 'HTTPS_PROXY'],
    ['https://host', { HTTPS_PROXY: P, no_proxy: 'host', NO_PROXY: '' }, undefined],
    ['https://host', { HTTPS_PROXY: 'socks5://x', NO_PROXY: '*' }, undefined],
  ])('%s with %j: %s', (url, env, variable) => {
    expect(via(url, env)).toBe(variable);
  });

  test.each([
    ['proxy:3128', 'http://proxy:3128'],
    ['proxy', 'http://proxy'],
    ['10.0.0.1:8080', 'http://10.0.0.1:8080'],
    ['user:s3cretpw@proxy:3128', 'http://user:s3cretpw@proxy:3128'],
    ['[::1]:3128', 'http://[::1]:3128'],
    ['HTTP://proxy:3128', 'http://proxy:3128'],
    ['https://proxy', 'https://proxy'],
  ])('%s means %s', (written, meant) => {
    const { variables } = readProxies({ HTTPS_PROXY: written, http_proxy: written });
    expect([variables.https_proxy, variables.http_proxy]).toEqual([meant, meant]);
  });

  test.each([
    'socks5://user:s3cretpw@proxy',
    'socks5h://proxy',
    'SOCKS4://proxy',
    'socks://x',
    'ftp://proxy',
  ])('%s: an error with the name of the variable if the proxy would be used', (address) => {
    for (const name of [...NAMES, 'ALL_PROXY', 'all_proxy']) {
      const url = /^http_/i.test(name) ? 'http://host' : 'https://host';
      expect(() => via(url, { [name]: address })).toThrow(WheelStoreError);
      expect(() => via(url, { [name]: address })).toThrow(name);
      expect(() => via(url, { [name]: address })).not.toThrow(/s3cretpw/);
      expect(readProxies({ [name]: address }).variables).toMatchObject({ http_proxy: '', https_proxy: '' });
    }
  });
});

/** Whether Node's own agent uses no proxy for a URL. */
function isBypassedByNode(url: URL, noProxy: string): boolean {
  const { variables } = readProxies({
    HTTPS_PROXY: 'http://proxy',
    HTTP_PROXY: 'http://proxy',
    NO_PROXY: noProxy,
  });
  const agent = new Agent({ proxyEnv: variables });
  const [config] = Object.getOwnPropertySymbols(agent).filter(
    ({ description }) => description === 'kProxyConfig',
  );
  const { shouldUseProxy } = Reflect.get(agent, config!);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return !shouldUseProxy.call(Reflect.get(agent, config!), host, url.port || '443');
}

describe('case 60: NO_PROXY', () => {
  const rows: [noProxy: string, url: string, isDirect: boolean, pip?: 'pip differs'][] = [
    ['host', 'https://host', true],
    ['HOST', 'https://host', true],
    ['host', 'https://other', false],
    ['a, host ,b', 'https://host', true],
    ['a host b', 'https://host', true, 'pip differs'],
    ['a,\thost\n', 'https://host', true],
    ['example.com', 'https://example.com', true],
    ['example.com', 'https://s3.example.com', true],
    ['example.com', 'https://a.b.example.com:9000', true],
    ['.example.com', 'https://s3.example.com', true],
    ['.example.com', 'https://example.com', true],
    ['example.com.', 'https://s3.example.com', true, 'pip differs'],
    ['example.com', 'https://notexample.com', false, 'pip differs'],
    ['.example.com', 'https://notexample.com', false],
    ['example.com', 'https://example.com.evil.org', false],
    ['*', 'https://anything', true],
    ['*.example.com', 'https://s3.example.com', true, 'pip differs'],
    ['*.example.com', 'https://example.com', false],
    ['s3.example.com:9000', 'https://s3.example.com:9000', true],
    ['s3.example.com:9000', 'https://s3.example.com', false],
    ['s3.example.com:443', 'https://s3.example.com', true, 'pip differs'],
    ['10.0.0.0/8', 'https://10.20.30.40', true],
    ['10.1.2.3/8', 'https://10.20.30.40', true],
    ['10.0.0.0/8', 'https://11.0.0.1', false],
    ['192.168.1.0/24,10.0.0.0/8', 'https://192.168.1.255:9000', true],
    ['192.168.1.0/24', 'https://192.168.2.0', false],
    ['192.168.1.7/32', 'https://192.168.1.7', true],
    ['10.0.0.0/8', 'https://10.example.com', false],
    ['10.0.0.0/99', 'https://10.0.0.1', false],
    ['127.0.0.1', 'https://127.0.0.1:9000', true],
    ['0.0.1', 'https://127.0.0.1', false, 'pip differs'],
    ['10.0.0.1-10.0.0.9', 'https://10.0.0.5', true, 'pip differs'],
    ['::1', 'https://[::1]:9000', true],
    ['[::1]', 'https://[::1]:9000', true, 'pip differs'],
    ['[::1]:9000', 'https://[::1]:9000', true, 'pip differs'],
    ['[::1]:9001', 'https://[::1]:9000', false],
    ['fd00::/8', 'https://[fd00::1]', false],
    ['', 'https://host', false],
    [' , ,', 'https://host', false],
  ];

  test.each(rows)('%j for %s: %s', (noProxy, url, isDirect) => {
    const env = { HTTPS_PROXY: 'http://proxy', NO_PROXY: noProxy };
    expect(via(url, env) === undefined).toBe(isDirect);
    expect(isBypassedByNode(new URL(url), noProxy)).toBe(isDirect);
  });

  test('pip gives the same results, except for the marked rows', () => {
    const byPip = runPython<boolean[]>(join(import.meta.dirname, 'pip_bypasses_proxy.py'), rows);
    const differing = rows.filter(([, , isDirect], row) => byPip[row] !== isDirect);
    expect(differing).toEqual(rows.filter(([, , , pip]) => pip !== undefined));
  });
});

test.each([
  ['24.4.1', false],
  ['24.0.0', false],
  ['24.5.0', true],
  ['24.16.0', true],
  ['22.20.0', false],
  ['22.21.0', true],
  ['23.11.0', false],
  ['20.19.0', false],
  ['25.0.0', true],
])('case 59: Node %s supports proxies: %s', (version, isSupported) => {
  expect(usesProxies(version)).toBe(isSupported);
  expect(unusedProxy(undefined, version)).toBeUndefined();
  const warning = unusedProxy('HTTPS_PROXY', version);
  if (isSupported) expect(warning).toBeUndefined();
  else expect(warning).toMatch(new RegExp(`HTTPS_PROXY.*${version}.*2\\.328\\.0`));
});
