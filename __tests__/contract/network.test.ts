import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { startJob } from '../../testing/job.ts';
import { AUTHORITY, startForwardProxy, startTls } from '../../testing/tls.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
let publicBucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
  publicBucket = await makeBucket({ isPublic: true });
});

describe('credentials', () => {
  const none = {
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
    AWS_EC2_METADATA_DISABLED: 'true',
  };

  test('none: the error names configure-aws-credentials', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('find', {}, none);
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('configure-aws-credentials');
  });

  test('none on a pull request from a fork: the error mentions the fork', async () => {
    await using job = await startJob(bucket);
    const event = join(job.workspace, 'event.json');
    await writeFile(
      event,
      JSON.stringify({ pull_request: { head: { repo: { full_name: 'somebody/demo' } } } }),
    );
    const env = { ...none, GITHUB_EVENT_NAME: 'pull_request', GITHUB_EVENT_PATH: event };
    const result = await job.step('find', {}, env);
    expect(result.errors[0]).toContain('fork');
    await writeFile(event, JSON.stringify({ pull_request: { head: { repo: { full_name: 'octo/demo' } } } }));
    expect((await job.step('find', {}, env)).errors[0]).not.toContain('fork');
  });

  test('wrong: the error contains S3’s code, but not the secret', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('find', {}, { AWS_SECRET_ACCESS_KEY: 'hunter2hunter2' });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('SignatureDoesNotMatch');
    expect(result.log).not.toContain('hunter2');
  });

  test('not needed for a public bucket', async () => {
    await using job = await startJob(publicBucket);
    await makeWheel(job.dist, W);
    await job.step('store');
    const env = { ...none };
    expect((await job.step('find', { 'no-sign-request': 'true' }, env)).outputs['skip-build']).toBe('true');
    expect((await job.step('fetch', { 'no-sign-request': 'true', path: 'new' }, env)).errors).toEqual([]);
    const result = await (await startJob(bucket)).step('find', { 'no-sign-request': 'true' }, env);
    expect(result.errors[0]).toMatch(/s3:ListBucket.*no-sign-request/);
  });
});

describe('the region that S3 names is used', () => {
  const header = { 'x-amz-bucket-region': 'eu-west-1' };
  test.each([
    ['301 with a header', { status: 301, headers: header }],
    [
      '400 with an XML element',
      s3Error(400, 'AuthorizationHeaderMalformed', 'wrong region', '<Region>eu-west-1</Region>'),
    ],
  ])('%s', async (_title, response) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ headers }) =>
      headers.authorization?.includes('/eu-west-1/') ? undefined : response,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    const wrong = proxy.requests.filter(({ headers }) => !headers.authorization?.includes('/eu-west-1/'));
    expect(wrong).toHaveLength(1);
  });

  test('but not if S3 then names another one: an error', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ headers }) => ({
      status: 301,
      headers: {
        'x-amz-bucket-region': headers.authorization?.includes('/eu-west-1/') ? 'us-west-2' : 'eu-west-1',
      },
    }));
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('is not in the region eu-west-1')]);
    expect(proxy.requests).toHaveLength(2);
  });
});

describe('TLS', () => {
  test('an unknown private authority: the error names NODE_EXTRA_CA_CERTS', async () => {
    await using job = await startJob(bucket);
    await using tls = await startTls(bucket.endpoint);
    const env = { NODE_EXTRA_CA_CERTS: undefined };
    const result = await job.step('find', { 'endpoint-url': `https://localhost:${tls.port}` }, env);
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('NODE_EXTRA_CA_CERTS');
  });

  test('a known private authority, through HTTPS_PROXY', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using tls = await startTls(bucket.endpoint);
    await using proxy = await startForwardProxy();
    const env = { NODE_EXTRA_CA_CERTS: AUTHORITY, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
    const inputs = { 'endpoint-url': `https://localhost:${tls.port}` };
    expect((await job.step('store', inputs, env)).errors).toEqual([]);
    expect((await job.step('fetch', { ...inputs, path: 'new' }, env)).errors).toEqual([]);
    expect(new Set(proxy.asked)).toEqual(new Set([`localhost:${tls.port}`]));
    const asked = proxy.asked.length;
    await job.step('find', inputs, { ...env, NO_PROXY: 'localhost' });
    expect(proxy.asked).toHaveLength(asked);
  });
});

test('HTTP_PROXY applies to plain HTTP, and NO_PROXY bypasses it', async () => {
  await using job = await startJob(bucket);
  await using proxy = await startForwardProxy();
  const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` };
  expect((await job.step('find', {}, env)).errors).toEqual([]);
  expect(proxy.asked).toEqual([new URL(bucket.endpoint).host]);
  expect((await job.step('find', {}, { ...env, NO_PROXY: '127.0.0.1' })).errors).toEqual([]);
  expect(proxy.asked).toHaveLength(1);
});

test('an endpoint that refuses connections: the error names it', async () => {
  await using job = await startJob(bucket);
  const result = await job.step('find', { 'endpoint-url': 'http://127.0.0.1:9' });
  expect(result.code).toBe(1);
  expect(result.errors[0]).toMatch(/127\.0\.0\.1:9.*ECONNREFUSED/);
});

test('a step ends even if its output is no longer read', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  const inputs = { 'endpoint-url': 'http://127.0.0.1:9' };
  const result = await job.step('store', inputs, {}, (child) => child.stdout?.destroy());
  expect(result.code).toBe(1);
  expect(result.outputs).toEqual({ 'skip-build': 'false' });
});

test('a web page instead of an S3 response: the error names the endpoint', async () => {
  await using job = await startJob(bucket);
  await using proxy = await startFaultProxy(bucket.endpoint, () => ({
    status: 200,
    body: '<!DOCTYPE html><html><body>Sign in</body></html>',
    headers: { 'content-type': 'text/html' },
  }));
  const result = await job.step('find', { 'endpoint-url': proxy.endpoint });
  expect(result.code).toBe(1);
  expect(result.outputs['skip-build']).toBe('false');
  expect(result.errors[0]).toContain(proxy.endpoint);
});

describe('presign', () => {
  test('the URL works without credentials, its signature is masked, and there is a warning about job outputs', async () => {
    await using job = await startJob(bucket);
    const bytes = await readFile(await makeWheel(job.dist, W));
    await job.step('store');
    const result = await job.step('find', { presign: '900' });
    const url = result.outputs['wheel-url']!;
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
    const signature = new URL(url).searchParams.get('X-Amz-Signature')!;
    expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe('900');
    expect(
      (
        await fetch(
          url.replace(
            signature,
            signature.replace(/./, (digit) => (digit === '0' ? '1' : '0')),
          ),
        )
      ).status,
    ).toBe(403);
    expect(result.commands.filter(({ name }) => name === 'add-mask').map(({ message }) => message)).toContain(
      signature,
    );
    const shown = result.log
      .split('\n')
      .filter((line) => !line.startsWith('::add-mask::'))
      .join('\n');
    expect(shown + result.summary).not.toContain(signature);
    expect(result.warnings.join()).toMatch(/job output/);
  });
});

test('public-url is the base of the URL', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, 'foo-1.0+cu1-py3-none-any.whl');
  const result = await job.step('store', { 'public-url': 'https://wheels.example.com/x/' });
  expect(result.outputs['wheel-url']).toBe(
    `https://wheels.example.com/x/${job.key('foo-1.0%2Bcu1-py3-none-any.whl')}`,
  );
});
