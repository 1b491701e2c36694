import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Fault, s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { startJob } from '../../testing/job.ts';
import type { StepResult } from '../../testing/runner.ts';
import { startTls } from '../../testing/tls.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const HTML = { 'content-type': 'text/html; charset=utf-8', server: 'nginx/1.25.3' };
const JSON_TYPE = { 'content-type': 'application/json' };
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

function page(status: number, title: string): Fault {
  const body = `<html>\n<head><title>${title}</title></head><body><hr>&nbsp;<br></body></html>`;
  return { status, body, headers: HTML };
}

function expectForeign(result: StepResult, pattern: RegExp): void {
  expect(result.code).toBe(1);
  expect(result.errors).toHaveLength(1);
  expect(result.errors[0]).toMatch(pattern);
  expect(result.errors[0]).not.toMatch(/Allow s3:|\$response|Deserialization|hidden field/);
  expect(result.outputs['skip-build']).toBe('false');
}

describe('case 61: a response that is not from S3: the error describes it', () => {
  const cases: [title: string, fault: Fault, pattern: RegExp][] = [
    ['a firewall', page(403, '403 Forbidden'), /HTTP 403.*HTML page titled "403 Forbidden".*nginx/],
    ['a web server', page(404, 'Not Found'), /HTTP 404.*HTML page titled "Not Found"/],
    ['a bad request', page(400, 'Bad Request'), /HTTP 400.*HTML page titled "Bad Request"/],
    ['a page that asks for credentials', page(401, 'Sign in'), /HTTP 401.*HTML page titled "Sign in"/],
    ['a bad gateway', page(502, '502 Bad Gateway'), /HTTP 502.*HTML page titled "502 Bad Gateway".*nginx/],
    [
      "an engine's console",
      { status: 403, body: '{"detail":"access denied"}', headers: JSON_TYPE },
      /HTTP 403.*JSON/,
    ],
    ['JSON with 404', { status: 404, body: '{"message":"no"}', headers: JSON_TYPE }, /HTTP 404.*JSON/],
    ['JSON with 200', { status: 200, body: '{"buckets":[]}', headers: JSON_TYPE }, /HTTP 200.*JSON/],
    [
      'text',
      { status: 404, body: '404 page not found', headers: { 'content-type': 'text/plain' } },
      /HTTP 404.*text\/plain/,
    ],
    ['an empty response', { status: 403 }, /HTTP 403.*no S3 error document/],
    [
      'a sign-in page',
      { status: 302, headers: { ...HTML, location: 'https://login.corp/start?token=s3cret' } },
      /HTTP 302.*sign-in|redirected.*https:\/\/login\.corp\/start \(HTTP 302\)/,
    ],
    [
      'the same host with https',
      { status: 301, headers: { ...HTML, location: 'https://store.corp/' } },
      /HTTP 301.*Write 'endpoint-url' with https:\/\//,
    ],
    [
      'a port that speaks TLS',
      page(400, '400 The plain HTTP request was sent to HTTPS port'),
      /write 'endpoint-url' with https:\/\//,
    ],
    [
      'other XML',
      {
        status: 403,
        body: '<?xml version="1.0"?><fault><code>9</code></fault>',
        headers: { 'content-type': 'application/xml' },
      },
      /HTTP 403.*application\/xml/,
    ],
  ];
  test.each(cases)('%s', async (_title, fault, pattern) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => fault);
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint }, { RUNNER_DEBUG: '1' });
    expectForeign(result, pattern);
    expect(result.log).not.toContain('s3cret');
  });

  test.each([['list'], ['head']] as const)(
    'a 404 page for a %s does not mean "not stored"',
    async (failing) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W);
      expect((await job.step('store')).errors).toEqual([]);
      await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
        operation === failing ? page(404, 'Not Found') : undefined,
      );
      const inputs = { 'endpoint-url': proxy.endpoint };
      expectForeign(await job.step('find', inputs), /HTTP 404/);
      expectForeign(await job.step('fetch', { ...inputs, path: 'new' }), /HTTP 404/);
    },
  );

  test('a head refused by S3: the error names the permission; refused by a firewall: it does not', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await job.step('store');
    const refused = async (headers: Record<string, string>) => {
      await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) =>
        operation === 'head' ? { status: 403, headers } : undefined,
      );
      return await job.step('find', { 'endpoint-url': proxy.endpoint });
    };
    expect((await refused({ 'x-amz-request-id': 'R' })).errors[0]).toContain('Allow s3:GetObject');
    expect((await refused({ 'content-type': 'application/xml' })).errors[0]).toContain('Allow s3:GetObject');
    expectForeign(await refused(HTML), /HTTP 403/);
  });

  test('only AccessDenied from S3 leads to advice about permissions', async () => {
    await using job = await startJob(bucket);
    const refused = async (fault: Fault) => {
      await using proxy = await startFaultProxy(bucket.endpoint, () => fault);
      return (await job.step('find', { 'endpoint-url': proxy.endpoint })).errors[0];
    };
    expect(await refused(s3Error(403, 'AccessDenied'))).toContain('Allow s3:ListBucket');
    const other = await refused(s3Error(403, 'AccountProblem', 'pay first'));
    expect(other).toMatch(/AccountProblem.*pay first/);
    expect(other).not.toContain('Allow s3:');
  });

  test.each([
    ['a page', page(413, '413 Request Entity Too Large')],
    ['an S3 error', s3Error(400, 'EntityTooLarge', 'Your proposed upload exceeds the maximum')],
  ])('413: the error names the limit and our request sizes (%s)', async (_title, fault) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path }) =>
      operation === 'put' && path.endsWith('.whl') ? fault : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expectForeign(result, /16 MiB.*8 MiB/);
    expect(await job.keys()).toEqual([]);
  });
});

