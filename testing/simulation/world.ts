/**
 * A store in memory, and steps whose requests a schedule carries out one at a time. The real code of src/slots runs
 * against it: protocol.ts replaces only the modules that send requests, wait, or create ids.
 */

/** What an engine does with `If-None-Match` and `If-Match`. */
export type Engine = 'honours' | 'ignores' | 'rejects';

/** What happens to a request. All but `done` are faults. */
export type Fate =
  /** Carried out, and the response arrives. */
  | 'done'
  /** Carried out, but no response arrives, in none of the SDK's tries. */
  | 'lost'
  /** Carried out, the response is lost, and the SDK's next try gets one. */
  | 'repeated'
  /** Rejected, for example because a permission is missing. */
  | 'refused'
  /** Not carried out, and no response arrives. */
  | 'failed';

/** One object of the store. */
export interface StoredObject {
  readonly size: number;
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly text?: string;
}

// The stacks are never read.
Error.stackTraceLimit = 0;

/** A request, or a pause, that a step is waiting for. */
interface Pending {
  readonly label: string;
  readonly fates: readonly Fate[];
  readonly patience: Patience;
  /** Carries out the request. */
  readonly carryOut: (fate: Fate) => unknown;
  /** The store's {@link World.version} when the step began to wait. */
  readonly since: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** How long a request goes on after its step was cancelled: not at all, for three seconds, or for seven. */
type Patience = 'none' | 'grace' | 'clean-up';

/** What a schedule may do next. */
export interface Move {
  readonly step: number;
  /** Which of the step's pending requests. */
  readonly nth: number;
  readonly kind: Fate | 'cancel' | 'crash';
}

const DONE: readonly Fate[] = ['done'];

/** The error for a request without a response, or with a rejection. */
export class SimulatedError extends Error {}

/** One job's store step. */
export class Step {
  readonly index: number;
  readonly world: World;
  readonly controller = new AbortController();
  status: 'running' | 'green' | 'failed' | 'crashed' = 'running';
  isCancelled = false;
  /** Whether it warned that something that it put is left in the store. */
  hasLeftOvers = false;
  hasReported = false;
  hasFailedToPublish = false;
  /** Whether it ever put a claim. */
  hasClaimed = false;
  /** More than one, if the step waits for several at once. */
  pending: Pending[] = [];
  /** Everything the step has seen: its code is deterministic, so this determines its state. */
  history = '';
  error: unknown;
  requests = 0;
  pauses = 0;

  constructor(index: number, world: World) {
    this.index = index;
    this.world = world;
  }

  /** The id of the step's put. */
  get id(): string {
    return `00000000-0000-4000-8000-${String(this.index).padStart(12, '0')}`;
  }
}

/** The step that each signal belongs to, for functions that get a signal but no bucket. */
const owners = new WeakMap<AbortSignal, { readonly step: Step; readonly patience: Patience }>();

/** The step whose code starts to run now: ids are created before its first request. */
let starting: Step | undefined;

/** A signal that stays unaborted when the step is cancelled. */
export function patientSignal(signal: AbortSignal, patience: Patience): AbortSignal {
  const owner = owners.get(signal);
  if (owner === undefined) throw new Error('The signal belongs to no step.');
  const patient = new AbortController().signal;
  owners.set(patient, { step: owner.step, patience });
  return patient;
}

/** The id for the put of the step that is starting. */
export function newId(): string {
  if (starting === undefined) throw new Error('No step is starting.');
  return starting.id;
}

/** Waits until the schedule lets the step go on. */
export function pause(signal: AbortSignal): Promise<unknown> {
  return request(signal, 'pause', ['done'], () => undefined);
}

/** Sends a request: waits until the schedule decides what happens to it. */
export function request(
  signal: AbortSignal,
  label: string,
  fates: readonly Fate[],
  carryOut: (fate: Fate) => unknown,
): Promise<unknown> {
  const owner = owners.get(signal);
  if (owner === undefined) throw new Error('The signal belongs to no step.');
  const { step, patience } = owner;
  if (signal.aborted) return Promise.reject(signal.reason);
  step.requests += 1;
  if (label === 'pause') step.pauses += 1;
  return new Promise((resolve, reject) => {
    if (label.endsWith('.claim') && label.startsWith('put')) step.hasClaimed = true;
    step.pending.push({ label, fates, patience, carryOut, since: step.world.version, resolve, reject });
  });
}

/** Steps and the store that they share. */
export class World {
  readonly objects = new Map<string, StoredObject>();
  readonly steps: readonly Step[];
  readonly engine: Engine;
  /** Counts changes of the store and ends of steps. */
  version = 0;
  /**
   * Whether a pause lasts until something has changed, or all steps pause; then the one with the fewest goes on. If
   * not, a step may poll until it gives up while another one stands still.
   */
  isFair = false;
  /** Whether the store is AWS, which certainly honours conditions. */
  readonly isAws: boolean;

