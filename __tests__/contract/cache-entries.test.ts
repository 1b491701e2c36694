import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Caching, expectFetched, startCaching, W } from '../../testing/caching-job.ts';
import { type TarEntry, tarBytes } from '../../testing/raw-tar.ts';
import { sha256 } from '../../testing/wheels.ts';

let caching: Caching;
beforeAll(async () => {
  caching = await startCaching();
});
afterAll(async () => {
  await caching[Symbol.asyncDispose]();
});

/** Replaces the entries of an archive, keeping its compression. */
async function replaceEntries(archive: string, entries: readonly TarEntry[]): Promise<void> {
  const isZstd = (await readFile(archive)).readUInt32LE() === 0xfd2fb528;
  await writeFile(archive, (isZstd ? zstdCompressSync : gzipSync)(tarBytes(entries)));
}

describe('the cached entry is not the wheel', () => {
  const wheel = { name: 'wheel' };
  const cases: [name: string, entries: (bytes: Buffer, workspace: string) => TarEntry[]][] = [
    ['other bytes of the same size', (bytes) => [{ ...wheel, body: Buffer.alloc(bytes.length) }]],
    ['another size', () => [{ ...wheel, body: Buffer.from('short') }]],
    ['nothing', () => []],
    ['a folder', () => [{ ...wheel, type: '5' }]],
    ['a link to a file', (_, workspace) => [{ ...wheel, type: '2', target: join(workspace, 'built', W) }]],
    [
      'a hard link to a file',
      (_, workspace) => [{ ...wheel, type: '1', target: join(workspace, 'built', W) }],
    ],
    ['a file above the folder', () => [{ name: '../escaped', body: Buffer.from('x') }]],
    ['a file two folders above', () => [{ name: '../../escaped', body: Buffer.from('x') }]],
    ['an absolute name', (_, workspace) => [{ name: join(workspace, 'escaped'), body: Buffer.from('x') }]],
    ['the folder above itself', () => [{ name: '..', type: '5', mode: 0o777 }]],
    [
      'a link out of the folder and a file below it',
      (_, workspace) => [
        { name: 'out', type: '2', target: workspace },
        { name: 'out/escaped', body: Buffer.from('x') },
      ],
    ],
    [
      'a link out of the folder under the wheel’s name, and a file written through it',
      (bytes, workspace) => [
        { ...wheel, type: '2', target: join(workspace, 'escaped') },
        { ...wheel, body: Buffer.alloc(bytes.length) },
      ],
    ],
  ];

  test.each(cases)(
    '%s: discarded with a warning, and the wheel is downloaded from the bucket',
    async (_name, entries) => {
      await using job = await caching.startJob();
      const archive = await caching.save(job);
      await replaceEntries(archive, entries(job.bytes, job.workspace));
      const before = (await readdir(job.workspace)).sort();
      const result = await job.fetch();
      await expectFetched(job, result, job.bytes);
      expect(job.reads()).toBe(2);
      expect(result.warnings).toEqual([
        expect.stringContaining(`gh cache delete wheel-store-${sha256(job.bytes)}`),
      ]);
      expect(result.log).not.toContain('Saved');
      expect((await readdir(job.workspace)).sort()).toEqual([...before, 'dist'].sort());
      expect(await readFile(join(job.workspace, 'built', W))).toEqual(job.bytes);
    },
  );

  test.each([
    ['a truncated archive', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['not an archive', () => Buffer.from('<html>Sign in</html>')],
    ['an empty archive', () => Buffer.alloc(0)],
  ])('%s', async (_name, change) => {
    await using job = await caching.startJob();
    const archive = await caching.save(job);
    await writeFile(archive, change(await readFile(archive)));
    const result = await job.fetch();
    await expectFetched(job, result, job.bytes);
    expect(job.reads()).toBe(2);
    expect(result.warnings).toHaveLength(1);
  });

  test('the right bytes under another name are the wheel', async () => {
    await using job = await caching.startJob();
    const archive = await caching.save(job);
    await replaceEntries(archive, [{ name: '../escaped', body: job.bytes, mode: 0o4755 }]);
    await expectFetched(job, await job.fetch(), job.bytes);
    expect(job.reads()).toBe(1);
  });
});
