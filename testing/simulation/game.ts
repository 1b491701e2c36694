/** One run of a scenario, and the invariants that its states must keep. */
import type { Bucket } from '../../src/bucket/bucket.ts';
import type { OpenWheel } from '../../src/disk/open-wheel.ts';
import { commitFolder, indexKey, type Slot, slotFolder, wheelKey } from '../../src/slots/layout.ts';
import { readWheelFilename } from '../../src/wheel/filename.ts';
import type { Protocol } from './protocol.ts';
import { type Engine, type Move, type Step, type StoredObject, settled, World } from './world.ts';

/** What a step stores, and where. */
export interface SimulatedWheel {
  readonly filename: string;
  /** 64 equal hex digits. */
  readonly sha256: string;
  /** Empty: all steps share one slot. */
  readonly target?: string;
}

/** Steps that run at the same time. */
export interface Scenario {
  readonly name: string;
  readonly wheels: readonly SimulatedWheel[];
  readonly engine: Engine;
  readonly isAws: boolean;
  /** See {@link World.isFair}. */
  readonly isFair?: boolean;
  /** Whether steps that succeed update the index page as well. */
  readonly isPublishing?: boolean;
}

const PLACE = { prefix: 'b', commit: '0'.repeat(40) };
const MARKER = /\.(?:claim|removing)$/;

/** Runs the steps of a scenario, move by move, and checks the invariants of ARCHITECTURE.md. */
export class Game {
  readonly world: World;
  readonly scenario: Scenario;
  readonly story: string[] = [];
  faults = 0;
  readonly #protocol: Protocol;

  constructor(scenario: Scenario, protocol: Protocol) {
    this.scenario = scenario;
    this.#protocol = protocol;
    this.world = new World(scenario.wheels.length, scenario.engine, scenario.isAws);
    this.world.isFair = scenario.isFair ?? false;
    for (const step of this.world.steps) this.world.start(step, () => this.#store(step));
  }

  async play(move: Move): Promise<void> {
    if (this.world.isFault(move)) this.faults += 1;
    this.story.push(this.world.move(move));
    await settled();
  }

  /** What the store action does with a wheel. */
  async #store(step: Step): Promise<void> {
    const { placeInSlot, publishIndex, correctIndex } = this.#protocol;
    const bucket = bucketOf(this.world);
    const { filename, sha256 } = this.#wheelOf(step);
    const wheel = { filename, sha256, size: sha256.charCodeAt(0), confirmUnchanged: async () => {} };
    const { signal } = step.controller;
    const publication = { place: PLACE, commitLabel: '', repository: undefined, repositoryUrl: undefined };
    const { project } = readWheelFilename(filename)!;
    const { wheel: stored } = await placeInSlot(bucket, {
      slot: this.#slotOf(step),
      wheel: wheel as OpenWheel,
      metadata: { commit: PLACE.commit, run: '7', attempt: '1' },
      signal,
      onRemoved: async (cleanUp) => {
        if (this.scenario.isPublishing) await correctIndex(bucket, publication, project, cleanUp);
      },
      warn: (_text, title) => {
        if (title !== 'No conditional writes') step.hasLeftOvers = true;
      },
    });
    step.hasReported = true;
    if (!this.scenario.isPublishing) return;
    await publishIndex(bucket, publication, [stored], signal).catch(() => {
      step.hasFailedToPublish = true;
    });
  }

  /** The invariant that this state breaks; undefined if it breaks none. */
  broken(): string | undefined {
    const isOver = this.world.steps.every(({ status }) => status !== 'running');
    return this.#brokenAlways() ?? (isOver ? (this.#brokenAtEnd() ?? this.#brokenIndex()) : undefined);
  }

  /** Whether no step succeeded although nothing disturbed them: the second half of invariant 4. */
  isWithoutWinner(): boolean {
    return this.#isUndisturbed() && this.world.steps.every(({ hasReported }) => !hasReported);
  }

  maxRequests(): number {
    return Math.max(...this.world.steps.map(({ requests }) => requests));
  }

