import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Fault, type SeenRequest, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import type { ActionName, StepResult } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const MIB = 1024 * 1024;
const LARGE = { files: { 'demo/noise.bin': new Uint8Array(20 * MIB) }, level: 0 } as const;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** A job with a large wheel at `dist`, which is already stored unless the action is store. */
async function prepare(action: ActionName): Promise<Job> {
  const job = await startJob(bucket);
  await makeWheel(job.dist, W, LARGE);
  if (action !== 'store') expect((await job.step('store', { index: 'false' })).errors).toEqual([]);
  return job;
}

/** Runs an action through a proxy that causes `fault` in the requests for which `isMet` returns true. */
async function withFault(
  job: Job,
  action: ActionName,
  isMet: (seen: SeenRequest) => boolean,
  fault: Fault,
): Promise<{ readonly result: StepResult; readonly hits: number }> {
  let hits = 0;
  await using proxy = await startFaultProxy(bucket.endpoint, (seen) => {
    if (seen.path.endsWith('.claim') || !isMet(seen)) return undefined;
    hits += 1;
    return fault;
  });
  const inputs = { 'endpoint-url': proxy.endpoint, ...(action === 'fetch' ? { path: 'new' } : {}) };
  const result = await job.step(action, inputs);
  return { result, hits };
}

/** Whether the fetched wheel equals the stored one. `toEqual` takes minutes for so many bytes. */
async function isSame(job: Job): Promise<boolean> {
  const [fetched, built] = await Promise.all([
    readFile(join(job.workspace, 'new', W)),
    readFile(join(job.dist, W)),
  ]);
  return fetched.equals(built);
}

test('a silent connection is closed after a minute, and the request is tried again', async () => {
  const silent: [ActionName, SeenRequest['operation'], Fault][] = [
    ['find', 'list', { stallAt: 0 }],
    ['find', 'list', { stallAt: 100 }],
    ['find', 'head', { stallAt: 0 }],
    ['fetch', 'get', { stallAt: 0 }],
    ['fetch', 'get', { stallAt: 3 * MIB }],
    ['store', 'put', { stallAt: 0 }],
    ['store', 'create-upload', { stallAt: 0 }],
    ['store', 'part', { stallAt: 0 }],
    ['store', 'complete', { stallAt: 0 }],
  ];
  // All at once, since each takes a minute.
  const outcomes = await Promise.all(
    silent.map(async ([action, operation, fault]) => {
      await using job = await prepare(action);
      const isMet = (seen: SeenRequest) => seen.operation === operation && seen.nth === 1;
      const { result, hits } = await withFault(job, action, isMet, fault);
      const stored = (await job.keys()).map((key) => key.replace(job.prefix, ''));
      return [operation, fault, hits, result.code, result.errors, result.outputs['wheel-name'], stored];
    }),
  );
  expect(outcomes).toEqual(
    silent.map(([, operation, fault]) => [operation, fault, 1, 0, [], W, [`/${COMMIT}/7_1/${W}`]]),
  );
}, 300_000);

describe('a slow connection', () => {
  test('transfers the listing and the wheel, piece by piece', async () => {
    await using job = await prepare('fetch');
    const slow = { pieceBytes: MIB, pauseMs: 5 };
    const isMet = ({ operation }: SeenRequest) => operation === 'get' || operation === 'list';
    const { result, hits } = await withFault(job, 'fetch', isMet, slow);
    expect(result.errors).toEqual([]);
    // One listing, three ranges: a slow connection isn't broken, so nothing is requested twice.
    expect(hits).toBe(4);
    expect(await isSame(job)).toBe(true);
  });
});

describe('a Content-Length that is not that of the body', () => {
  const requests: [ActionName, SeenRequest['operation'], by: number][] = [
    ['find', 'list', 10],
    ['fetch', 'list', 10],
    ['fetch', 'get', -10],
    ['store', 'list', 10],
  ];
  test.each(requests)(
    'in the first response to %s’s %s (%i bytes): tried again',
    async (action, operation, by) => {
      await using job = await prepare(action);
      const isMet = (seen: SeenRequest) => seen.operation === operation && seen.nth === 1;
      const { result, hits } = await withFault(job, action, isMet, { misstateBy: by });
      expect(hits).toBe(1);
      expect(result).toMatchObject({ code: 0, errors: [] });
      expect(await job.keys()).toEqual([job.key(W)]);
      if (action === 'fetch') {
        expect(await isSame(job)).toBe(true);
      }
    },
  );

  test.each(requests)(
    'in each response to %s’s %s (%i bytes): an error, and nothing incomplete',
    async (action, operation, by) => {
      await using job = await prepare(action);
      const { result } = await withFault(job, action, (seen) => seen.operation === operation, {
        misstateBy: by,
      });
      expect(result.code).toBe(1);
      expect(result.errors).toHaveLength(1);
      expect(result.errors[0]).not.toContain('defect');
      expect(await readdir(join(job.workspace, 'new')).catch(() => [])).toEqual([]);
      expect(await job.keys()).toEqual(action === 'store' ? [] : [job.key(W)]);
      expect((await bucket.openUploads()).filter((key) => key.startsWith(job.prefix))).toEqual([]);
    },
  );
});
