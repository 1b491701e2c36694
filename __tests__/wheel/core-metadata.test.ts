import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { strToU8, zipSync } from 'fflate';
import type { ByteSource } from '../../src/wheel/byte-source.ts';
import { readCoreMetadata } from '../../src/wheel/core-metadata.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';

const NAME = parseWheelFilename('foo-1.0-py3-none-any.whl');
const METADATA = 'Metadata-Version: 2.1\nName: foo\nVersion: 1.0\nRequires-Python: >=3.9\n\nÜber foo\n';
const INFO = 'foo-1.0.dist-info';

/** Serves bytes, and counts those that are read. */
function source(bytes: Uint8Array): ByteSource & { count(): number } {
  let count = 0;
  return {
    count: () => count,
    async read(buffer, offset, length, position) {
      const part = bytes.subarray(position, position + length);
      buffer.set(part, offset);
      count += part.length;
      return { bytesRead: part.length };
    },
  };
}

const many = Object.fromEntries(
  Array.from({ length: 3_000 }, (_, index) => [`foo/module_${index}.py`, strToU8(`x = ${index}`)]),
);
const large = { 'foo/large.so': new Uint8Array(20 * 1024 * 1024).fill(1) };
const meta = { [`${INFO}/METADATA`]: strToU8(METADATA) };

describe('METADATA is read from a few bytes', () => {
  test.each<[title: string, files: Record<string, Uint8Array>, level: 0 | 6]>([
    ['at the end', { ...large, ...meta }, 0],
    ['at the beginning', { ...meta, ...large }, 0],
    ['in the middle, compressed', { 'foo/a.py': strToU8('x'), ...meta, 'foo/b.py': strToU8('y') }, 6],
    ['of an archive with many entries', { ...many, ...meta }, 6],
  ])('%s', async (_title, files, level) => {
    const bytes = zipSync(files, { level });
    const from = source(bytes);
    const core = await readCoreMetadata(from, bytes.length, NAME);
    expect(core.content.toString()).toBe(METADATA);
    expect(core.sha256).toBe(createHash('sha256').update(METADATA).digest('hex'));
    expect(core.requiresPython).toBe('>=3.9');
    expect(from.count()).toBeLessThan(700_000);
  });

  test.each<[title: string, files: Record<string, Uint8Array>, message: RegExp]>([
    ['no dist-info folder', { 'foo/a.py': strToU8('x') }, /dist-info/],
    ['no METADATA', { [`${INFO}/WHEEL`]: strToU8('x') }, /METADATA/],
    [
      'another version',
      { [`${INFO}/METADATA`]: strToU8(METADATA.replace('1.0\nR', '2.0\nR')) },
      /version "2.0"/,
    ],
    ['not UTF-8', { [`${INFO}/METADATA`]: new Uint8Array([0xff, 0xfe]) }, /UTF-8/],
  ])('refused: %s', async (_title, files, message) => {
    const bytes = zipSync(files);
    await expect(readCoreMetadata(source(bytes), bytes.length, NAME)).rejects.toThrow(message);
  });

  test('refused: cut off', async () => {
    const bytes = zipSync(meta).subarray(0, -10);
    await expect(readCoreMetadata(source(bytes), bytes.length, NAME)).rejects.toThrow(/cut off/);
  });
});