  /** Invariants 1 and 2: what a step has reported is in the store, and two steps report the same bytes for a slot. */
  #brokenAlways(): string | undefined {
    const reported = this.world.steps.filter(({ hasReported }) => hasReported);
    for (const step of reported) {
      const object = this.world.objects.get(this.#keyOf(step));
      if (object === undefined) return `step ${step.index} has reported its wheel, and it is gone`;
      if (object.metadata.sha256 !== this.#wheelOf(step).sha256)
        return `step ${step.index} has reported its wheel, and it was overwritten`;
    }
    const slots = Map.groupBy(reported, (step) => this.#wheelOf(step).target);
    const isMixed = [...slots.values()].some(
      (steps) => new Set(steps.map((step) => this.#wheelOf(step).sha256)).size > 1,
    );
    return isMixed ? 'two steps have reported different wheels for one slot' : undefined;
  }

  /** Invariants 3 and 4, when all steps have ended; of 4, that steps with the same bytes succeed. */
  #brokenAtEnd(): string | undefined {
    const { steps } = this.world;
    for (const slot of new Set(steps.map((step) => slotFolder(this.#slotOf(step))))) {
      const broken = this.#brokenSlot(slot);
      if (broken !== undefined) return broken;
    }
    const isSame = new Set(this.scenario.wheels.map(({ sha256, target }) => `${sha256}${target}`)).size === 1;
    const failed = steps.find(({ hasReported }) => !hasReported);
    return isSame && this.#isUndisturbed() && failed !== undefined
      ? `all steps have the same bytes, and step ${failed.index} failed: ${failed.error}`
      : undefined;
  }

  /** Invariant 3: one wheel in the slot, and nothing of a step that failed. */
  #brokenSlot(slot: string): string | undefined {
    const inSlot = [...this.world.objects].filter(([key]) => key.startsWith(slot));
    const wheels = inSlot.filter(([key, object]) => !MARKER.test(key) && !this.#isExcused(ownerId(object)));
    if (wheels.length > 1) return 'a slot holds two wheels';
    const left = wheels.find(([, object]) => !this.#mayStay(object));
    if (left !== undefined) return `step ${ownerId(left[1]).at(-1)} failed and left its wheel`;
    const marker = inSlot.find(([key]) => MARKER.test(key) && !this.#mayMarkerStay(key));
    return marker === undefined ? undefined : `${marker[0].slice(slot.length)} is left`;
  }

  /** A failed step's wheel may stay if another step has reported the same bytes, or had a claim to them. */
  #mayStay(object: StoredObject): boolean {
    return this.world.steps.some((step) => {
      const isSame = this.#wheelOf(step).sha256 === object.metadata.sha256;
      return isSame && (step.hasReported || (step.hasClaimed && step.id !== ownerId(object)));
    });
  }

  /** A claim may stay if its step has reported bytes that another step may have put. No removal marker may. */
  #mayMarkerStay(key: string): boolean {
    const step = this.world.steps.find(({ id }) => key.includes(id))!;
    return this.#isExcused(step.id) || (key.endsWith('.claim') && step.hasReported);
  }

  /** Whether the step crashed, or warned that the store rejected its clean-up. */
  #isExcused(id: string): boolean {
    return this.world.steps.some(
      (step) => step.id === id && (step.status === 'crashed' || step.hasLeftOvers),
    );
  }

  /** Invariant 5: the index pages link to each wheel that was reported, and to no other. */
  #brokenIndex(): string | undefined {
    const { steps, objects } = this.world;
    if (!this.scenario.isPublishing || !this.#isUndisturbed()) return undefined;
    const publishers = steps.filter(({ hasReported }) => hasReported);
    if (publishers.length === 0) return undefined;
    const late = publishers.find(({ hasFailedToPublish }) => hasFailedToPublish);
    if (late !== undefined) return `step ${late.index} could not update the index page`;
    const keys = [...new Set(publishers.map((step) => this.#keyOf(step)))];
    const project = readWheelFilename(this.scenario.wheels[0]!.filename)!.project;
    for (const key of [indexKey(PLACE), indexKey(PLACE, project)]) {
      const links = this.#protocol.linksOf(objects.get(key)?.text ?? '').map((link) => link.split('#')[0]!);
      const up = key === indexKey(PLACE) ? '' : '../';
      const expected = keys.map((wheel) => `${up}${wheel.slice(commitFolder(PLACE).length)}`);
      if (String(links.sort()) !== String(expected.sort()))
        return `${key} links to ${links}, not to ${expected}`;
    }
    return undefined;
  }

  #isUndisturbed(): boolean {
    return this.faults === 0 && this.world.steps.every(({ isCancelled }) => !isCancelled);
  }

  #wheelOf({ index }: Step): SimulatedWheel {
    return this.scenario.wheels[index]!;
  }

  #slotOf(step: Step): Slot {
    return { ...PLACE, run: '7', attempt: '1', target: this.#wheelOf(step).target ?? '' };
  }

  #keyOf(step: Step): string {
    return wheelKey(this.#slotOf(step), this.#wheelOf(step).filename);
  }
}

function ownerId(object: StoredObject): string {
  return object.metadata['put-id'] ?? '';
}

/** As much of a bucket as the protocol reads itself. */
function bucketOf(world: World): Bucket {
  return {
    world,
    settings: { name: 'b' },
    honoursConditions: world.isAws,
    customEndpoint: undefined,
    region: { current: '' },
    uri: (key: string) => key,
  } as unknown as Bucket;
}
