/**
 * What a full or forbidden disk does to a fetch. Each test gives the step a small file system of its own, in a mount
 * namespace that goes with it: that needs Linux, and root or user namespaces.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../stand-ins/bucket.ts';
import { startFaultProxy } from '../stand-ins/fault-proxy.ts';
import { type Job, startJob } from '../stand-ins/job.ts';
import { makeWheel } from '../stand-ins/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const MIB = 1024 * 1024;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Stores a wheel of some 20 MiB, which comes back in three ranges. */
async function storeLarge(job: Job): Promise<void> {
  await makeWheel(job.workspace, `built/${W}`, {
    files: { 'demo/noise.bin': new Uint8Array(20 * MIB) },
    level: 0,
  });
  expect((await job.step('store', { path: 'built', index: 'false' })).errors).toEqual([]);
}

/** Runs the step after `prepare`, a shell command that finds the folder `dist` in `$1`, and notes what is in it at the end. */
function within(job: Job, prepare: string): string[] {
  const unshare = process.getuid?.() === 0 ? ['unshare', '-m'] : ['unshare', '-rm'];
  const script = `mkdir -p "$1" && ${prepare} || exit 99; "$3" "$4"; status=$?; ls -A "$1" >"$2"; exit $status`;
  // Not sh: dash drops variables whose names hold a dash, such as INPUT_ENDPOINT-URL.
  return [...unshare, 'bash', '-c', script, 'bash', job.dist, join(job.workspace, 'listing')];
}

/** What was in `dist` when the step had ended. */
async function left(job: Job): Promise<string[]> {
  return (await readFile(join(job.workspace, 'listing'), 'utf8')).split('\n').filter((name) => name !== '');
}

describe('fetch into a disk that', () => {
  test('is too small: both figures, before a byte is asked for', async () => {
    await using job = await startJob(bucket);
    await storeLarge(job);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const wrap = within(job, 'mount -t tmpfs -o size=4m none "$1"');
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint }, {}, undefined, wrap);
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([
      expect.stringMatching(/would take 2\d{7} bytes.* has 4194304 bytes free/),
    ]);
    expect(proxy.operations()).not.toContain('get');
    expect(await left(job)).toEqual([]);
  });

  test('somebody else fills during the download: one sentence, and nothing of ours stays', async () => {
    await using job = await startJob(bucket);
    await storeLarge(job);
    const running = Promise.withResolvers<number>();
    /** Leaves 1 MiB free, in the step's own view of the folder. */
    const fill = async () => {
      const folder = `/proc/${await running.promise}/root${job.dist}`;
      await writeFile(join(folder, 'somebody-else.bin'), new Uint8Array(23 * MIB));
    };
    let filled: Promise<void> | undefined;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) => {
      if (operation !== 'get') return undefined;
      filled ??= fill();
      return { after: filled };
    });
    const wrap = within(job, 'mount -t tmpfs -o size=24m none "$1"');
    const result = await job.step(
      'fetch',
      { 'endpoint-url': proxy.endpoint },
      {},
      (child) => running.resolve(child.pid!),
      wrap,
    );
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('ENOSPC')]);
    expect(result.errors[0]).toContain(job.dist);
    // A full disk does not heal by asking S3 again: no range was asked for twice.
    const ranges = proxy.requests
      .filter(({ operation }) => operation === 'get')
      .map(({ headers }) => headers.range);
    expect(new Set(ranges).size).toBe(ranges.length);
    expect(await left(job)).toEqual(['somebody-else.bin']);
  });

  test('allows only so much per file (a quota)', async () => {
    await using job = await startJob(bucket);
    await storeLarge(job);
    const result = await job.step('fetch', {}, {}, undefined, within(job, 'ulimit -f 4096'));
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('EFBIG')]);
    expect(await left(job)).toEqual([]);
  });

  test('may only be read', async () => {
    await using job = await startJob(bucket);
    await storeLarge(job);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const wrap = within(job, 'mount -t tmpfs -o ro none "$1"');
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint }, {}, undefined, wrap);
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('EROFS')]);
    expect(result.errors[0]).toContain(job.dist);
    expect(proxy.operations()).not.toContain('get');
  });

  test('has room again: the next attempt of the job succeeds', async () => {
    await using job = await startJob(bucket);
    await storeLarge(job);
    expect((await job.step('fetch', {}, {}, undefined, within(job, 'ulimit -f 4096'))).code).toBe(1);
    expect((await job.step('fetch')).errors).toEqual([]);
    expect(await readdir(job.dist)).toEqual([W]);
  });
});

test('of two wheels, one in whose place a folder stands: none is put there', async () => {
  await using job = await startJob(bucket);
  const names = { linux: W, macos: 'demo-1.0-py3-none-macosx_11_0_arm64.whl' };
  for (const [target, name] of Object.entries(names)) {
    await makeWheel(job.workspace, `${target}/${name}`);
    expect((await job.step('store', { path: target, target })).errors).toEqual([]);
  }
  await makeWheel(job.dist, `${names.macos}/inside.whl`);
  const result = await job.step('fetch', { target: '*' });
  expect(result.code).toBe(1);
  expect(result.errors).toEqual([expect.stringContaining(join(job.dist, names.macos))]);
  expect(await readdir(job.dist)).toEqual([names.macos]);
});
