/**
 * What a full or forbidden disk does to a fetch. Each test gives the step a small file system of its own, in a mount
 * namespace that goes with it: that needs Linux, and root or user namespaces.
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
      expect.stringMatching(/would need 2\d{7} bytes.* has 4194304 bytes free/),
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

const LONG = `demo-1.0-py3-none-${'x'.repeat(250)}.whl`;

/** Stores a wheel for each of two targets, and returns their names in the order in which fetch puts them in place. */
async function storeTwo(job: Job): Promise<[first: string, second: string]> {
  const names = { linux: W, macos: 'demo-1.0-py3-none-macosx_11_0_arm64.whl' };
  for (const [target, name] of Object.entries(names)) {
    await makeWheel(job.workspace, `${target}/${name}`);
    expect((await job.step('store', { path: target, target, index: 'false' })).errors).toEqual([]);
  }
  return [names.linux, names.macos];
}

describe('case 68: of two wheels, all take their places or none', () => {
  test('a folder that appears in the place of the second while they arrive', async () => {
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

  test('the same, with nothing there before', async () => {
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

  test('both replaced: the old ones, a link among them, are gone without a trace', async () => {
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

  // The tests' server takes no such name, as AWS does: the listing and the head are made to show one.
  test('a name that is too long for the disk: neither, and no byte is asked for', async () => {
    await using job = await startJob(bucket);
    const [, second] = await storeTwo(job);
    const { Metadata = {}, ETag = '' } = await bucket.head(`${job.prefix}/${COMMIT}/7_1/macos/${second}`);
    const metadata = Object.entries(Metadata).map(([name, value]) => [`x-amz-meta-${name}`, value]);
    const headers = { etag: ETag, 'content-length': '9', ...Object.fromEntries(metadata) };
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path }) => {
      if (operation === 'head' && path.includes(LONG)) return { status: 200, headers };
      if (operation !== 'list') return undefined;
      return {
        change: (answer) => ({
          ...answer,
          body: Buffer.from(answer.body.toString().replaceAll(second, LONG)),
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

describe('case 68: a path that cannot be used is a sentence, before any byte', () => {
  test.each<[title: string, path: string, says: string]>([
    ['a dangling link', 'dangling', 'EEXIST'],
    ['a folder below a dangling link', 'dangling/w', 'EEXIST'],
    ['a loop of links', 'loop/w', 'EEXIST'],
    ['a folder below a file', 'file/w', 'EEXIST'],
    ['a name that is too long', 'x'.repeat(300), 'ENAMETOOLONG: name too long'],
    ['a path that is too long', 'x/'.repeat(3_000), 'ENAMETOOLONG: name too long'],
    ...(process.platform === 'linux'
      ? ([
          ['a folder of the kernel', '/proc/self/x', 'ENOENT'],
          ['one below it', '/proc/self/x/y', 'ENOENT'],
          ['a device', '/dev/null/x', 'EEXIST'],
        ] as [string, string, string][])
      : []),
  ])('%s', async (_title, path, says) => {
    await using job = await startJob(bucket);
    await makeWheel(job.workspace, `built/${W}`);
    await job.step('store', { path: 'built', index: 'false' });
    await symlink('gone', join(job.workspace, 'dangling'));
    await symlink('loop', join(job.workspace, 'loop'));
    await writeFile(join(job.workspace, 'file'), '');
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('fetch', { path, 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.errors).toEqual([expect.stringContaining(says)]);
    expect(result.errors[0]).not.toContain('defect');
    expect(result.errors[0]).toContain(path.slice(0, 100).replace(/\/$/, ''));
    expect(proxy.operations()).not.toContain('get');
  });
});

test('case 76: what a killed fetch left in the folder more than a day ago is removed by the next one', async () => {
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