describe('case 61: the wrong scheme', () => {
  test('https:// to a port that speaks plain HTTP', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('find', { 'endpoint-url': bucket.endpoint.replace('http:', 'https:') });
    expectForeign(result, /write 'endpoint-url' with http:\/\//);
  });

  test('http:// to a port that speaks TLS', async () => {
    await using job = await startJob(bucket);
    await using tls = await startTls(bucket.endpoint);
    const result = await job.step('find', { 'endpoint-url': `http://localhost:${tls.port}` });
    expectForeign(result, /https:\/\//);
  });

  test('a port that speaks neither', async () => {
    await using job = await startJob(bucket);
    const server = createTcpServer((socket) =>
      socket.end('SSH-2.0-OpenSSH_9.6\r\n').on('error', () => undefined),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const result = await job.step('find', { 'endpoint-url': `http://127.0.0.1:${port}` });
    server.close();
    expectForeign(result, /did not respond with HTTP/);
  });
});

/** A forward proxy that refuses every request. */
async function refusingProxy(status: number): Promise<{ server: Server; port: number }> {
  const reason = status === 407 ? 'Proxy Authentication Required' : 'Forbidden';
  const server = createServer((_incoming, response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<html><title>Proxy</title></html>'),
  );
  server.on('connect', (_incoming, socket) => {
    socket.on('error', () => undefined);
    socket.end(`HTTP/1.1 ${status} ${reason}\r\nContent-Length: 0\r\n\r\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

describe('case 44: a proxy that refuses is named without user and password', () => {
  test.each([
    [407, 'https://store.example.com', 'HTTPS_PROXY'],
    [407, 'http://store.example.com', 'HTTP_PROXY'],
    [403, 'https://store.example.com', 'https_proxy'],
  ])('%i for %s', async (status, endpoint, name) => {
    await using job = await startJob(bucket);
    const { server, port } = await refusingProxy(status);
    const env = { [name]: `http://user:s3cr%65tpw@127.0.0.1:${port}`, RUNNER_DEBUG: '1' };
    const result = await job.step('find', { 'endpoint-url': endpoint }, env);
    server.close();
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain(`http://127.0.0.1:${port}`);
    if (status === 407) expect(result.errors[0]).toContain('user name and password');
    const shown = result.log.split('\n').filter((line) => !line.startsWith('::add-mask::'));
    expect(shown.join('\n') + result.summary).not.toMatch(/s3cret|s3cr%65t|user:/);
    expect(result.commands).toContainEqual({ name: 'add-mask', properties: {}, message: 's3cretpw' });
  });

  test.each([
    ['http://user:s3cretpw@proxy.corp:99999'],
    ['http://user:s3/cretpw@proxy.corp:3128'],
    ['http://user:s3%zzcretpw@proxy.corp:3128'],
  ])('%s is refused before anything is sent', async (address) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step(
      'find',
      { 'endpoint-url': proxy.endpoint },
      { HTTP_PROXY: address, RUNNER_DEBUG: '1' },
    );
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('HTTP_PROXY');
    expect(result.log).not.toMatch(/s3cretpw|cretpw/);
    expect(proxy.requests).toEqual([]);
  });
});

describe('case 45: a password in the endpoint is never shown', () => {
  test.each([['AWS_ENDPOINT_URL_S3'], ['AWS_ENDPOINT_URL']])('%s', async (name) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ headers }) =>
      headers['if-none-match'] === undefined ? undefined : s3Error(501, 'NotImplemented'),
    );
    const env = { [name]: proxy.endpoint.replace('//', '//user:s3cretpw@'), RUNNER_DEBUG: '1' };
    const result = await job.step('store', { 'endpoint-url': '' }, env);
    expect(result.errors).toEqual([]);
    expect(result.warnings.join()).toContain(new URL(proxy.endpoint).host);
    const shown = result.log.split('\n').filter((line) => !line.startsWith('::add-mask::'));
    expect(shown.join('\n')).not.toContain('s3cretpw');
    expect(result.summary).not.toContain('s3cretpw');
    expect(JSON.stringify(result.outputs)).not.toContain('s3cretpw');
    expect(result.outputs['wheel-url']).toBe(`${proxy.endpoint}/${bucket.name}/${job.key(W)}`);
  });
});

