import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pauseFor, refusalIn } from '../../src/comment/github.ts';
import { type ListedComment, OwnWrites } from '../../src/comment/own-writes.ts';
import {
  type CommentContent,
  commentKey,
  type Decision,
  type Draft,
  decideComment,
  type MarkedComment,
  type Marker,
  readMarker,
  renderComment,
  renderMarker,
} from '../../src/comment/text.ts';
import { endedRunOf, pullRequestOf } from '../../src/runner/event.ts';
import { printable } from '../../src/runner/log.ts';
import { shellSafe } from '../../src/runner/shell.ts';
import { runPython } from '../../testing/python.ts';
import { ROUNDS, seeded } from '../../testing/random.ts';
import { ROOT } from '../../testing/runner.ts';

const SEED = 20260101;
const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const KEY = '0123456789abcdef';
const MAX_CHARACTERS = 65_536;

const marker = (changes: Partial<Marker> = {}): Marker => ({
  key: KEY,
  run: '7',
  attempt: '1',
  commit: A,
  by: 'ffff',
  ...changes,
});
const content = (...targets: readonly string[]): CommentContent => ({
  entries: targets.map((target) => ({
    target,
    filename: 'foo-1.0-py3-none-any.whl',
    url: `https://wheels.example.com/${target}/foo-1.0-py3-none-any.whl`,
    size: 1000,
  })),
  indexUrl: undefined,
});

