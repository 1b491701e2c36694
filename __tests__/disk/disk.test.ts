import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { faultOf, freeBytesOf, makeFolders, tooFewFreeBytes } from '../../src/disk/disk.ts';

describe('case 69: free bytes', () => {
  test.each<[title: string, blocks: number, bavail: number, bsize: number, free: number | undefined]>([
    ['half of them', 100, 50, 4096, 204_800],
    ['none: the disk is full', 100, 0, 4096, 0],
    ['no blocks at all, as some FUSE mounts report', 0, 0, 4096, undefined],
    ['no blocks, but some free', 0, 10, 4096, undefined],
    ['blocks of size zero', 100, 50, 0, undefined],
    ['a negative number', 100, -5, 4096, undefined],
    ['not a number', Number.NaN, Number.NaN, 4096, undefined],
  ])('%s', (_title, blocks, bavail, bsize, free) => {
    expect(freeBytesOf({ blocks, bavail, bsize })).toBe(free);
  });

  test('are too few if the data does not fit, and never if the system call fails', async () => {
    expect(await tooFewFreeBytes(tmpdir(), Number.POSITIVE_INFINITY)).toBeGreaterThan(0);
    expect(await tooFewFreeBytes(tmpdir(), 1)).toBeUndefined();
    expect(await tooFewFreeBytes(join(tmpdir(), 'no such folder'), Number.POSITIVE_INFINITY)).toBeUndefined();
  });
});

describe('case 68: an error of the file system', () => {
  const fault = (code: string, message: string, syscall: string | undefined, errno = -1) =>
    Object.assign(new Error(message), { code, syscall, errno });
  test.each<[error: unknown, text: string | undefined]>([
    [fault('ENAMETOOLONG', "ENAMETOOLONG: name too long, open '/x'", 'open'), 'ENAMETOOLONG: name too long'],
    [
      fault('EXDEV', "EXDEV: cross-device link not permitted, rename 'a' -> 'b'", 'rename'),
      'EXDEV: cross-device link not permitted',
    ],
    [fault('EIO', 'EIO: i/o error, read', 'read'), 'EIO: i/o error'],
    [fault('EMFILE', "EMFILE: too many open files, open 'x'", 'open'), 'EMFILE: too many open files'],
    [fault('ENXIO', 'something else', 'open'), 'ENXIO'],
    [fault('ECONNRESET', 'read ECONNRESET', 'read'), undefined],
    [fault('ERR_INVALID_ARG_TYPE', 'no', undefined), undefined],
    [new Error('EIO: i/o error'), undefined],
    [undefined, undefined],
    ['EIO', undefined],
  ])('%s', (error, text) => {
    expect(faultOf(error)).toBe(text);
  });

  test('folders are created with their parents, also by concurrent calls', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'folders-'));
    const path = join(folder, 'a/b/c');
    await Promise.all([makeFolders(path), makeFolders(path), makeFolders(join(folder, 'a/b/d'))]);
    await makeFolders(path);
    expect((await stat(path)).isDirectory()).toBe(true);
    await rm(folder, { recursive: true });
  });
});