describe('case 67: a store without conditional writes', () => {
  const UNSUPPORTED = 'A header you provided implies functionality that is not implemented';
  test.each([
    ['501', s3Error(501, 'NotImplemented')],
    ['400 InvalidRequest', s3Error(400, 'InvalidRequest')],
    ['400 InvalidArgument', s3Error(400, 'InvalidArgument', 'If-None-Match is not allowed here')],
    ['400 NotImplemented', s3Error(400, 'NotImplemented', UNSUPPORTED)],
    ['400 without a body', { status: 400 }],
    ['405', s3Error(405, 'MethodNotAllowed')],
    ['405 without a body', { status: 405 }],
  ])('that returns %s: list, put without the condition, list again, and a warning', async (_title, fault) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ headers }) =>
      headers['if-none-match'] === undefined ? undefined : (fault as Fault),
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    expect(result.warnings).toEqual([expect.stringContaining('does not support conditional writes')]);
    expect(proxy.operations().slice(0, 5)).toEqual(['list', 'put', 'list', 'put', 'list']);
    expect(await job.keys()).toEqual([job.key(W)]);
    expect(await bucket.keys(`${job.prefix}/`)).toHaveLength(3);
  });

  test.each([
    ['InvalidDigest', 'The Content-MD5 you specified is not valid.'],
    ['EntityTooLarge', 'injected'],
    ['MalformedXML', 'injected'],
    ['ExpiredToken', 'injected'],
    ['AuthorizationHeaderMalformed', 'the region is wrong'],
    ['InvalidArgument', 'The storage class you specified is not valid'],
    ['InvalidRequest', 'Missing x-amz-server-side-encryption'],
    ['KMS.DisabledException', 'injected'],
  ])('400 %s (%s) has another cause: an error', async (code, message) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ headers }) =>
      headers['if-none-match'] === undefined ? undefined : s3Error(400, code, message),
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.warnings).toEqual([]);
    expect(await job.keys()).toEqual([]);
    const puts = proxy.requests.filter(({ operation, path }) => operation === 'put' && path.endsWith('.whl'));
    expect(puts.every(({ headers }) => headers['if-none-match'] === '*')).toBe(true);
  });

  test.each([
    [403, 'QuotaExceeded'],
    [403, 'BucketQuotaExceeded'],
    [400, 'XMinioAdminBucketQuotaExceeded'],
    [507, 'XMinioStorageFull'],
    [507, 'InsufficientStorage'],
    [507, ''],
  ])('%i %s: the store is full, not a missing permission', async (status, code) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path }) => {
      if (operation !== 'put' || !path.endsWith('.whl')) return undefined;
      return code === '' ? page(status, 'Insufficient Storage') : s3Error(status, code);
    });
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expectForeign(result, /quota/);
    expect(result.commands.find(({ name }) => name === 'error')?.properties.title).toBe('Store full');
    expect(result.errors[0]).not.toContain('s3:PutObject');
  });
});

describe('case 75: an error document of one megabyte that repeats the session token', () => {
  const TOKEN = `IQoJb3JpZ2luX2Vj${'T/+='.repeat(40)}`;
  test.each([
    [
      'as from S3',
      'application/xml',
      (text: string) => `<Error><Code>AccessDenied</Code><Message>${text}</Message></Error>`,
    ],
    ['with a long code', 'application/xml', (text: string) => `<Error><Code>${text}</Code></Error>`],
    ['as a web page', 'text/html', (text: string) => `<html><title>${text}</title></html>`],
  ])('%s: a short annotation without the token', async (_title, type, wrap) => {
    await using job = await startJob(bucket);
    const repeated = `${' '.repeat(470)}${TOKEN} ${encodeURIComponent(TOKEN)} `;
    const body = wrap(repeated.repeat(Math.ceil(2 ** 20 / repeated.length)));
    await using proxy = await startFaultProxy(bucket.endpoint, () => ({
      status: 403,
      body,
      headers: { 'content-type': type, 'x-amz-request-id': TOKEN },
    }));
    const env = { AWS_SESSION_TOKEN: TOKEN, RUNNER_DEBUG: '1' };
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint }, env);
    expect(result.code).toBe(1);
    expect(result.errors[0]!.length).toBeLessThan(2_000);
    expect(result.log.length).toBeLessThan(10_000);
    expect(result.log).not.toMatch(/IQoJ|T%2F/);
  });
});
