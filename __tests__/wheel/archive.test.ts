import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WheelStoreError } from '../../src/errors.ts';
import { inspectWheel, type WheelContents } from '../../src/wheel/archive.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';
import { runPython, toolsPython } from '../../testing/python.ts';
import { type RawEntry, writeZip } from './raw-zip.ts';

const W = 'foo-1.0-py3-none-any.whl';
const METADATA = 'Metadata-Version: 2.1\nName: foo\nVersion: 1.0\nRequires-Python: >=3.9\n';
const WHEEL = 'Wheel-Version: 1.0\nTag: py3-none-any\n';

let folder: string;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'archives-'));
});
afterAll(() => rm(folder, { recursive: true }));

function inspect(path: string): Promise<WheelContents> {
  return inspectWheel(path, parseWheelFilename(basename(path)));
}

async function refusal(path: string): Promise<string> {
  const error: unknown = await inspect(path).catch((reason: unknown) => reason);
  if (!(error instanceof WheelStoreError)) throw new Error('not refused', { cause: error });
  expect(error.title).toBe('Broken wheel');
  expect(error.message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  return error.reason;
}

function entry(name: string, text: string, more: Partial<RawEntry> = {}): RawEntry {
  return { name, data: Buffer.from(text), ...more };
}

function wheelEntries(metadata: Partial<RawEntry> = {}): RawEntry[] {
  return [
    entry('foo/__init__.py', 'x = 1\n'),
    entry('foo-1.0.dist-info/METADATA', METADATA, metadata),
    entry('foo-1.0.dist-info/WHEEL', WHEEL),
    entry('foo-1.0.dist-info/RECORD', 'foo/__init__.py,,\n'),
  ];
}

async function newPath(filename = W): Promise<string> {
  const path = join(folder, String(count++), filename);
  await mkdir(dirname(path));
  return path;
}

async function rawWheel(entries: readonly RawEntry[], options = {}): Promise<string> {
  const path = await newPath();
  await writeZip(path, entries, options);
  return path;
}

async function file(bytes: string | Buffer): Promise<string> {
  const path = await newPath();
  await writeFile(path, bytes);
  return path;
}

const CONTENTS = {
  project: 'foo',
  version: '1.0',
  requiresPython: '>=3.9',
  tags: ['py3-none-any'],
  warnings: [],
};

describe('a wheel is read', () => {
  test("with every compression method that Python's zipfile writes and Node reads, from a pipe, and with 70,000 entries", async () => {
    const paths = runPython<Record<string, string>>(join(import.meta.dirname, 'zip_wheels.py'), join(folder));
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['stored', 'deflate', 'bzip2', 'lzma', 'piped', 'many']),
    );
    for (const [kind, path] of Object.entries(paths)) {
      if (kind === 'bzip2' || kind === 'lzma') {
        await expect(inspect(path)).rejects.toMatchObject({
          title: 'Wheel unreadable',
          reason: expect.stringMatching(/"foo-1\.0\.dist-info\/METADATA" in (bzip2|LZMA), so the/),
          remedy: expect.stringContaining('deflate'),
        });
        continue;
      }
      const { warnings, inventory, ...contents } = await inspect(path);
      expect({ kind, inventory }).toEqual({ kind, inventory: zipfileInventory(path) });
      expect({ kind, ...contents }).toEqual({
        kind,
        project: 'foo',
        version: '1.0',
        requiresPython: undefined,
        tags: ['py3-none-any'],
      });
      expect(warnings).toHaveLength(kind === 'zstd' ? 1 : 0);
    }
  });

  test('with zstd, with a warning that older Pythons cannot read it', async () => {
    const data = zstdCompressSync(METADATA);
    const metadata = { data, method: 93, size: METADATA.length, crc: crc32(METADATA) };
    const { warnings, inventory, ...contents } = await inspect(await rawWheel(wheelEntries(metadata)));
    expect(inventory.files).toBe(4);
    expect(contents).toEqual({ ...CONTENTS, warnings: undefined });
    expect(warnings).toEqual([
      expect.stringContaining('compressed with zstd, which Python reads from 3.14 on'),
    ]);
  });

  test('of 5 GB, in about the memory and time that one of a kilobyte takes', async () => {
    const big = await rawWheel([entry('foo/big.bin', '', { hole: 5 * 1024 ** 3 }), ...wheelEntries()], {
      zip64: true,
    });
    const small = await rawWheel(wheelEntries());
    expect((await stat(big)).size).toBeGreaterThan(5e9);
    const { inventory, ...contents } = await inspect(big);
    expect(contents).toEqual(CONTENTS);
    expect(inventory.largest[0]).toEqual({
      name: 'foo/big.bin',
      compressedSize: 5 * 1024 ** 3,
      size: 5 * 1024 ** 3,
    });
    const names = 'import sys, zipfile; print(len(zipfile.ZipFile(sys.argv[1]).namelist()))';
    expect(spawnSync(toolsPython(), ['-c', names, big], { encoding: 'utf8' }).stdout.trim()).toBe('5');
    const [bigRun, smallRun] = [measure(big), measure(small)];
    process.stdout.write(
      `a sparse wheel of 5 GB: ${bigRun.milliseconds} ms and ${bigRun.megabytes} MB, one of a kilobyte: ${smallRun.milliseconds} ms and ${smallRun.megabytes} MB\n`,
    );
    expect(bigRun.megabytes - smallRun.megabytes).toBeLessThan(30);
    // It takes a fortieth of this. Checksums of all of it would take longer.
    expect(bigRun.milliseconds).toBeLessThan(1_500);
  });
});

