/** Breaks real wheels in many ways, and compares the results of inspecting them with those of Python. */
import { constants, copyFile, mkdtemp, open, rename, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WheelStoreError } from '../../src/errors.ts';
import { inspectWheel } from '../../src/wheel/archive.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';
import { runPython } from '../../testing/python.ts';

const SEED = 20_240_131;
const CUTS = 16;
const FLIPS = 30;
const MINUTES = 60_000;
/** Each inspection takes less than a tenth of this, even on a slow disk. */
const MAX_MILLISECONDS = 10_000;

type Flip = readonly [offset: number, value: number];
/** The reason of the refusal, or the contents that were read. */
type Outcome = { readonly refused: string } | { readonly read: string };

let folder: string;
let copies: readonly string[];
let slowest = 0;

async function copyAll(paths: readonly string[]): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'broken-wheels-'));
  copies = paths.map((path) => join(folder, basename(path)));
  for (const [index, path] of paths.entries())
    await copyFile(path, copies[index]!, constants.COPYFILE_FICLONE);
}

/** Any exception other than a WheelStoreError fails the calling test. */
async function inspect(path: string): Promise<Outcome> {
  const start = performance.now();
  try {
    const { project, version, requiresPython, tags } = await inspectWheel(
      path,
      parseWheelFilename(basename(path)),
    );
    return { read: JSON.stringify({ project, version, requiresPython, tags }) };
  } catch (error) {
    if (!(error instanceof WheelStoreError)) throw error;
    expect(error.message).not.toMatch(/\n|undefined|NaN|\[object/);
    return { refused: error.reason };
  } finally {
    slowest = Math.max(slowest, performance.now() - start);
  }
}

function sample<Value>(arbitrary: fc.Arbitrary<Value>, count: number): Value[] {
  return fc.sample(arbitrary, { numRuns: count, seed: SEED });
}

function report(what: string, outcomes: readonly Outcome[]): void {
  const refused = outcomes.filter((outcome) => 'refused' in outcome).length;
  process.stdout.write(
    `broken wheels: ${outcomes.length} ${what} of ${copies.length} real wheels, ${refused} refused, ${outcomes.length - refused} read as before, slowest ${Math.round(slowest)} ms\n`,
  );
}

/**
 * The offset of the zip's directory, from the end record: the last 22 bytes, since none of these wheels has a comment.
 */
async function directoryStart(path: string): Promise<number> {
  const { size } = await stat(path);
  const file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(22), 0, 22, size - 22);
  await file.close();
  expect(buffer.readUInt32LE(0)).toBe(0x06054b50);
  return buffer.readUInt32LE(16);
}

/**
 * Registers the tests that break copies of real wheels.
 *
 * @param originals - returns their paths; called when the tests run
 */
export function describeBrokenWheels(originals: () => readonly string[]): void {
  describe('a real wheel', () => {
    beforeAll(() => copyAll(originals()), MINUTES);
    afterAll(() => rm(folder, { recursive: true }));

    test(
      'with one changed byte in its directory is refused if Python refuses it, and reads as before otherwise',
      async () => {
        const flips: Record<string, Flip[]> = {};
        const found: { path: string; flip: Flip; outcome: Outcome; intact: Outcome }[] = [];
        for (const path of copies) {
          const intact = await inspect(path);
          const [start, { size }] = [await directoryStart(path), await stat(path)];
          // Half of the flips are near the end, since few would hit the end record of a large directory otherwise.
          const nearEnd = fc.integer({ min: Math.max(start, size - 400), max: size - 1 });
          const position = fc.oneof(fc.integer({ min: start, max: size - 1 }), nearEnd);
          flips[path] = [];
          const file = await open(path, 'r+');
          for (const [offset, bit] of sample(fc.tuple(position, fc.integer({ min: 1, max: 255 })), FLIPS)) {
            const before = (await file.read(Buffer.alloc(1), 0, 1, offset)).buffer;
            const flip: Flip = [offset, before[0]! ^ bit];
            flips[path].push(flip);
            await file.write(Buffer.of(flip[1]), 0, 1, offset);
            found.push({ path, flip, intact, outcome: await inspect(path) });
            await file.write(before, 0, 1, offset);
          }
          await file.close();
        }
        const judged = runPython<Record<string, unknown[]>>(
          join(import.meta.dirname, 'judge_flips.py'),
          flips,
        );
        const verdicts = copies.flatMap((path) => judged[path]!);
        report(
          `flips (Python refuses ${verdicts.filter((verdict) => verdict === null).length})`,
          found.map(({ outcome }) => outcome),
        );
        const tooLax = found.filter(({ outcome }, index) => verdicts[index] === null && 'read' in outcome);
        const misread = found.filter(
          ({ outcome, intact }) => 'read' in outcome && outcome.read !== Object(intact).read,
        );
        expect(tooLax.slice(0, 5)).toEqual([]);
        expect(misread.slice(0, 5)).toEqual([]);
        expect(found.length).toBeGreaterThan(1_500);
      },
      10 * MINUTES,
    );

    test('under the filename of another version or project is refused with the reason', async () => {
      const outcomes: Outcome[] = [];
      for (const path of copies) {
        const [project, version, ...rest] = basename(path).split('-') as [string, string, ...string[]];
        const others = [
          [project, `1!${version}`, ...rest],
          [project, '9.9.dev0', ...rest],
          [`${project}_x`, version, ...rest],
        ];
        for (const other of others) {
          const renamed = join(folder, other.join('-'));
          await rename(path, renamed);
          outcomes.push(await inspect(renamed));
          await rename(renamed, path);
          expect(outcomes.at(-1)).toEqual({
            refused: expect.stringMatching(/has the version|another project's than/),
          });
        }
      }
      report('renamed copies', outcomes);
    });

    test('cut off at any position is refused with the reason', async () => {
      const outcomes: Outcome[] = [];
      for (const path of copies) {
        const { size } = await stat(path);
        const positions = sample(
          fc.oneof(fc.nat({ max: size - 1 }), fc.integer({ min: size - 100, max: size - 1 })),
          CUTS,
        );
        // From the end to the beginning, so that one copy is enough.
        for (const position of [...positions, 0].sort((a, b) => b - a)) {
          await truncate(path, position);
          outcomes.push(await inspect(path));
          expect(outcomes.at(-1)).toEqual({
            refused: expect.stringMatching(
              position === 0 ? /is an empty file/ : /cut off|is not a zip archive|no \*\.dist-info folder/,
            ),
          });
        }
      }
      report('cuts', outcomes);
      expect(slowest).toBeLessThan(MAX_MILLISECONDS);
    });
  });
}
