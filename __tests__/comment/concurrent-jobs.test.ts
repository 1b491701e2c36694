import { describe, expect, test } from '@jest/globals';
import { type ListedComment, OwnWrites } from '../../src/comment/own-writes.ts';
import { decideComment, readMarker } from '../../src/comment/text.ts';
import { COMMIT } from '../../testing/job.ts';
import { content, KEY } from '../../testing/marked-comments.ts';
import { ROUNDS, seeded } from '../../testing/random.ts';

const SEED = 20260101;

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
      const draft = { key: KEY, stamp: { run, attempt: '1', commit: COMMIT }, by: hex(`${target}${run}`) };
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
      const stamp = { run: '7', attempt: '1', commit: COMMIT };
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
