/**
 * A fetch to a disk that is full or not writable. Each test runs the step with its own small file system, in a mount
 * namespace that disappears with the step. This needs Linux, and root or user namespaces.
 */
import { randomUUID } from 'node:crypto';
import { lstat, lutimes, mkdir, readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const MIB = 1024 * 1024;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Stores a wheel of about 20 MiB, which is downloaded in three ranges. */
async function storeLarge(job: Job): Promise<void> {
  await makeWheel(job.workspace, `built/${W}`, {
    files: { 'demo/noise.bin': new Uint8Array(20 * MIB) },
    level: 0,
  });
  expect((await job.step('store', { path: 'built', index: 'false' })).errors).toEqual([]);
}

/** A command that runs `prepare` (a shell command; `$1` is the folder `dist`) and the step, and then lists the folder. */
function within(job: Job, prepare: string): string[] {
  const unshare = process.getuid?.() === 0 ? ['unshare', '-m'] : ['unshare', '-rm'];
  const script = `mkdir -p "$1" && ${prepare} || exit 99; "$3" "$4"; status=$?; ls -A "$1" >"$2"; exit $status`;
  // Not sh: dash drops variables whose names contain a dash, such as INPUT_ENDPOINT-URL.
  return [...unshare, 'bash', '-c', script, 'bash', job.dist, join(job.workspace, 'listing')];
}

/** The files that were in `dist` when the step ended. */
async function filesLeft(job: Job): Promise<string[]> {
  return (await readFile(join(job.workspace, 'listing'), 'utf8')).split('\n').filter((name) => name !== '');
}

describe('fetch into a disk that', () => {
  test('is too small: an error with both sizes, before the download', async () => {
    await using job = await startJob(bucket);
    await storeLarge(job);
    await using proxy = await startFaultProxy(bucket.endpoint);
    const wrap = within(job, 'mount -t tmpfs -o size=4m none "$1"');
    const result = await job.step('fetch', { 'endpoint-url': proxy.endpoint }, {}, undefined, wrap);
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([
      expect.stringMatching(/would need 2\d{7} bytes.* has 4194304 bytes free/),
    ]);
    expect(proxy.operations()).not.toContain('get');
    expect(await filesLeft(job)).toEqual([]);
  });

  test('another process fills during the download: one error, and none of our files remains', async () => {
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
    // A retry doesn't help if the disk is full: no range was requested twice.
    const ranges = proxy.requests
      .filter(({ operation }) => operation === 'get')
      .map(({ headers }) => headers.range);
    expect(new Set(ranges).size).toBe(ranges.length);
    expect(await filesLeft(job)).toEqual(['somebody-else.bin']);
  });

  test('limits the size of a file (a quota)', async () => {
    await using job = await startJob(bucket);
    await storeLarge(job);
    const result = await job.step('fetch', {}, {}, undefined, within(job, 'ulimit -f 4096'));
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('EFBIG')]);
    expect(await filesLeft(job)).toEqual([]);
  });

  test('is read-only', async () => {
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

test('two wheels, and a folder with the name of one: neither is written', async () => {
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

const LONG = `demo-1.0-py3-none-${'x'.repeat(250)}.whl`;

/** Stores a wheel for each of two targets, and returns their names in the order in which fetch puts them into `dist`. */
async function storeTwo(job: Job): Promise<[first: string, second: string]> {
  const names = { linux: W, macos: 'demo-1.0-py3-none-macosx_11_0_arm64.whl' };
  for (const [target, name] of Object.entries(names)) {
    await makeWheel(job.workspace, `${target}/${name}`);
    expect((await job.step('store', { path: target, target, index: 'false' })).errors).toEqual([]);
  }
  return [names.linux, names.macos];
}

describe('case 68: of two wheels, both are written or neither', () => {
  test('a folder with the name of the second that appears during the download', async () => {
    await using job = await startJob(bucket);
    const [first, second] = await storeTwo(job);
    await mkdir(job.dist);
    await writeFile(join(job.dist, first), 'old');
    let made: Promise<unknown> | undefined;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) => {
      if (operation !== 'get') return undefined;
      made ??= mkdir(join(job.dist, second, 'inside'), { recursive: true });
      return { after: made };
    });
    const result = await job.step('fetch', { target: '*', 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining(second)]);
    expect(result.errors[0]).not.toContain('defect');
    expect((await readdir(job.dist)).sort()).toEqual([first, second].sort());
    expect(await readFile(join(job.dist, first), 'utf8')).toBe('old');
    expect(await readdir(join(job.dist, second))).toEqual(['inside']);
  });

  test('the same, without an earlier file', async () => {
    await using job = await startJob(bucket);
    const [, second] = await storeTwo(job);
    let made: Promise<unknown> | undefined;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation }) => {
      if (operation !== 'get') return undefined;
      made ??= mkdir(join(job.dist, second), { recursive: true });
      return { after: made };
    });
    const result = await job.step('fetch', { target: '*', 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(await readdir(job.dist)).toEqual([second]);
  });

  test('both replaced: the old file and the old link are removed', async () => {
    await using job = await startJob(bucket);
    const [first, second] = await storeTwo(job);
    await mkdir(job.dist);
    await writeFile(join(job.dist, first), 'old');
    await writeFile(join(job.workspace, 'elsewhere'), 'kept');
    await symlink(join(job.workspace, 'elsewhere'), join(job.dist, second));
    const result = await job.step('fetch', { target: '*' });
    expect(result.errors).toEqual([]);
    expect((await readdir(job.dist)).sort()).toEqual([first, second].sort());
    expect((await lstat(join(job.dist, second))).isFile()).toBe(true);
    expect(await readFile(join(job.workspace, 'elsewhere'), 'utf8')).toBe('kept');
  });

  // Unlike AWS, the test server doesn't accept such a name, so the proxy changes the listing and the head.
  test('a name that is too long for the disk: neither is written, and nothing is downloaded', async () => {
    await using job = await startJob(bucket);
    const [, second] = await storeTwo(job);
    const { Metadata = {}, ETag = '' } = await bucket.head(`${job.prefix}/${COMMIT}/7_1/macos/${second}`);
    const metadata = Object.entries(Metadata).map(([name, value]) => [`x-amz-meta-${name}`, value]);
    const headers = { etag: ETag, 'content-length': '9', ...Object.fromEntries(metadata) };
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path }) => {
      if (operation === 'head' && path.includes(LONG)) return { status: 200, headers };
      if (operation !== 'list') return undefined;
      return {
        change: (response) => ({
          ...response,
          body: Buffer.from(response.body.toString().replaceAll(second, LONG)),
        }),
      };
    });
    const result = await job.step('fetch', { target: '*', 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining('ENAMETOOLONG: name too long')]);
    expect(proxy.operations()).not.toContain('get');
    expect(await readdir(job.dist)).toEqual([]);
  });
});