  constructor(count: number, engine: Engine, isAws: boolean) {
    this.engine = engine;
    this.isAws = isAws;
    this.steps = Array.from({ length: count }, (_, index) => new Step(index, this));
    for (const step of this.steps) owners.set(step.controller.signal, { step, patience: 'none' });
  }

  /** Starts the code of a step, which runs until its first request. */
  start(step: Step, run: () => Promise<void>): void {
    starting = step;
    run().then(
      () => {
        if (step.status === 'running') step.status = 'green';
      },
      (error: unknown) => {
        if (step.status !== 'running') return;
        step.status = 'failed';
        step.error = error;
      },
    );
    starting = undefined;
  }

  /**
   * All moves in this state.
   *
   * @param withFaults - whether to include those that are faults
   */
  moves(withFaults: boolean): Move[] {
    const isIdle = this.steps.every(
      ({ status, pending }) => status !== 'running' || pending.every(({ label }) => label === 'pause'),
    );
    const fewest = Math.min(
      ...this.steps.filter(({ status }) => status === 'running').map(({ pauses }) => pauses),
    );
    return this.steps.flatMap(({ index, pending, pauses, status, isCancelled }) => {
      if (status !== 'running') return [];
      if (pending.length === 0) throw new Error(`Step ${index} has not settled: increase TURNS.`);
      const moves: Move[] = pending.flatMap(({ label, since, fates, patience }, nth) => {
        if (label === 'pause' && this.isFair && !(isIdle ? pauses === fewest : since !== this.version))
          return [];
        // When the grace period is over, a request ends without a response. That doesn't count as a fault.
        const isEnding = isCancelled && patience === 'grace';
        const possible = withFaults ? fates : isEnding ? fates.filter((fate) => fate !== 'repeated') : DONE;
        return possible.map((kind) => ({ step: index, nth, kind }));
      });
      if (!withFaults) return moves;
      if (!isCancelled) moves.push({ step: index, nth: 0, kind: 'cancel' });
      moves.push({ step: index, nth: 0, kind: 'crash' });
      return moves;
    });
  }

  /** Whether a move counts towards the schedule's limit of faults. */
  isFault({ step: index, nth, kind }: Move): boolean {
    const { isCancelled, pending } = this.steps[index]!;
    if (kind === 'done') return false;
    return !(isCancelled && pending[nth]?.patience === 'grace' && kind !== 'crash');
  }

  /**
   * Makes a move. The steps go on until each waits for its next request: await {@link settled}.
   *
   * @returns a description of the move
   */
  move({ step: index, nth, kind }: Move): string {
    const step = this.steps[index]!;
    const request = step.pending[nth]!;
    if (kind === 'crash') {
      this.version += 1;
      step.status = 'crashed';
      step.pending = [];
      return `${index} crashes before ${request.label}`;
    }
    if (kind === 'cancel') {
      step.isCancelled = true;
      step.history += ';cancel';
      const reason = new SimulatedError('cancelled');
      const ended = step.pending.filter(({ patience }) => patience === 'none');
      step.pending = step.pending.filter(({ patience }) => patience !== 'none');
      step.controller.abort(reason);
      for (const { reject } of ended) reject(reason);
      return `${index} is cancelled at ${request.label}`;
    }
    step.pending.splice(nth, 1);
    try {
      const value = request.carryOut(kind);
      if (!/^(list|head|get|pause)/.test(request.label)) this.version += 1;
      step.history += `;${request.label}=${kind}:${value === undefined ? '' : hash(JSON.stringify(value))}`;
      request.resolve(value);
    } catch (error) {
      step.history += `;${request.label}=${kind}!`;
      request.reject(error);
    }
    return `${index} ${request.label}${kind === 'done' ? '' : ` (${kind})`}`;
  }

  /** Identifies the state: equal for states from which the same schedules follow. */
  fingerprint(): string {
    const objects = [...this.objects].map(
      ([key, { etag, metadata }]) => `${key}|${etag}|${metadata['put-id'] ?? ''}`,
    );
    const steps = this.steps.map((step) => {
      const { status, history, isCancelled, hasLeftOvers, hasClaimed, pending } = step;
      const waits = status === 'running' ? `${history}>${pending.map(({ label }) => label)}` : '';
      return `${status}${isCancelled}${hasLeftOvers}${hasClaimed}${waits}`;
    });
    return `${objects.sort().join('\n')}\n\n${steps.join('\n')}`;
  }
}

/** More turns than any chain of promises in the protocol takes between two requests. Checked by {@link World.moves}. */
const TURNS = 30;

/** Lets all steps run until they wait. Turns of the microtask queue take a tenth of the time of `setImmediate`. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await undefined;
}

/** cyrb53: 53 bits, so that among a million texts two have the same value with a chance of one in ten thousand. */
export function hash(text: string): number {
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
