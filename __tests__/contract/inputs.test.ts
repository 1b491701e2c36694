import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { startJob } from '../../testing/job.ts';
import type { ActionName } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('bad input: one error that names it, exit 1, nothing is sent', () => {
  const cases: [
    title: string,
    action: ActionName,
    inputs: Record<string, string>,
    env: Record<string, string | undefined>,
    text: string,
  ][] = [
    ['no bucket', 'find', { bucket: '' }, {}, "'bucket'"],
    ['a bucket with a folder', 'store', { bucket: 's3://wheels/builds' }, {}, "'bucket'"],
    ['an empty commit', 'find', { commit: '' }, {}, "'commit' is empty"],
    ['a short commit', 'store', { commit: 'abc1234' }, {}, 'full'],
    ['a commit in upper case', 'fetch', { commit: 'A'.repeat(40) }, {}, "'commit'"],
    ['a branch instead of a commit', 'find', { commit: 'main' }, {}, "'commit'"],
    ['a label with a line break', 'store', { 'commit-label': 'a\nb' }, {}, "'commit-label'"],
    ['a label with an escape character', 'find', { 'commit-label': 'a\u001b[31mb' }, {}, 'control character'],
    ['a label of 101 characters', 'fetch', { 'commit-label': 'é'.repeat(101) }, {}, '100 characters'],
    ['a prefix with ..', 'store', { prefix: '../x' }, {}, "'prefix'"],
    ['a prefix with a backslash', 'store', { prefix: 'a\\b' }, {}, "'prefix'"],
    ['a prefix with a line break', 'find', { prefix: 'a\nb' }, {}, "'prefix'"],
    ['a target with a slash', 'store', { target: 'a/b' }, {}, "'target'"],
    ['a target of dots', 'store', { target: '..' }, {}, "'target'"],
    ['a target with a line break', 'store', { target: 'a\nb' }, {}, "'target'"],
    ['a target of 101 characters', 'store', { target: 'a'.repeat(101) }, {}, "'target'"],
    ['no attempt', 'store', {}, { GITHUB_RUN_ATTEMPT: undefined }, 'GITHUB_RUN_ATTEMPT'],
    ['an empty attempt', 'store', {}, { GITHUB_RUN_ATTEMPT: '' }, 'GITHUB_RUN_ATTEMPT'],
    ['a run that is not a number', 'store', {}, { GITHUB_RUN_ID: '7a' }, 'GITHUB_RUN_ID'],
    ['an invalid boolean', 'find', { 'no-sign-request': 'yes' }, {}, "'no-sign-request'"],
    ['an invalid path style', 'find', { 'force-path-style': 'maybe' }, {}, 'auto, true'],
    ['an invalid scope', 'find', { scope: 'repo' }, {}, 'commit or run or attempt'],
    ['an invalid on-error', 'find', { 'on-error': 'ignore' }, {}, 'fail or build'],
    ['an invalid cache', 'fetch', { cache: 'yes' }, {}, "'cache'"],
    ['an invalid on-missing', 'fetch', { 'on-missing': 'build' }, {}, 'fail or ignore'],
    ['presign for a negative time', 'find', { presign: '-1' }, {}, "'presign'"],
    ['presign for eight days', 'find', { presign: '691200' }, {}, '604800'],
    [
      'presign without credentials',
      'find',
      { presign: '900', 'no-sign-request': 'true' },
      {},
      'no-sign-request',
    ],
    ['an endpoint that is not a URL', 'find', { 'endpoint-url': 'minio:9000' }, {}, "'endpoint-url'"],
    ['an invalid region', 'find', { region: 'us west' }, {}, "'region'"],
  ];
  test.each(cases)('%s', async (_title, action, inputs, env, text) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step(action, { 'endpoint-url': proxy.endpoint, ...inputs }, env);
    expect(result.code).toBe(1);
    expect(result.outputs).toEqual({ 'skip-build': 'false' });
    expect(result.errors).toHaveLength(1);
    expect(result.errors[0]).toContain(text);
    expect(proxy.requests).toEqual([]);
  });

  test('a password in an endpoint is not shown', async () => {
    await using job = await startJob(bucket);
    const result = await job.step('find', { 'endpoint-url': 'https://user:hunter2@example.com' });
    expect(result.code).toBe(1);
    expect(result.log).not.toContain('hunter2');
  });
});

describe('valid input', () => {
  test.each([['TRUE'], ['True'], ['true']])('no-sign-request: %s', async (text) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    await job.step('find', { 'no-sign-request': text, 'endpoint-url': proxy.endpoint });
    expect(proxy.requests[0]?.headers.authorization).toBeUndefined();
  });

  test.each([[''], ['false'], ['FALSE']])('no-sign-request: %p', async (text) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    await job.step('find', { 'no-sign-request': text, 'endpoint-url': proxy.endpoint });
    expect(proxy.requests[0]?.headers.authorization).toContain('AWS4-HMAC-SHA256');
  });

  test('surplus slashes in a prefix', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const result = await job.step('store', { prefix: `/${job.prefix.replace('/', '//')}/` });
    expect(result.outputs['wheel-key']).toBe(job.key(W));
  });

  test.each([
    [{ region: 'eu-central-1' }, { AWS_REGION: 'us-west-2' }, 'eu-central-1'],
    [{}, { AWS_REGION: 'us-west-2', AWS_DEFAULT_REGION: 'us-east-2' }, 'us-west-2'],
    [{}, { AWS_DEFAULT_REGION: 'us-east-2' }, 'us-east-2'],
    [{}, {}, 'us-east-1'],
  ])('region: %p with %p is %s', async (inputs, env, region) => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    await job.step('find', { ...inputs, 'endpoint-url': proxy.endpoint }, env);
    expect(proxy.requests[0]?.headers.authorization).toContain(`/${region}/s3/aws4_request`);
  });

  test.each([['AWS_ENDPOINT_URL'], ['AWS_ENDPOINT_URL_S3']])(
    'an endpoint from %s counts as a custom one',
    async (name) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W);
      await using proxy = await startFaultProxy(bucket.endpoint);
      const result = await job.step('store', { 'endpoint-url': '' }, { [name]: proxy.endpoint });
      expect(result.errors).toEqual([]);
      expect(result.outputs['wheel-url']).toBe(`${proxy.endpoint}/${bucket.name}/${job.key(W)}`);
    },
  );

  test('a store without a step summary', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const result = await job.step('store', {}, { GITHUB_STEP_SUMMARY: undefined });
    expect(result).toMatchObject({ code: 0, errors: [] });
  });
});
