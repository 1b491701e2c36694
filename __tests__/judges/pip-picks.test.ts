import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseWheelFilename } from '../../src/wheel/filename.ts';
import { type Interpreter, queryInterpreter } from '../../src/wheel/interpreter.ts';
import { allowsPython, rankWheels } from '../../src/wheel/pick.ts';
import { runPython, toolsPython } from '../../testing/python.ts';
import { makeWheel } from '../../testing/wheels.ts';
import { PROJECT, TARGETS, wheelSets } from './arbitrary-sets.ts';

interface Picks {
  readonly pip: string;
  readonly others: readonly {
    readonly tags: readonly string[];
    readonly picks: readonly {
      readonly installable: readonly string[];
      /** Best first, equally good ones grouped. */
      readonly order: readonly (readonly string[])[];
    }[];
  }[];
  readonly downloads: readonly (string | null)[];
}

const SEED = 20_240_131;
/** Requires-Python values that exclude this Python, by version, so that another version must be picked. */
const TOO_NEW: Readonly<Record<string, string>> = {
  '1!0.1': '>=4',
  '1.10': '<3',
  '1.0.post1': '>=3.9,!=3.*',
};

function runPip(question: { sets?: unknown; pythons?: unknown; folders?: unknown }): Picks {
  return runPython<Picks>(join(import.meta.dirname, 'pip_picks.py'), {
    project: PROJECT,
    sets: [],
    pythons: [],
    folders: [],
    ...question,
  });
}

function rank(filenames: readonly string[], interpreter: Interpreter): string[] {
  const candidates = filenames.map((filename) => ({ name: parseWheelFilename(filename) }));
  return rankWheels(candidates, interpreter).map(({ name }) => name.filename);
}

/** Splits a ranking into groups of the same sizes as `groups`, each sorted. */
function groupedAs(groups: readonly (readonly string[])[], ranked: readonly string[]): string[][] {
  let start = 0;
  return groups.map(({ length }) => {
    start += length;
    return ranked.slice(start - length, start).toSorted();
  });
}

test("for-python picks the same wheel as pip's finder, for every kind of interpreter and platform", () => {
  const sets = fc.sample(wheelSets, { numRuns: 100, seed: SEED });
  const { pip, others } = runPip({ sets, pythons: TARGETS });
  const wrong = others.flatMap(({ tags, picks }, target) =>
    picks.flatMap((pick, index) => {
      const version = TARGETS[target]!.version.join('.');
      const ranked = rank(sets[index]!, { executable: '', version, tags });
      const isRight =
        ranked.toSorted().join() === pick.installable.join() &&
        groupedAs(pick.order, ranked).join() === pick.order.join();
      return isRight ? [] : [{ target: TARGETS[target], set: sets[index], ranked, pick }];
    }),
  );
  const picked = others.flatMap(({ picks }) => picks).filter((pick) => pick.order.length > 0).length;
  process.stdout.write(
    `for-python: ${sets.length} sets for ${TARGETS.length} interpreters, ${picked} picks, by the finder of pip ${pip}\n`,
  );
  expect(wrong.slice(0, 3)).toEqual([]);
  expect(picked).toBeGreaterThan(500);
});

describe('for this interpreter', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'picks-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('for-python picks the same wheel as pip download from a folder, and respects Requires-Python', async () => {
    const interpreter = await queryInterpreter(toolsPython());
    // Many generated sets are for other platforms, or contain equally good wheels, of which pip may pick any.
    const all = fc.sample(wheelSets, { numRuns: 1_500, seed: SEED + 1 });
    const { picks } = runPip({ sets: all, pythons: [null] }).others[0]!;
    const isUnambiguous = (order: readonly (readonly string[])[]) =>
      order.length > 1 && order.every((equals) => equals.length === 1);
    const sets = all.filter((_, index) => isUnambiguous(picks[index]!.order)).slice(0, 80);
    const folders = sets.map((_, index) => join(folder, String(index)));
    for (const [index, set] of sets.entries()) {
      for (const filename of set) {
        const requires = TOO_NEW[filename.split('-')[1]!];
        const metadata = requires === undefined ? [] : [`Requires-Python: ${requires}`];
        await makeWheel(folders[index]!, filename, { metadata });
      }
    }
    const { pip, downloads } = runPip({ folders });
    const picked = sets.map((set) =>
      rank(set, interpreter).find((name) => allowsPython(TOO_NEW[name.split('-')[1]!], interpreter)),
    );
    process.stdout.write(
      `for-python: ${sets.length} sets by pip ${pip} download for Python ${interpreter.version}, ${new Set(picked).size} different wheels picked\n`,
    );
    expect(picked).toEqual(downloads.map((name) => name ?? undefined));
    expect(sets.length).toBeGreaterThanOrEqual(60);
  });
});