describe('the hidden first line', () => {
  test.each([marker(), marker({ commit: 'c'.repeat(64), run: '9'.repeat(30) })])(
    '%p is read back',
    (written) => {
      const body = `${renderMarker(written)}\nText`;
      expect(readMarker(body)).toEqual(written);
      expect(readMarker(body.replaceAll('\n', '\r\n'))).toEqual(written);
      expect(body.match(/-->/g)).toHaveLength(1);
    },
  );

  test.each<[title: string, body: (line: string) => string]>([
    ['quoted', (line) => `> ${line}`],
    ['in the middle', (line) => `Look:\n${line}`],
    ['after a space', (line) => ` ${line}`],
    ['followed by text', (line) => `${line} text`],
    ['with a run that is not a number', (line) => line.replace('run=7', 'run=x')],
    ['with a key of another length', (line) => line.replace(KEY, `${KEY}0`)],
    ['truncated', (line) => line.slice(0, -4)],
    ['missing', () => 'Text'],
    ['an empty comment', () => ''],
  ])('%s: not read', (_title, body) => {
    expect(readMarker(body(renderMarker(marker())))).toBeUndefined();
  });

  test('contains only a hash of the key, which differs for each part', () => {
    const parts = {
      endpoint: '',
      bucket: 'wheels',
      prefix: 'builds',
      workflow: 'o/r/.github/workflows/a.yml',
    };
    const keys = [
      commentKey(parts),
      commentKey({ ...parts, endpoint: 'https://s3.example.com' }),
      commentKey({ ...parts, bucket: 'other' }),
      commentKey({ ...parts, prefix: 'pull-requests' }),
      commentKey({ ...parts, workflow: 'o/r/.github/workflows/b.yml' }),
      commentKey({ ...parts, prefix: 'builds-->', workflow: '' }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) expect(readMarker(renderMarker(marker({ key })))?.key).toBe(key);
  });
});

describe('what to do', () => {
  const draft = (
    changes: Partial<Draft> & { run?: string; attempt?: string; commit?: string } = {},
  ): Draft => ({
    key: KEY,
    stamp: { run: changes.run ?? '7', attempt: changes.attempt ?? '1', commit: changes.commit ?? A },
    by: changes.by ?? 'mine',
    content: changes.content ?? content('one'),
  });
  const found = (id: number, changes: Partial<Marker> = {}, shown = content('one')): MarkedComment => {
    const written = marker(changes);
    return { id, marker: written, body: renderComment(written, shown) };
  };
  type Expected = { kind: Decision['kind']; id?: number; replaces?: boolean; text?: string };
  test.each<[title: string, comments: readonly MarkedComment[], draft: Draft, expected: Expected]>([
    ['no comment', [], draft(), { kind: 'create', text: 'by=mine' }],
    ['a complete comment', [found(1)], draft(), { kind: 'done', id: 1 }],
    [
      'a comment with a missing line',
      [found(1)],
      draft({ content: content('one', 'two') }),
      { kind: 'update', id: 1, replaces: false, text: '/two/' },
    ],
    [
      'a comment with an extra line',
      [found(1, {}, content('one', 'two'))],
      draft(),
      { kind: 'update', id: 1, replaces: false },
    ],
    [
      'an update does not change the creator',
      [found(1)],
      draft({ content: content('two') }),
      { kind: 'update', id: 1, text: 'by=ffff' },
    ],
    [
      'an older run’s of another commit',
      [found(1, { run: '6', commit: B })],
      draft(),
      { kind: 'update', id: 1, replaces: true, text: `run=7 attempt=1 commit=${A}` },
    ],
    [
      'an older run’s of this commit',
      [found(1, { run: '6' })],
      draft(),
      { kind: 'update', id: 1, replaces: false, text: 'run=7' },
    ],
    [
      'an older attempt’s of another commit',
      [found(1, { commit: B })],
      draft({ attempt: '2' }),
      { kind: 'update', id: 1, replaces: true },
    ],
    [
      'a newer run’s of another commit',
      [found(1, { run: '10', commit: B })],
      draft({ run: '9' }),
      { kind: 'leave' },
    ],
    [
      'a newer attempt’s of another commit',
      [found(1, { attempt: '10', commit: B })],
      draft({ attempt: '9' }),
      { kind: 'leave' },
    ],
    ['a newer run’s of this commit, complete', [found(1, { run: '10' })], draft(), { kind: 'done', id: 1 }],
    [
      'a newer run’s of this commit, with a missing line',
      [found(1, { run: '10' })],
      draft({ content: content('two') }),
      { kind: 'update', id: 1, text: 'run=10' },
    ],
    ['this run’s of another commit', [found(1, { commit: B })], draft(), { kind: 'leave' }],
    [
      'two, the later one of this step',
      [found(2, { by: 'mine' }), found(1)],
      draft(),
      { kind: 'remove', id: 2 },
    ],
    [
      'two, the earlier one of this step',
      [found(1, { by: 'mine' }), found(2)],
      draft(),
      { kind: 'done', id: 1 },
    ],
    ['two of this run, neither of this step', [found(1), found(2)], draft(), { kind: 'done', id: 1 }],
    [
      'a later one of an earlier run',
      [found(1, { run: '5' }), found(2, { run: '6' })],
      draft(),
      { kind: 'remove', id: 2 },
    ],
    ['a later one of a newer run', [found(1), found(2, { run: '8', commit: B })], draft(), { kind: 'leave' }],
    [
      'one of this step after a newer run’s',
      [found(1, { run: '8', commit: B }), found(2, { by: 'mine' })],
      draft(),
      { kind: 'remove', id: 2 },
    ],
  ])('%s', (_title, comments, wanted, { text, ...expected }) => {
    const decision = decideComment(comments, wanted);
    expect(decision).toMatchObject(expected);
    if (text !== undefined) expect((decision as { body: string }).body).toContain(text);
  });

  test('the line breaks of GitHub’s editor do not count as a change', () => {
    const { id, body, marker: written } = found(1);
    const edited = { id, marker: written, body: body.trimEnd().replaceAll('\n', '\r\n') };
    expect(decideComment([edited], draft())).toEqual({ kind: 'done', id: 1 });
  });
});

describe('case 73: a list that lags behind, corrected by a step’s own writes', () => {
  const OLD = '2026-01-01T00:00:01Z';
  const NOW = '2026-01-01T00:00:02Z';
  const listed = (id: number, body: string, updatedAt = OLD): ListedComment => ({
    id,
    body,
    marker: readMarker(body)!,
    updatedAt,
  });
  const [before, ours, other] = ['one', 'two', 'three'].map((target) =>
    renderComment(marker({ by: target.length.toString(16) }), content(target)),
  ) as [string, string, string];
  type Case = [title: string, list: ListedComment[], shows: [number, string][], isSettled: boolean];
  test.each<Case>([
    ['shows the write', [listed(1, ours, NOW)], [[1, ours]], true],
    [
      'shows the write with other line breaks',
      [listed(1, `${ours.trimEnd()}\r\n`, NOW)],
      [[1, `${ours.trimEnd()}\r\n`]],
      true,
    ],
    ['is empty', [], [[1, ours]], false],
    ['shows the previous text', [listed(1, before)], [[1, ours]], false],
    ['shows the previous text, written again by another job', [listed(1, before, NOW)], [[1, ours]], false],
    ['shows an older text of another job', [listed(1, other)], [[1, ours]], false],
    ['shows a newer text of another job', [listed(1, other, '2026-01-01T00:00:03Z')], [[1, other]], true],
    ['shows another job’s text of the same second', [listed(1, other, NOW)], [[1, other]], false],
    [
      'shows the write and another comment',
      [listed(1, ours, NOW), listed(2, other)],
      [
        [1, ours],
        [2, other],
      ],
      true,
    ],
    [
      'shows only another comment',
      [listed(2, other)],
      [
        [2, other],
        [1, ours],
      ],
      false,
    ],
  ])('a list that %s', (_title, list, shows, isSettled) => {
    const own = new OwnWrites();
    own.apply([listed(1, before)]);
    own.recordWrite(1, ours, NOW);
    const view = own.apply(list);
    expect(view.comments.map(({ id, body }) => [id, body])).toEqual(shows);
    expect(view.isSettled).toBe(isSettled);
  });

  test('a deleted comment is ignored, even if it is still listed', () => {
    const own = new OwnWrites();
    own.recordWrite(1, ours, NOW);
    own.recordRemoval(1);
    for (let look = 0; look < 3; look += 1)
      expect(own.apply([listed(1, ours, NOW)])).toEqual({ comments: [], isSettled: true });
  });

  test('without writes, the list is not changed', () => {
    const list = [listed(1, before), listed(2, other)];
    expect(new OwnWrites().apply(list)).toEqual({ comments: list, isSettled: true });
  });
});

describe('any order of the requests of many jobs', () => {
  /** The state of GitHub and the store. */
  interface World {
    readonly stored: Set<string>;
    readonly comments: Map<number, string>;
    nextId: number;
  }

  /** One job, which yields between any two requests. Their order is that of src/comment/post.ts. */
  function* job(world: World, target: string, run: string): Generator<undefined, void> {
    world.stored.add(target);
    for (;;) {
      yield;
      const found = [...world.comments].map(([id, body]) => ({ id, body, marker: readMarker(body)! }));
      yield;
      const draft = { key: KEY, stamp: { run, attempt: '1', commit: A }, by: hex(`${target}${run}`) };
      const decision = decideComment(found, { ...draft, content: content(...world.stored) });
      yield;
      if (decision.kind === 'done' || decision.kind === 'leave') return;
      if (decision.kind === 'create') {
        world.comments.set(world.nextId, decision.body);
        world.nextId += 1;
      } else if (decision.kind === 'remove') world.comments.delete(decision.id);
      else if (world.comments.has(decision.id)) world.comments.set(decision.id, decision.body);
    }
  }
  const hex = (text: string) => Buffer.from(text).toString('hex');

  /** A world whose lists show its state some requests ago. */
  interface LaggingWorld extends World {
    readonly lag: number;
    now: number;
    readonly past: ListedComment[][];
    readonly updatedAt: Map<number, string>;
  }

  /** Like `job`, but with a list that lags behind. Each pause is longer than a fifth of the lag. */
  function* laggingJob(world: LaggingWorld, target: string): Generator<undefined, void> {
    world.stored.add(target);
    const own = new OwnWrites();
    const by = hex(target);
    let waits = 0;
    for (;;) {
      yield;
      const view = own.apply(world.past[Math.max(0, world.now - world.lag)] ?? []);
      yield;
      const stamp = { run: '7', attempt: '1', commit: A };
      const decision = decideComment(view.comments, {
        key: KEY,
        stamp,
        by,
        content: content(...world.stored),
      });
      yield;
      if (decision.kind === 'done' && !view.isSettled && waits < 5) {
        waits += 1;
        for (const end = world.now + world.lag / 4; world.now < end; ) yield;
        continue;
      }
      if (decision.kind === 'done' || decision.kind === 'leave') return;
      waits = 0;
      const id = decision.kind === 'create' ? world.nextId : decision.id;
      if (decision.kind === 'create') world.nextId += 1;
      else if (!world.comments.has(id)) {
        own.recordRemoval(id);
        continue;
      }
      if (decision.kind === 'remove') {
        world.comments.delete(id);
        own.recordRemoval(id);
        continue;
      }
      world.comments.set(id, decision.body);
      // Ten requests per second, because GitHub's times are in seconds.
      world.updatedAt.set(id, String(Math.floor(world.now / 10)).padStart(9, '0'));
      own.recordWrite(id, decision.body, world.updatedAt.get(id)!);
    }
  }

  /** Runs jobs to their end in random order. With `lifetime`, each may be killed before any of its requests. */
  function play(jobs: Generator[], random: () => number, lifetime = Number.POSITIVE_INFINITY): void {
    while (jobs.length > 0) {
      const index = Math.floor(random() * jobs.length);
      if (jobs[index]!.next().done || random() * lifetime < 1) jobs.splice(index, 1);
    }
  }
  const targets = Array.from({ length: 6 }, (_, index) => `t${index}`);
  const start = (): World => ({ stored: new Set(), comments: new Map(), nextId: 1 });
  const linesOf = (world: World) =>
    [...world.comments.values()].map((body) => targets.filter((target) => body.includes(`/${target}/`)));

  test('the first comment has all lines, and is the only one', () => {
    const random = seeded(SEED);
    for (let round = 0; round < 200 * ROUNDS; round += 1) {
      const world = start();
      play(
        targets.map((target) => job(world, target, '7')),
        random,
      );
      expect([...world.comments.keys()]).toEqual([1]);
      expect(linesOf(world)).toEqual([targets]);
    }
  });

  test('case 73: the same with lists that lag behind', () => {
    const random = seeded(SEED + 2);
    for (let round = 0; round < 100 * ROUNDS; round += 1) {
      const lag = Math.floor(random() * 60);
      const world: LaggingWorld = { ...start(), lag, now: 0, past: [], updatedAt: new Map() };
      const jobs = targets.map((target) => laggingJob(world, target));
      for (let steps = 0; jobs.length > 0; steps += 1) {
        if (steps > 20_000) throw new Error('The jobs do not end.');
        const index = Math.floor(random() * jobs.length);
        if (jobs[index]!.next().done) jobs.splice(index, 1);
        world.past.push(
          [...world.comments].map(([id, body]) => ({
            id,
            body,
            marker: readMarker(body)!,
            updatedAt: world.updatedAt.get(id)!,
          })),
        );
        world.now = world.past.length - 1;
      }
      expect([...world.comments.keys()]).toEqual([1]);
      expect(linesOf(world)).toEqual([targets]);
    }
  });

  test('if jobs are killed, those of the next run complete the comment', () => {
    const random = seeded(SEED + 1);
    let doubled = 0;
    for (let round = 0; round < 200 * ROUNDS; round += 1) {
      const world = start();
      play(
        targets.map((target) => job(world, target, '7')),
        random,
        8,
      );
      doubled += world.comments.size > 1 ? 1 : 0;
      play(
        targets.map((target) => job(world, target, '8')),
        random,
      );
      expect(linesOf(world)).toEqual([targets]);
    }
    expect(doubled).toBeGreaterThan(10);
  });
});

describe('GitHub’s size limit', () => {
  test('wheels that do not fit are counted', () => {
    const counts = fc.tuple(fc.nat(400), fc.nat(900));
    fc.assert(
      fc.property(counts, ([count, length]) => {
        const names = Array.from({ length: count }, (_, index) => `t${index}${'x'.repeat(length)}`);
        const body = renderComment(marker(), {
          ...content(...names),
          indexUrl: 'https://example.com/index.html',
        });
        const shown = body.split('<details').length - 1;
        const left = Number(/^And (\d+) more/m.exec(body)?.[1] ?? 0);
        expect(body.length).toBeLessThanOrEqual(MAX_CHARACTERS);
        expect(shown + left).toBe(count);
        expect(body).toMatch(/\[All wheels of this commit\]\(<https:\/\/example\.com\/index\.html>\)\n$/);
        const section = body.length / Math.max(shown, 1);
        if (left > 0) expect(body.length + section * 2).toBeGreaterThan(MAX_CHARACTERS);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });
});

describe('text from outside is not interpreted', () => {
  const hostile = fc.oneof(
    fc.constantFrom(
      '<img src=x onerror=alert(1)>',
      '</code></summary></details><script>',
      '`code`',
      '```\n# heading',
      '@octocat #1 :tada:',
      '[link](https://example.com)',
      '-->\n**bold**',
      '"; rm -rf ~; "',
      '$(id) `id` ${HOME} !!',
      '\u0000\u001b[31m\u2028\ud800',
    ),
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.string({ maxLength: 30 }),
  );

  test('by GitHub’s own Markdown', () => {
    const entry = fc.record({
      target: hostile,
      filename: hostile.filter((name) => name !== ''),
      base: hostile,
    });
    const cases = fc.sample(entry, { seed: SEED, numRuns: 500 });
    const bodies = cases.map(({ target, filename, base }) =>
      renderComment(marker(), {
        entries: [{ target, filename, url: `https://example.com/${base}`, size: 1 }],
        indexUrl: `https://example.com/${base}`,
      }),
    );
    const quiet = ['h3', 'details', 'summary', 'code', 'code', 'pre', 'code', 'pre', 'code', 'p', 'a'];
    const rendered = runPython<{ elements: string[]; codes: string[]; links: string[] }[]>(
      join(ROOT, 'testing/render_markdown.py'),
      bodies,
    );
    expect(rendered).toHaveLength(500);
    for (const [index, { elements, codes, links }] of rendered.entries()) {
      const url = shellSafe(`https://example.com/${cases[index]!.base}`);
      const { target, filename } = cases[index]!;
      expect(elements).toEqual(quiet);
      expect(codes[0]).toBe(printable(target === '' ? filename : target).toWellFormed());
      expect(codes.slice(1)).toEqual(['aaaaaaa', `pip install "${url}"\n`, `uv pip install "${url}"\n`]);
      expect(links).toEqual([expect.stringContaining('https://example.com/')]);
    }
  });

  test('by bash in the commands', () => {
    const urls = fc
      .sample(hostile, { seed: SEED, numRuns: 500 })
      .map((base) => shellSafe(`https://e.com/${base}`));
    const script = `set -o history -o histexpand\n${urls.map((url) => `printf '%s\\n' "${url}"`).join('\n')}`;
    const { stdout, stderr } = spawnSync('bash', ['--norc'], { input: script, encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(stdout.trimEnd().split('\n')).toEqual(urls);
  });

  test.each([
    ['https://e.com/foo-1.0%2Bcu121-py3-none-any.whl', 'https://e.com/foo-1.0%2Bcu121-py3-none-any.whl'],
    ['https://e.com/a(b)~c/d', 'https://e.com/a(b)~c/d'],
    ['https://e.com/$(id)`id`"\\!', 'https://e.com/%24(id)%60id%60%22%5C%21'],
    ['https://e.com/a\nb é', 'https://e.com/a%0Ab%20%C3%A9'],
  ])('%p is escaped as %p', (url, safe) => {
    expect(shellSafe(url)).toBe(safe);
  });
});

describe('the pause before a retry', () => {
  const NOW = 1_700_000_000_000;
  const response = (status: number | undefined, message = '', headers = {}) => ({
    status,
    message,
    headers,
  });
  test.each<[title: string, refusal: ReturnType<typeof response>, tried: number, pause: number | undefined]>([
    ['no response', response(undefined), 1, 500],
    ['no response for the third time', response(undefined), 3, 2000],
    ['500', response(500), 1, 500],
    ['503 with Retry-After', response(503, '', { 'retry-after': '7' }), 1, 7000],
    ['429', response(429), 1, 60_000],
    ['429 with Retry-After', response(429, '', { 'retry-after': 3 }), 1, 3000],
    ['403 of a secondary limit', response(403, 'You have exceeded a secondary rate limit'), 1, 60_000],
    ['403 with Retry-After', response(403, '', { 'retry-after': '0' }), 1, 0],
    [
      'a used-up quota',
      response(403, 'API rate limit exceeded', {
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': '1700000030',
      }),
      1,
      31_000,
    ],
    [
      'a quota that has been reset',
      response(429, '', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1600000000' }),
      1,
      1000,
    ],
    ['Retry-After that is not a number', response(429, '', { 'retry-after': 'soon' }), 1, 60_000],
    [
      '403 because of missing permissions',
      response(403, 'Resource not accessible by integration'),
      1,
      undefined,
    ],
    ['404', response(404), 1, undefined],
    ['422', response(422), 1, undefined],
  ])('%s', (_title, refusal, tried, pause) => {
    expect(pauseFor(refusal, tried, NOW)).toBe(pause);
  });

  test('GitHub’s message is shortened to one line', () => {
    const message = `a\n${'b'.repeat(1000)}`;
    expect(refusalIn({ response: { status: 500, headers: {}, data: { message } } }).message).toMatch(
      /^a b{298}$/,
    );
    expect(refusalIn(new Error('connect ECONNREFUSED'))).toEqual({
      status: undefined,
      headers: {},
      message: 'connect ECONNREFUSED',
    });
  });
});

describe('the event', () => {
  test.each<[event: unknown, number: number | undefined]>([
    [undefined, undefined],
    [{}, undefined],
    [{ pull_request: { number: 5 } }, 5],
    [{ pull_request: { number: 5.5 } }, undefined],
    [{ pull_request: { number: -5 } }, undefined],
    [{ issue: { number: 5, pull_request: {} } }, 5],
    [{ issue: { number: 5 } }, undefined],
    [{ workflow_run: { pull_requests: [{ number: 5 }, { number: 6 }] } }, 5],
    [{ workflow_run: { pull_requests: [] } }, undefined],
  ])('%j: pull request %p', (event, number) => {
    expect(pullRequestOf(event as Parameters<typeof pullRequestOf>[0])).toBe(number);
  });

  test.each<[event: unknown, origin: object | undefined]>([
    [{ workflow_run: { id: 12, run_attempt: 3 } }, { run: '12', attempt: '3' }],
    [{ workflow_run: { id: 12 } }, undefined],
    [{ pull_request: { number: 5 } }, undefined],
  ])('%j: run %p', (event, origin) => {
    expect(endedRunOf(event as Parameters<typeof endedRunOf>[0])).toEqual(origin);
  });
});
