import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { startJob } from '../../testing/job.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('case 63: a region that the store does not have', () => {
  const r2 = s3Error(
    400,
    'InvalidRegionName',
    "The region name 'us-west-2' is not valid. Must be one of: wnam, enam, weur, eeur, apac, oc, auto",
  );
  const scaleway = s3Error(
    400,
    'AuthorizationHeaderMalformed',
    "The authorization header is malformed; the region 'us-west-2' is wrong; expecting 'fr-par'",
  );
  const garage = s3Error(400, 'AuthorizationHeaderMalformed', 'malformed', '<Region>garage</Region>');
  const scopeOf = (authorization = '') => authorization.split('/')[2];

  test.each([
    ['R2', r2, 'auto'],
    ['a store that names its region in the message', scaleway, 'fr-par'],
    ['a store that names it in an XML element', garage, 'garage'],
  ])('AWS_REGION of another cloud, %s: the store’s own region is used', async (_title, refusal, own) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await using proxy = await startFaultProxy(bucket.endpoint, ({ headers }) =>
      scopeOf(headers.authorization) === own ? undefined : refusal,
    );
    const inputs = { 'endpoint-url': proxy.endpoint };
    const result = await job.step('store', inputs, { AWS_REGION: 'us-west-2' });
    expect(result).toMatchObject({ code: 0, errors: [] });
    const refused = proxy.requests.filter(({ headers }) => scopeOf(headers.authorization) !== own);
    expect(refused).toHaveLength(1);
    const found = await job.step('find', inputs, { AWS_DEFAULT_REGION: 'us-west-2' });
    expect(found.outputs['skip-build']).toBe('true');
  });

  test('the input region is not corrected: the error names it and contains S3’s message', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => r2);
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint, region: 'us-west-2' });
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringMatching(/wnam.*auto.*input 'region'/)]);
    expect(proxy.requests).toHaveLength(1);
  });

  test('a store that refuses auto as well: an error after two requests', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => r2);
    const result = await job.step('find', { 'endpoint-url': proxy.endpoint }, { AWS_REGION: 'us-west-2' });
    expect(result.errors).toEqual([expect.stringContaining("input 'region'")]);
    expect(proxy.requests).toHaveLength(2);
  });

  test.each(['AWS_REGION', 'AWS_DEFAULT_REGION'])(
    '%s that is not a region: the error names the variable',
    async (name) => {
      await using job = await startJob(bucket);
      const result = await job.step('find', {}, { [name]: 'us-west-2\n' });
      expect(result.code).toBe(1);
      expect(result.errors).toEqual([expect.stringContaining(name)]);
      expect((await job.step('find', { region: 'us-west-2' }, { [name]: 'us west' })).errors).toEqual([]);
    },
  );
});

describe('case 64: an endpoint that names the bucket', () => {
  test('in the input, in the environment, in the configuration file: refused before any request', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const inPath = `${proxy.endpoint}/${bucket.name}`;
    const file = join(job.workspace, 'config');
    await writeFile(file, `[default]\nendpoint_url = ${inPath}\n`);
    const sources = [
      [{ 'endpoint-url': inPath }, {}, "input 'endpoint-url'"],
      [{ 'endpoint-url': `${inPath}/` }, {}, "input 'endpoint-url'"],
      [{ 'endpoint-url': '' }, { AWS_ENDPOINT_URL_S3: inPath }, 'AWS_ENDPOINT_URL_S3'],
      [{ 'endpoint-url': '' }, { AWS_ENDPOINT_URL: inPath }, 'AWS_ENDPOINT_URL'],
      [{ 'endpoint-url': '' }, { AWS_CONFIG_FILE: file }, 'configuration file'],
    ] as const;
    for (const [inputs, env, source] of sources) {
      const result = await job.step('find', inputs, env);
      expect([source, result.code, result.errors]).toEqual([source, 1, [expect.stringContaining(source)]]);
      expect(result.errors[0]).toContain(bucket.name);
    }
    expect(proxy.requests).toEqual([]);
  });

  test('a path that is not the bucket is kept', async () => {
    await using job = await startJob(bucket);
    await using proxy = await startFaultProxy(bucket.endpoint, () => s3Error(404, 'NoSuchBucket'));
    await job.step('find', { 'endpoint-url': `${proxy.endpoint}/storage/v1/s3` });
    expect(proxy.requests[0]?.path).toMatch(/^\/storage\/v1\/s3\//);
  });
});
