import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WheelStoreError } from '../../src/errors.ts';
import { checkData } from '../../src/wheel/entry-data.ts';
import { readArchive } from '../../src/wheel/zip.ts';
import { sha256 } from '../../testing/wheels.ts';
import { type RawEntry, writeZip } from './raw-zip.ts';

const KIB = 1024;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'entry-data-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Compressible text without repetition. */
function text(bytes: number, seed = 1): Buffer {
  let value = seed;
  return Buffer.from(
    Array.from({ length: bytes }, () => {
      value = (value * 1_103_515_245 + 12_345) % 2 ** 31;
      return 97 + (value >> 28);
    }),
  );
}

function deflated(name: string, content: Buffer, more: Partial<RawEntry> = {}): RawEntry {
  return {
    name,
    data: deflateRawSync(content),
    method: 8,
    size: content.length,
    crc: crc32(content),
    ...more,
  };
}

function stored(name: string, content: Buffer): RawEntry {
  return { name, data: content };
}

/**
 * Checks an archive, passing its bytes on in chunks.
 *
 * @param damage - the offset of a byte to change
 * @returns the digests by name, in hex
 */
async function check(
  entries: readonly RawEntry[],
  chunkBytes: number,
  damage?: number,
): Promise<Record<string, string>> {
  const path = join(folder, 'x.zip');
  await writeZip(path, entries);
  const bytes = await readFile(path);
  if (damage !== undefined) bytes[damage]! ^= 0x55;
  await writeFile(path, bytes);
  const file = await open(path);
  try {
    const archive = await readArchive(file, 'x.whl');
    const data = checkData(archive.entries, archive.around.before, 'x.whl', () => true);
    for (let at = 0; at < bytes.length; at += chunkBytes)
      await data.write(Buffer.from(bytes.subarray(at, at + chunkBytes)));
    const digests = [...data.digests].map(([{ name }, digest]) => [
      name,
      Buffer.from(digest, 'base64url').toString('hex'),
    ]);
    return Object.fromEntries(digests);
  } finally {
    await file.close();
  }
}

const contents: Readonly<Record<string, Buffer>> = {
  empty: Buffer.alloc(0),
  tiny: text(10),
  small: text(60 * KIB, 2),
  large: text(700 * KIB, 3),
  zeros: Buffer.alloc(3 * KIB * KIB),
  last: text(100, 4),
};
const entries: readonly RawEntry[] = Object.entries(contents).flatMap(([name, content]) => [
  deflated(`${name}.deflated`, content),
  stored(`${name}.stored`, content),
  { ...deflated(`${name}.zstd`, content), data: zstdCompressSync(content), method: 93 },
]);
const DIGESTS = Object.fromEntries(
  entries.map(({ name }) => [name, sha256(contents[name.slice(0, name.indexOf('.'))]!)]),
);

describe('case 48: the data of each entry is checked in a single pass', () => {
  test.each([1_000, 4_096, 65_537, 1_048_576, 2 ** 30])('in chunks of %d bytes', async (chunkBytes) => {
    expect(await check(entries, chunkBytes)).toEqual(DIGESTS);
  });

  test('a change of any byte is refused', async () => {
    const wheel = [
      deflated('a', contents.large!),
      stored('b', contents.small!),
      deflated('c', contents.tiny!),
    ];
    const headers = wheel.map(({ name }) => 30 + name.length);
    const starts = wheel.map((_, index) =>
      wheel
        .slice(0, index)
        .reduce((sum, { data }, before) => sum + headers[before]! + data.length, headers[index]!),
    );
    const samples = fc.sample(fc.tuple(fc.nat(2), fc.nat()), { numRuns: 60, seed: 20_260_101 });
    for (const [index, offset] of samples) {
      const position = starts[index]! + (offset % wheel[index]!.data.length);
      const error: unknown = await check(wheel, 64 * KIB, position).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(WheelStoreError);
      expect((error as WheelStoreError).reason).toMatch(/^"x\.whl" has a damaged "[abc]" \(/);
    }
  });

  test.each([
    ['more than its size', deflated('a', contents.zeros!, { size: 100_000 }), 'more than 100000 bytes'],
    [
      'less than its size',
      deflated('a', contents.large!, { size: 800_000 }),
      '716800 bytes instead of 800000',
    ],
    ['another checksum', deflated('a', contents.large!, { crc: 1 }), 'its checksum differs'],
    [
      'a stream that ends early',
      deflated('a', contents.large!, { data: deflateRawSync(contents.large!).subarray(0, -9) }),
      'unexpected end of file',
    ],
    ['an invalid stream', deflated('a', contents.large!, { data: Buffer.alloc(200_000, 0xff) }), 'invalid'],
    ['nothing', deflated('a', contents.large!, { data: Buffer.alloc(0) }), 'unexpected end of file'],
    [
      'more than its size, and small',
      deflated('a', contents.tiny!, { size: 5 }),
      'Cannot create a Buffer larger than',
    ],
  ])('that unpacks to %s', async (_kind, entry, reason) => {
    await expect(check([entry, stored('b', contents.small!)], 64 * KIB)).rejects.toThrow(reason);
  });

  test.each([
    ['bzip2', 12],
    ['LZMA', 14],
  ])('an entry compressed with %s is not checked, and has no digest', async (_kind, method) => {
    const rare: RawEntry = { name: 'a', data: text(100), method, size: 5 * KIB * KIB };
    expect(await check([rare, stored('b', contents.tiny!)], 64 * KIB)).toEqual({ b: sha256(contents.tiny!) });
  });

  test('bytes after the end of a stream are ignored, as in Python', async () => {
    const data = Buffer.concat([deflateRawSync(contents.large!), Buffer.alloc(300 * KIB, 1)]);
    expect(
      await check([deflated('a', contents.large!, { data }), stored('b', contents.tiny!)], 64 * KIB),
    ).toEqual({
      a: sha256(contents.large!),
      b: sha256(contents.tiny!),
    });
  });
});
