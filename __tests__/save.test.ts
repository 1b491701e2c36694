import { describe, expect, test } from '@jest/globals';
import { freeBytes } from '../src/save.ts';

describe('case 69: the free space of a disk', () => {
  const cases: [title: string, blocks: number, bavail: number, free: number | undefined][] = [
    ['a disk with room', 100, 40, 40 * 4096],
    ['a full disk', 100, 0, 0],
    ['a file system that reports no blocks at all', 0, 0, undefined],
  ];
  test.each(cases)('%s', (_title, blocks, bavail, free) => {
    expect(freeBytes({ blocks, bavail, bsize: 4096 })).toBe(free);
  });
});
