import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type FaultProxy, startFaultProxy } from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import type { ActionName, StepResult } from '../../testing/runner.ts';
import { AUTHORITY, startForwardProxy, startTls } from '../../testing/tls.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const LARGE = { files: { 'demo/noise.bin': new Uint8Array(20 * 1024 * 1024) }, level: 0 } as const;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/**
 * Runs a step without a custom endpoint: its requests go to AWS's host names over TLS, through a proxy that forwards
 * them to the test server.
 */
async function onAws(
  job: Job,
  action: ActionName,
  inputs: Record<string, string> = {},
): Promise<{ result: StepResult; hosts: readonly string[]; seen: FaultProxy }> {
  await using seen = await startFaultProxy(bucket.endpoint);
  await using tls = await startTls(seen.endpoint);
  await using proxy = await startForwardProxy(tls.port);
  const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NODE_EXTRA_CA_CERTS: AUTHORITY };
  const result = await job.step(action, { ...inputs, 'endpoint-url': '' }, env);
  return { result, hosts: [...new Set(proxy.asked)], seen };
}

describe('on AWS', () => {
  test('store sends list, put, list: no claim, and a checksum', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const { result, hosts, seen } = await onAws(job, 'store', { index: 'false' });
    expect(result.errors).toEqual([]);
    expect(hosts).toEqual([`${bucket.name}.s3.us-east-1.amazonaws.com:443`]);
    expect(seen.requests.map(({ operation }) => operation)).toEqual(['list', 'put', 'list']);
    const put = seen.requests[1]!;
    expect(put.headers['if-none-match']).toBe('*');
    expect(put.headers['x-amz-checksum-crc32']).toBeDefined();
    // TLS protects the body, so the signature doesn't cover its SHA-256.
    expect(put.headers['x-amz-content-sha256']).toBe('UNSIGNED-PAYLOAD');
    expect(put.headers['content-length']).toBe(String(put.bytes));
    expect(result.outputs['wheel-url']).toBe(
      `https://${bucket.name}.s3.us-east-1.amazonaws.com/${job.key(W)}`,
    );
  });

  test('the index takes one get and one put per page, and one list', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const { result, seen } = await onAws(job, 'store');
    expect(result.warnings).toEqual([]);
    const operations = seen.requests.map(({ operation }) => operation);
    expect(operations).toEqual(['list', 'put', 'list', 'get', 'get', 'list', 'put', 'put']);
  });

  test('large wheels are uploaded and downloaded unchanged', async () => {
    await using job = await startJob(bucket);
    const bytes = await readFile(await makeWheel(job.dist, W, LARGE));
    const { result, seen } = await onAws(job, 'store', { index: 'false' });
    expect(result.errors).toEqual([]);
    const parts = seen.requests.filter(({ operation }) => operation === 'part');
    expect(parts.every(({ headers }) => headers['x-amz-checksum-crc32'] !== undefined)).toBe(true);
    const fetched = await onAws(job, 'fetch', { path: 'new' });
    expect(fetched.result.errors).toEqual([]);
    expect((await readFile(join(job.workspace, 'new', W))).equals(bytes)).toBe(true);
    expect(await readdir(join(job.workspace, 'new'))).toEqual([W]);
  });

  test('find sends one list and one head', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await onAws(job, 'store');
    const { result, seen } = await onAws(job, 'find');
    expect(result.outputs['skip-build']).toBe('true');
    expect(seen.requests.map(({ operation }) => operation)).toEqual(['list', 'head']);
  });
});