describe('case 68: a path that cannot be used: one error, before the download', () => {
  test.each<[title: string, path: string, text: string]>([
    ['a dangling link', 'dangling', 'EEXIST'],
    ['a folder below a dangling link', 'dangling/w', 'EEXIST'],
    ['a loop of links', 'loop/w', 'EEXIST'],
    ['a folder below a file', 'file/w', 'EEXIST'],
    ['a name that is too long', 'x'.repeat(300), 'ENAMETOOLONG: name too long'],
    ['a path that is too long', 'x/'.repeat(3_000), 'ENAMETOOLONG: name too long'],
    ...(process.platform === 'linux'
      ? ([
          ['a folder of the kernel', '/proc/self/x', 'ENOENT'],
          ['a folder below it', '/proc/self/x/y', 'ENOENT'],
          ['a device', '/dev/null/x', 'EEXIST'],
        ] as [string, string, string][])
      : []),
  ])('%s', async (_title, path, text) => {
    await using job = await startJob(bucket);
    await makeWheel(job.workspace, `built/${W}`);
    await job.step('store', { path: 'built', index: 'false' });
    await symlink('gone', join(job.workspace, 'dangling'));
    await symlink('loop', join(job.workspace, 'loop'));
    await writeFile(join(job.workspace, 'file'), '');
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('fetch', { path, 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining(text)]);
    expect(result.errors[0]).not.toContain('defect');
    expect(result.errors[0]).toContain(path.slice(0, 100).replace(/\/$/, ''));
    expect(proxy.operations()).not.toContain('get');
  });
});

test('case 76: files that a killed fetch left in the folder more than a day ago are removed by the next fetch', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.workspace, `built/${W}`);
  await job.step('store', { path: 'built', index: 'false' });
  const part = () => `.wheel-store-${randomUUID()}.part`;
  const old = [part(), part()];
  const kept = [part(), '.wheel-store-notes.part', `${part()}.txt`, `x${part()}`];
  await mkdir(job.dist);
  for (const name of [...old, ...kept]) await writeFile(join(job.dist, name), 'x');
  const folder = part();
  await mkdir(join(job.dist, folder));
  const link = part();
  await symlink(join(job.workspace, 'built', W), join(job.dist, link));
  const longAgo = Date.now() / 1000 - 25 * 60 * 60;
  for (const name of [...old, ...kept.slice(1), folder]) await utimes(join(job.dist, name), longAgo, longAgo);
  await lutimes(join(job.dist, link), longAgo, longAgo);
  expect((await job.step('fetch')).errors).toEqual([]);
  expect((await readdir(job.dist)).sort()).toEqual([W, ...kept, folder, link].sort());
});
