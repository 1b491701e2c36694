/** Searches schedules of concurrent store steps for one that breaks an invariant of the slot protocol. */
import type { Bucket } from '../../src/bucket/bucket.ts';
import type { OpenWheel } from '../../src/disk/open-wheel.ts';
import { type Slot, slotFolder, wheelKey } from '../../src/slots/layout.ts';
import type { Protocol } from './protocol.ts';
import { type Engine, type Move, settled, type Step, World } from './world.ts';

/** What a step stores. */
export interface SimulatedWheel {
  readonly filename: string;
  readonly sha256: string;
}

/** Steps that store into one slot. */
export interface Scenario {
  readonly name: string;
  readonly wheels: readonly SimulatedWheel[];
  readonly engine: Engine;
  readonly isAws: boolean;
}

/** A schedule that breaks an invariant. */
export interface Violation {
  readonly scenario: string;
  readonly invariant: string;
  /** What happened, move by move. */
  readonly story: readonly string[];
  readonly moves: readonly Move[];
}

/** What a search has seen. */
export interface Findings {
  readonly states: number;
  readonly schedules: number;
  /** Schedules without faults in which no step won. */
  readonly withoutWinner: number;
  readonly maxRequests: number;
  readonly violations: readonly Violation[];
}

const SLOT: Slot = { prefix: 'b', commit: '0'.repeat(40), run: '7', attempt: '1', target: '' };

/** One run of a scenario, move by move. */
class Game {
  readonly world: World;
  readonly scenario: Scenario;
  readonly story: string[] = [];
  readonly moves: Move[] = [];
  faults = 0;

  constructor(scenario: Scenario, protocol: Protocol) {
    this.scenario = scenario;
    this.world = new World(scenario.wheels.length, scenario.engine, scenario.isAws);
    for (const [index, step] of this.world.steps.entries()) {
      this.world.start(step, () => this.#store(step, scenario.wheels[index]!, protocol));
    }
  }

  async #store(step: Step, { filename, sha256 }: SimulatedWheel, protocol: Protocol): Promise<void> {
    const { world } = this;
    const bucket = {
      world,
      settings: { name: 'b' },
      honoursConditions: world.isAws,
      customEndpoint: undefined,
      region: { current: '' },
      uri: (key: string) => key,
    } as unknown as Bucket;
    const wheel = { filename, sha256, size: sha256.charCodeAt(0), confirmUnchanged: async () => {} } as OpenWheel;
    await protocol.placeInSlot(bucket, {
      slot: SLOT,
      wheel,
      metadata: {},
      signal: step.controller.signal,
      warn: (_text, title) => {
        if (title !== 'No conditional writes') step.hasLeftOvers = true;
      },
    });
  }

  async play(move: Move): Promise<void> {
    if (this.world.isFault(move)) this.faults += 1;
    this.moves.push(move);
    this.story.push(this.world.move(move));
    await settled();
  }

  /** The invariant that this state breaks. */
  broken(): string | undefined {
    const { world, scenario } = this;
    const green = world.steps.filter(({ status }) => status === 'green');
    const wheelOf = ({ index }: Step) => scenario.wheels[index]!;
    for (const step of green) {
      const { filename, sha256 } = wheelOf(step);
      const object = world.objects.get(wheelKey(SLOT, filename));
      if (object === undefined) return `step ${step.index} is green, but its wheel is gone`;
      if (object.metadata.sha256 !== sha256) return `step ${step.index} is green, but its wheel was overwritten`;
    }
    if (new Set(green.map((step) => wheelOf(step).sha256)).size > 1) return 'two green steps have different wheels';
    return undefined;
  }

  /** The invariant that this final state breaks. */
  brokenAtEnd(): string | undefined {
    const { world, scenario } = this;
    const wheelOf = ({ index }: Step) => scenario.wheels[index]!;
    const reported = new Set(world.steps.filter(({ status }) => status === 'green').map((s) => wheelOf(s).sha256));
    const excused = (id: string | undefined) =>
      world.steps.some((step) => step.id === id && (step.status === 'crashed' || step.hasLeftOvers));
    const objects = [...world.objects].map(([key, object]) => ({ name: key.slice(slotFolder(SLOT).length), ...object }));
    const wheels = objects.filter(({ size, metadata }) => size > 0 && !excused(metadata['put-id']));
    if (wheels.length > 1) return 'the slot holds two wheels';
    for (const { metadata } of wheels) {
      const isClaimed = world.steps.some(
        (step) => step.hasClaimed && step.id !== metadata['put-id'] && wheelOf(step).sha256 === metadata.sha256,
      );
      if (!reported.has(metadata.sha256!) && !isClaimed) return `a failed step left its wheel (${metadata['put-id']?.slice(-1)})`;
    }
    for (const { name, size } of objects) {
      if (size > 0) continue;
      const owner = world.steps.find(({ id }) => name.includes(id));
      if (owner !== undefined && owner.status === 'failed' && !owner.hasLeftOvers) return `a failed step left ${name.slice(-12)}`;
      if (owner?.status !== 'crashed' && name.endsWith('.removing') && owner?.hasLeftOvers !== true) return `a removal marker is left`;
    }
    const isSame = new Set(scenario.wheels.map(({ sha256 }) => sha256)).size === 1;
    const isUndisturbed = this.faults === 0 && world.steps.every(({ isCancelled }) => !isCancelled);
    if (isSame && isUndisturbed && world.steps.some(({ status }) => status !== 'green')) {
      return `all steps have the same bytes, but one failed: ${world.steps.find(({ status }) => status === 'failed')?.error}`;
    }
    return undefined;
  }

  violation(invariant: string): Violation {
    return { scenario: this.scenario.name, invariant, story: [...this.story], moves: [...this.moves] };
  }
}

/**
 * Visits every state that up to `maxFaults` faults lead to.
 *
 * @param maxStates - throws when there are more
 */
export async function searchAll(
  protocol: Protocol,
  scenario: Scenario,
  maxFaults: number,
  maxViolations = 1,
  maxStates = 5_000_000,
): Promise<Findings> {
  const seen = new Set<number>();
  const stack: Move[][] = [[]];
  const violations: Violation[] = [];
  let [schedules, withoutWinner, maxRequests] = [0, 0, 0];
  for (let path = stack.pop(); path !== undefined && violations.length < maxViolations; path = stack.pop()) {
    const game = new Game(scenario, protocol);
    await settled();
    for (const move of path) await game.play(move);
    for (;;) {
      const state = hash(`${game.faults}${game.world.fingerprint()}`);
      if (seen.has(state)) break;
      seen.add(state);
      if (seen.size > maxStates) throw new Error(`${scenario.name}: more than ${maxStates} states`);
      const broken = game.broken();
      if (broken !== undefined) {
        violations.push(game.violation(broken));
        break;
      }
      const moves = game.world.moves(game.faults < maxFaults);
      if (moves.length === 0) {
        schedules += 1;
        const brokenAtEnd = game.brokenAtEnd();
        if (brokenAtEnd !== undefined) violations.push(game.violation(brokenAtEnd));
        const { steps } = game.world;
        if (game.faults === 0 && steps.every(({ status }) => status !== 'green')) withoutWinner += 1;
        maxRequests = Math.max(maxRequests, ...steps.map(({ requests }) => requests));
        break;
      }
      for (const other of moves.slice(1)) stack.push([...game.moves, other]);
      await game.play(moves[0]!);
    }
  }
  return { states: seen.size, schedules, withoutWinner, maxRequests, violations };
}

/** cyrb53: 53 bits, so that of a million states two are alike with a chance of one in ten thousand. */
function hash(text: string): number {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
