import { type FileHandle, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { putFile, type Upload } from '../../src/bucket/upload.ts';
import { WheelStoreError } from '../../src/errors.ts';
import { type Answer, answeringBucket } from '../../testing/answering-bucket.ts';

const SIZE = 1000;
const ELSEWHERE = 'https://s3.example.com';
let folder: string;
let file: FileHandle;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'upload-'));
  await writeFile(join(folder, 'wheel'), Buffer.alloc(SIZE));
  file = await open(join(folder, 'wheel'));
});
afterAll(async () => {
  await file.close();
  await rm(folder, { recursive: true });
});

const upload = (over: Partial<Upload> = {}): Upload => ({
  key: 'builds/demo.whl',
  file,
  size: SIZE,
  contentType: 'application/zip',
  cacheControl: 'no-cache',
  metadata: {},
  onlyIfAbsent: true,
  confirmUnchanged: async () => undefined,
  signal: new AbortController().signal,
  warn: () => undefined,
  ...over,
});

describe('the outcome of a put', () => {
  test.each<[outcome: string, endpoint: string | undefined, answer: Answer]>([
    ['created', undefined, { status: 200 }],
    ['taken', undefined, { status: 412, code: 'PreconditionFailed' }],
    ['taken', undefined, { status: 404, code: 'NoSuchUpload' }],
    ['unsupported', undefined, { status: 501, code: 'NotImplemented' }],
    ['unsupported', ELSEWHERE, { status: 400, code: 'InvalidArgument' }],
    ['unsupported', ELSEWHERE, { status: 405, code: 'MethodNotAllowed' }],
    ['unknown', undefined, { status: 500, code: 'InternalError' }],
    ['unknown', undefined, Object.assign(new Error('lost'), { code: 'ECONNRESET' })],
  ])('%s at %s: %j', async (outcome, endpoint, answer) => {
    const { bucket } = await answeringBucket(() => answer, { endpoint });
    expect(await putFile(bucket, upload())).toMatchObject({ outcome });
  });

  test.each<[title: string, answer: Answer]>([
    ['Access denied', { status: 403, code: 'AccessDenied' }],
    ['Store refused the request', { status: 400, code: 'InvalidArgument' }],
    ['Request too large', { status: 413, code: 'EntityTooLarge' }],
  ])('nothing was stored, %s: %j', async (title, answer) => {
    const { bucket } = await answeringBucket(() => answer);
    await expect(putFile(bucket, upload())).rejects.toMatchObject({ title });
  });

  test('without a condition, a 501 is not about conditions', async () => {
    const { bucket } = await answeringBucket(() => ({ status: 501, code: 'NotImplemented' }));
    expect(await putFile(bucket, upload({ onlyIfAbsent: false }))).toMatchObject({ outcome: 'unknown' });
  });

  test('a conflict with another writer is retried', async () => {
    const conflict = { status: 409, code: 'ConditionalRequestConflict' };
    const { bucket, requests } = await answeringBucket((_, nth) => (nth === 1 ? conflict : { status: 200 }));
    expect(await putFile(bucket, upload())).toEqual({ outcome: 'created', etag: '"0123"' });
    expect(requests.map(({ headers }) => headers['if-none-match'])).toEqual(['*', '*']);
  });

  test('an error before the request is rethrown unchanged', async () => {
    const changed = new WheelStoreError({ title: 'Wheel changed', reason: '', remedy: '' });
    const { bucket, requests } = await answeringBucket(() => ({ status: 200 }));
    const confirmUnchanged = async () => {
      throw changed;
    };
    await expect(putFile(bucket, upload({ confirmUnchanged }))).rejects.toBe(changed);
    expect(requests).toEqual([]);
  });
});

test('a single put reports progress: first 0, then all bytes', async () => {
  const { bucket } = await answeringBucket(() => ({ status: 200 }));
  const progress: number[] = [];
  await putFile(bucket, upload({ onProgress: (bytes) => progress.push(bytes) }));
  expect(progress).toEqual([0, SIZE]);
});
