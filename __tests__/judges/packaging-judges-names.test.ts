import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readWheelFilename } from '../../src/wheel/filename.ts';
import { runPython } from '../../testing/python.ts';
import { filenames } from './arbitrary-names.ts';
import { PACKAGING_NAMES } from './packaging-names.ts';

interface Verdict {
  readonly project: string;
  readonly version: string;
  readonly local: string | null;
  readonly build: readonly [string, string] | null;
  readonly tags: readonly string[];
}
interface Judgement {
  readonly packaging: string;
  readonly verdicts: readonly (Verdict | null)[];
}

const SEED = 20_240_131;
const EACH = 10_000;

function judge(names: readonly string[]): Judgement {
  return runPython<Judgement>(join(import.meta.dirname, 'judge_filenames.py'), names);
}

function parse(filename: string): Verdict | null {
  const name = readWheelFilename(filename);
  if (name === undefined) return null;
  const { project, version, build, tags } = name;
  return {
    project,
    version: version.text,
    local: version.local?.join('.') ?? null,
    build: build === undefined ? null : [String(build[0]), build[1]],
    tags: tags.toSorted(),
  };
}

/** Why the action deliberately refuses a name that packaging accepts. */
function deliberateRefusal(filename: string): string | undefined {
  if (/[^A-Za-z0-9_.+!-]/.test(filename)) return 'a character other than letters, digits and _ . + ! -';
  if (filename.length > 1_024) return 'more than 1,024 bytes';
  const tags = filename.slice(0, -'.whl'.length).split('-').slice(-3).join('.');
  return /[^A-Za-z0-9_.]/.test(tags) ? 'a tag with another character' : undefined;
}

interface Difference {
  readonly name: string;
  readonly parsed: Verdict | null;
  readonly packaging: Verdict | null;
}

function compare(names: readonly string[]) {
  const { packaging, verdicts } = judge(names);
  const refusals = new Map<string, number>();
  const differences: Difference[] = [];
  for (const [index, name] of names.entries()) {
    const [parsed, expected] = [parse(name), verdicts[index]!];
    const reason = expected !== null && parsed === null ? deliberateRefusal(name) : undefined;
    if (reason !== undefined) refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
    else if (JSON.stringify(parsed) !== JSON.stringify(expected)) {
      differences.push({ name, parsed, packaging: expected });
    }
  }
  const accepted = verdicts.filter((verdict) => verdict !== null).length;
  return { packaging, accepted, differences, refusals };
}

describe('the verdict, project, version, build and tags are those of packaging', () => {
  test("for the names of packaging's own tests", () => {
    const { packaging, accepted, differences } = compare(PACKAGING_NAMES);
    process.stdout.write(
      `filenames: ${PACKAGING_NAMES.length} of packaging's tests, ${accepted} valid (packaging ${packaging})\n`,
    );
    expect(differences).toEqual([]);
  });

  test('for generated and mutated names', () => {
    const names = Object.values(filenames).flatMap((arbitrary) =>
      fc.sample(arbitrary, { numRuns: EACH, seed: SEED }),
    );
    const { packaging, accepted, differences, refusals } = compare(names);
    const kinds = [...refusals].map(([kind, count]) => `${count} with ${kind}`).join(', ');
    process.stdout.write(
      `filenames: ${names.length} generated, ${new Set(names).size} distinct, ${accepted} valid for packaging ${packaging}; of these deliberately refused: ${kinds}\n`,
    );
    expect(differences.slice(0, 20)).toEqual([]);
    expect(new Set(names).size).toBeGreaterThan(20_000);
    expect(accepted).toBeGreaterThan(5_000);
  });

  test('case 50: of all characters, a project may contain only ASCII letters, digits, _ and .', () => {
    const codes = Array.from({ length: 0x110000 }, (_, code) => code).filter((code) => code !== 0x2d);
    const accepted = codes
      .map((code) => String.fromCodePoint(code))
      .filter((character) => readWheelFilename(`x${character}-1-py3-none-any.whl`) !== undefined);
    expect(accepted.join('')).toBe('.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz');
  });
});
