import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { startJob } from '../../testing/job.ts';
import { makeWheel, wheelBytes } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

describe('a slot', () => {
  test('that holds the same bytes: success without an upload', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const first = await job.step('store');
    await using proxy = await startFaultProxy(bucket.endpoint);
    const second = await job.step('store', { 'endpoint-url': proxy.endpoint, index: 'false' });
    expect(second.errors).toEqual([]);
    expect(second.outputs['skip-build']).toBe('false');
    expect(second.outputs.sha256).toBe(first.outputs.sha256);
    expect(proxy.operations()).toEqual(['list', 'head']);
  });

  test('that holds other bytes under the same name: an error, and nothing is overwritten', async () => {
    await using job = await startJob(bucket);
    const bytes = await readFile(await makeWheel(job.dist, W));
    await job.step('store');
    await makeWheel(job.dist, W, { metadata: ['Summary: other'] });
    const result = await job.step('store');
    expect(result.code).toBe(1);
    expect(result.errors[0]).toMatch(/already holds different content.*target/);
    expect(await bucket.get(job.key(W))).toEqual(bytes);
  });

  test.each([
    ['the same bytes', 0],
    ['other bytes', 1],
  ])('that holds %s without a SHA-256: the bytes are compared', async (title, code) => {
    await using job = await startJob(bucket);
    const bytes = Buffer.from(await readFile(await makeWheel(job.dist, W)));
    if (title === 'other bytes') bytes[40]! ^= 1;
    await bucket.put(job.key(W), bytes);
    const result = await job.step('store');
    expect(result.code).toBe(code);
    expect(await bucket.get(job.key(W))).toEqual(bytes);
  });

  test('that holds another wheel: an error that suggests target', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'foo-1.0-cp311-cp311-linux_x86_64.whl');
    await job.step('store', { path: 'dist/*cp311*' });
    await makeWheel(job.dist, 'foo-1.0-cp312-cp312-linux_x86_64.whl');
    const result = await job.step('store', { path: 'dist/*cp312*' });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toMatch(/foo-1\.0-cp311-cp311-linux_x86_64\.whl.*target/);
    expect(await job.keys()).toEqual([job.key('foo-1.0-cp311-cp311-linux_x86_64.whl')]);
  });

  test('that was filled during a multipart upload: an error, nothing is overwritten, and no parts remain', async () => {
    await using job = await startJob(bucket);
    const noise = { 'demo/noise.bin': new Uint8Array(20 * 1024 * 1024) };
    await makeWheel(job.dist, W, { files: noise, level: 0 });
    const other = wheelBytes(W, { metadata: ['Summary: theirs'] });
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) =>
      operation === 'complete' && nth === 1 ? { after: bucket.put(job.key(W), other) } : undefined,
    );
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain('different content');
    expect(proxy.requests.find(({ operation }) => operation === 'complete')?.headers['if-none-match']).toBe(
      '*',
    );
    expect(await bucket.get(job.key(W))).toEqual(Buffer.from(other));
    expect(await bucket.openUploads()).toEqual([]);
  });
});
