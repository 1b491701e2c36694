/** Searches for a schedule of concurrent store steps that breaks an invariant of the slot protocol. */
import { seeded } from '../random.ts';
import { Game, type Scenario } from './game.ts';
import type { Protocol } from './protocol.ts';
import type { Script } from './scenarios.ts';
import { hash, type Move, settled } from './world.ts';

/** A schedule that breaks an invariant. */
export interface Violation {
  readonly scenario: string;
  readonly invariant: string;
  /** What happened, move by move. */
  readonly story: readonly string[];
}

/** What a search has seen. */
export interface Findings {
  /** Distinct states of an exhaustive search, or schedules of a random one. */
  readonly visited: number;
  /** Undisturbed schedules in which no step succeeded: one of them, move by move. */
  readonly withoutWinner: readonly string[] | undefined;
  /** The most requests that a step sent. */
  readonly maxRequests: number;
  readonly violation: Violation | undefined;
}

/** Moves that share their beginnings. */
interface Path {
  readonly before: Path | undefined;
  readonly move: Move;
}

/**
 * Visits every state that a scenario can reach with up to `maxFaults` faults. Code that has started can't be copied, so
 * each branch replays the moves before it.
 */
export async function searchAll(
  protocol: Protocol,
  scenario: Scenario,
  maxFaults: number,
): Promise<Findings> {
  const seen = new Set<number>();
  const branches: (Path | undefined)[] = [undefined];
  let withoutWinner: readonly string[] | undefined;
  let maxRequests = 0;
  while (branches.length > 0) {
    let path = branches.pop();
    const game = new Game(scenario, protocol);
    await settled();
    for (const move of movesOf(path)) await game.play(move);
    for (;;) {
      const state = hash(`${game.faults}${game.world.fingerprint()}`);
      if (seen.has(state)) break;
      seen.add(state);
      const invariant = game.broken();
      if (invariant !== undefined) {
        const violation = { scenario: scenario.name, invariant, story: game.story };
        return { visited: seen.size, withoutWinner, maxRequests, violation };
      }
      const moves = game.world.moves(game.faults < maxFaults);
      if (moves.length === 0) {
        maxRequests = Math.max(maxRequests, game.maxRequests());
        if (game.isWithoutWinner()) withoutWinner ??= game.story;
        break;
      }
      for (const move of moves.slice(1)) branches.push({ before: path, move });
      path = { before: path, move: moves[0]! };
      await game.play(moves[0]!);
    }
  }
  return { visited: seen.size, withoutWinner, maxRequests, violation: undefined };
}

function movesOf(path: Path | undefined): Move[] {
  const moves: Move[] = [];
  for (let at = path; at !== undefined; at = at.before) moves.push(at.move);
  return moves.reverse();
}

/** Plays one schedule of a scenario; the seed determines it. */
export async function playRandomly(
  protocol: Protocol,
  scenario: Scenario,
  seed: number,
  maxFaults: number,
): Promise<Game> {
  const random = seeded(seed);
  const game = new Game(scenario, protocol);
  await settled();
  while (game.broken() === undefined) {
    // Faults at one move in eight, or most schedules would spend them at the beginning.
    const moves = game.world.moves(game.faults < maxFaults && random() < 1 / 8);
    if (moves.length === 0) break;
    await game.play(moves[Math.floor(random() * moves.length)]!);
  }
  return game;
}

/** Plays a script. */
export async function playScript(protocol: Protocol, { scenario, turns }: Script): Promise<Game> {
  const game = new Game(scenario, protocol);
  await settled();
  for (const [step, until, fate = 'done'] of turns) {
    for (let isReached = false; !isReached && game.world.steps[step]!.status === 'running'; ) {
      isReached = until === 'cancel' || game.world.steps[step]!.pending[0]!.label.startsWith(until);
      const kind = until === 'cancel' ? 'cancel' : isReached ? fate : 'done';
      await game.play({ step, nth: 0, kind });
    }
  }
  return game;
}
