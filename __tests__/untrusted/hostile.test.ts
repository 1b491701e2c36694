import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { commitBefore, endedRunOf, isForkPullRequest, pullRequestOf } from '../../src/runner/event.ts';
import { renderIndexPage } from '../../src/slots/index-page.ts';
import { commitFolder, isTarget, readWheelKey, wheelKey } from '../../src/slots/layout.ts';
import { EVERYTHING, rank } from '../../src/slots/listing.ts';
import { pageEntry } from '../../testing/page-entry.ts';
import { ROUNDS } from '../../testing/random.ts';

const SEED = 20260101;
const place = { prefix: 'builds', commit: 'a'.repeat(40) };
const folder = commitFolder(place);

const segment = fc.oneof(
  fc.constantFrom(
    '..',
    '.',
    '',
    '7_1',
    '07_1',
    '7_',
    '%2e%2e',
    'foo-1.0-py3-none-any.whl',
    '::error::x',
    '<b>',
    'a\nb',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.bigInt({ min: 0n, max: 10n ** 25n }).map((run) => `${run}_1`),
);
const key = fc.array(segment, { maxLength: 5 }).map((segments) => `${folder}${segments.join('/')}`);

describe('keys of unknown origin', () => {
  test('are parsed without an exception, and back to the same key', () => {
    let read = 0;
    fc.assert(
      fc.property(key, (text) => {
        const wheel = readWheelKey(place, text);
        if (wheel === undefined) return;
        read += 1;
        expect(wheel.target === '' || isTarget(wheel.target)).toBe(true);
        expect(wheel.name.filename).not.toMatch(/[/\\\n]|^\.\.?$/);
        const { run, attempt, target } = wheel;
        const rebuilt =
          run === undefined || attempt === undefined
            ? `${folder}${wheel.name.filename}`
            : wheelKey({ ...place, run, attempt, target }, wheel.name.filename);
        expect(rebuilt).toBe(text);
      }),
      { seed: SEED, numRuns: 30_000 },
    );
    expect(read).toBeGreaterThan(100);
    process.stdout.write(`hostile keys: 30000, ${read} of them wheels\n`);
  });

  test('are ranked without an exception: at most one wheel per slot, newest first', () => {
    const object = fc.record({
      key,
      size: fc.nat(3),
      etag: fc.string(),
      lastModified: fc.option(fc.date({ noInvalidDate: false }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(object, { maxLength: 30 }), (objects) => {
        const { byTarget } = rank(objects, place, EVERYTHING);
        for (const groups of byTarget.values()) {
          const runs = groups.map(([wheel]) => wheel!.run);
          for (const wheels of groups) if (wheels[0]!.run !== undefined) expect(wheels).toHaveLength(1);
          const numbers = runs.filter((run) => run !== undefined).map(BigInt);
          expect(numbers).toEqual(numbers.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0)));
        }
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });
});

test('an index page escapes any metadata', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }),
      // Such as a branch that has a link. Whether a ref has one must not depend on the other text.
      fc.constantFrom('refs/heads/a"><script>', "refs/tags/v'<&", 'refs/heads/é\u202e"', 'refs/heads/main'),
      (requiresPython, text, ref) => {
        const wheel = pageEntry({ requiresPython, lastModified: new Date(0), ref });
        const html = renderIndexPage({
          place,
          wheels: [wheel],
          url: 'https://example.com/',
          project: undefined,
          repositoryUrl: text,
          commitLabel: `x${text}`,
        });
        const harmless = renderIndexPage({
          place,
          wheels: [{ ...wheel, requiresPython: 'x', ref: 'refs/heads/main' }],
          url: 'https://example.com/',
          project: undefined,
          repositoryUrl: 'y',
          commitLabel: 'x',
        });
        const marks = (text: string) => text.replace(/[^<>"]/g, '');
        expect(marks(html)).toBe(marks(harmless));
      },
    ),
    { seed: SEED, numRuns: 2_000 },
  );
});

describe('events with arbitrary content', () => {
  const count = 200 * ROUNDS;
  // Arbitrary JSON is slow to generate, and rarely valid.
  const value = fc.oneof(
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
    { weight: 3, arbitrary: fc.constantFrom(1, 2 ** 53, -1, 'a'.repeat(40)) },
  );
  const objectWith = (...names: string[]) =>
    fc.oneof(
      value,
      fc.dictionary(
        fc.constantFrom(...names),
        fc.oneof(
          value,
          fc.array(value),
          fc.dictionary(fc.constantFrom('sha', 'full_name', 'number', 'repo'), value),
        ),
      ),
    );
  const event = fc.dictionary(
    fc.constantFrom('pull_request', 'merge_group', 'issue', 'workflow_run', 'before', 'after'),
    objectWith(
      'number',
      'base',
      'head',
      'base_sha',
      'head_sha',
      'pull_request',
      'id',
      'run_attempt',
      'pull_requests',
    ),
  );

  test('are parsed without an exception, and only into valid values', () => {
    let numbers = 0;
    fc.assert(
      fc.property(event, (payload) => {
        const number = pullRequestOf(payload);
        if (number !== undefined) {
          numbers += 1;
          expect(Number.isSafeInteger(number) && number > 0).toBe(true);
        }
        const origin = endedRunOf(payload);
        if (origin !== undefined) expect(`${origin.run}_${origin.attempt}`).toMatch(/^[1-9]\d*_[1-9]\d*$/);
        const before = commitBefore(payload, 'a'.repeat(40), 'b'.repeat(40));
        if (before !== undefined) expect(before.commit).toMatch(/^[0-9a-f]{40}$/);
        expect(typeof isForkPullRequest('pull_request', payload, 'octo/demo')).toBe('boolean');
      }),
      { seed: SEED, numRuns: count },
    );
    expect(numbers).toBeGreaterThan(10);
    process.stdout.write(`hostile events: ${count}, ${numbers} of them with a pull request\n`);
  });
});