/** The inventory of a wheel according to Python's zipfile. */
function zipfileInventory(path: string): unknown {
  return runPython(join(import.meta.dirname, 'inventory.py'), path);
}

/** Inspects a wheel in a separate process, and measures processor time, which doesn't depend on other processes. */
function measure(path: string): { milliseconds: number; megabytes: number } {
  const source = (name: string) =>
    pathToFileURL(join(import.meta.dirname, '..', '..', 'src', 'wheel', name)).href;
  const code = `
    import { inspectWheel } from '${source('archive.ts')}';
    import { parseWheelFilename } from '${source('filename.ts')}';
    const before = process.cpuUsage();
    await inspectWheel(process.argv[1], parseWheelFilename('${W}'));
    const { user, system } = process.cpuUsage(before);
    const milliseconds = Math.round((user + system) / 1000);
    console.log(JSON.stringify({ milliseconds, megabytes: Math.round(process.resourceUsage().maxRSS / 1024) }));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code, path], {
    encoding: 'utf8',
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

describe('a file that is not a wheel is refused with the reason', () => {
  test('an empty file, a web page, a Git LFS pointer, a picture, half a wheel', async () => {
    const whole = await readFile(await rawWheel(wheelEntries()));
    expect(await refusal(await file(''))).toBe(`"${W}" is an empty file.`);
    expect(await refusal(await file('\ufeff\n <!DOCTYPE html><html>Log in</html>'))).toContain(
      'is a web page',
    );
    expect(await refusal(await file('version https://git-lfs.github.com/spec/v1\noid x'))).toContain(
      'Git LFS',
    );
    expect(await refusal(await file('\x89PNG\r\n'))).toBe(`"${W}" is not a zip archive, as a wheel must be.`);
    expect(await refusal(await file(whole.subarray(0, whole.length / 2)))).toContain(
      'is cut off: it ends after',
    );
    expect(await refusal(await file(whole.subarray(0, -1)))).toContain('cut off');
    // Bytes lost in the middle, as by a transfer that resumed in the wrong place.
    expect(await refusal(await file(Buffer.concat([whole.subarray(0, 50), whole.subarray(90)])))).toContain(
      'is cut off in the middle',
    );
  });

  test('a directory that contradicts the entries', async () => {
    const [init, ...rest] = wheelEntries() as [RawEntry, ...RawEntry[]];
    const wrong = async (more: Partial<RawEntry>) => refusal(await rawWheel([{ ...init, ...more }, ...rest]));
    expect(await wrong({ local: { name: 'foo/__init__.pz' } })).toContain('another one in its place');
    expect(await wrong({ local: { crc: 1 } })).toContain('has two sizes or checksums');
    expect(await wrong({ local: { compressedSize: 5 } })).toContain('has two sizes or checksums');
    expect(await wrong({ offset: 7 })).toContain('is damaged at its entry "foo/__init__.py"');
    expect(await wrong({ offset: 0x7fffffff })).toContain('is damaged at its entry "foo/__init__.py"');
    expect(await wrong({ size: 7 })).toContain('with two sizes');
    expect(await wrong({ flags: 1 })).toContain('has an encrypted entry');
    expect(await wrong({ method: 99 })).toContain('cannot decompress (method 99');
    expect(await wrong({ name: 'foo/\u0000', local: { name: 'foo/\u0000' } })).toContain('leaves its folder');
  });

  test('two entries with the same data, as in a zip bomb', async () => {
    const [init, ...rest] = wheelEntries() as [RawEntry, ...RawEntry[]];
    const path = await rawWheel([init, { ...init, offset: 0 }, ...rest]);
    expect(await refusal(path)).toContain('is not where it should be');
  });

  test('METADATA that decompresses to more than its size, or to more than the limit', async () => {
    const bomb = Buffer.alloc(64 * 1024 * 1024, 'x');
    const data = deflateRawSync(bomb);
    const honest = { data, method: 8, size: bomb.length, crc: crc32(bomb) };
    expect(await refusal(await rawWheel(wheelEntries(honest)))).toContain(
      'of 67108864 bytes, more than 16777216',
    );
    expect(await refusal(await rawWheel(wheelEntries({ ...honest, size: 1000 })))).toContain(
      'has a damaged "foo-1.0.dist-info/METADATA"',
    );
  });

  test.each([
    ['deflate', 8],
    ['zstd', 93],
  ])('METADATA whose %s stream is invalid', async (_kind, method) => {
    const streams = [
      Buffer.alloc(0),
      Buffer.alloc(3),
      Buffer.alloc(400),
      Buffer.from('BZh91AY&SY'),
      Buffer.from('\x10\x02\x05\0]\0\0\x80\0\0junk'),
    ];
    for (const data of streams) {
      const path = await rawWheel(wheelEntries({ data, method, size: 1000, crc: 1 }));
      expect(await refusal(path)).toContain('has a damaged "foo-1.0.dist-info/METADATA"');
    }
  });

  test('hostile text from a wheel is printed on one line, escaped and cut', async () => {
    const [init, , ...rest] = wheelEntries() as [RawEntry, RawEntry, ...RawEntry[]];
    const metadata = (text: string) => entry('foo-1.0.dist-info/METADATA', text);
    const version = `1.0\u2028::error::x\u001b[31m${'y'.repeat(100_000)}`;
    const reason = await refusal(
      await rawWheel([init, metadata(`Name: foo\nVersion: ${version}\n`), ...rest]),
    );
    expect(reason).toContain('\\u2028::error::x\\u001b[31m');
    expect(reason.length).toBeLessThan(600);
    const named = entry('../a\r\n::error::b', 'x', { flags: 0x800 });
    expect(await refusal(await rawWheel([init, named, ...rest]))).toContain('"../a\\r\\n::error::b"');
  });
});

test('tags in WHEEL that would not fit into memory are not expanded, and are reported as different', async () => {
  const set = Array.from({ length: 2_000 }, (_, index) => `a${index}`).join('.');
  const [init, metadata, , record] = wheelEntries() as [RawEntry, RawEntry, RawEntry, RawEntry];
  const wheel = entry('foo-1.0.dist-info/WHEEL', `Wheel-Version: 1.0\nTag: ${set}-${set}-${set}\n`);
  const { warnings, tags } = await inspect(await rawWheel([init, metadata, wheel, record]));
  expect(tags).toHaveLength(1);
  expect(warnings).toEqual([
    expect.stringMatching(/has the tags "py3-none-any", and in its WHEEL file "a0\.a1\./),
  ]);
  expect(warnings[0]!.length).toBeLessThan(600);
});

test('a missing file is an error of the file system, not of the wheel', async () => {
  await expect(inspect(join(folder, W))).rejects.toThrow('ENOENT');
});
