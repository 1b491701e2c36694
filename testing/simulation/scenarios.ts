/** What is searched: which steps, and on which engines. */
import type { Scenario, SimulatedWheel } from './game.ts';
import type { Mutation } from './protocol.ts';
import type { Fate } from './world.ts';

const W: SimulatedWheel = { filename: 'a-1-py3-none-any.whl', sha256: 'a'.repeat(64) };
const OTHER_BYTES: SimulatedWheel = { ...W, sha256: 'b'.repeat(64) };
const OTHER_WHEEL: SimulatedWheel = { filename: 'a-2-py3-none-any.whl', sha256: 'c'.repeat(64) };
const WHEELS = [W, OTHER_BYTES, OTHER_WHEEL];

const ENGINES = [
  { name: 'AWS', engine: 'honours', isAws: true },
  { name: 'a store that honours conditions', engine: 'honours', isAws: false },
  { name: 'a store that ignores conditions', engine: 'ignores', isAws: false },
  { name: 'a store that rejects conditions', engine: 'rejects', isAws: false },
] as const;

const TWO_STEPS = {
  'the same bytes': [W, W],
  'other bytes with the same name': [W, OTHER_BYTES],
  'another wheel': [W, OTHER_WHEEL],
};
const THREE_STEPS = {
  'the same bytes': [W, W, W],
  'two with the same bytes, and other bytes': [W, W, OTHER_BYTES],
  'two with the same bytes, and another wheel': [W, W, OTHER_WHEEL],
  'all different': [W, OTHER_BYTES, OTHER_WHEEL],
};
function onAllEngines(sets: Readonly<Record<string, readonly SimulatedWheel[]>>): Scenario[] {
  return ENGINES.flatMap(({ name, ...engine }) =>
    Object.entries(sets).map(([title, wheels]) => ({
      name: `${wheels.length} steps on ${name}: ${title}`,
      wheels,
      ...engine,
    })),
  );
}

/** Two steps, whose pauses may end at any time. */
export const PAIRS = onAllEngines(TWO_STEPS);
/** Three steps, of which one must succeed if nothing disturbs them. */
export const TRIPLES = onAllEngines(THREE_STEPS).map((scenario) => ({ ...scenario, isFair: true }));
/** Scenarios on each engine whose jobs also write the index page. One must succeed if nothing disturbs them. */
function publishersOf(title: string, wheels: readonly SimulatedWheel[]): Scenario[] {
  const fair = { isFair: true, isPublishing: true };
  return onAllEngines({ [title]: wheels }).map((scenario) => ({ ...scenario, ...fair }));
}

/** Jobs of a matrix that write one index page, on each engine. */
export function matrixOf(jobs: number): Scenario[] {
  const wheels = Array.from({ length: jobs }, (_, index) => ({ ...W, target: `t${index}` }));
  return publishersOf('a target each, and the index page', wheels);
}

/** Two jobs of a matrix. The first is AWS. */
export const PUBLISHERS = matrixOf(2);
/** Two jobs that store different wheels in one slot, and write the index page. */
export const RIVAL_PUBLISHERS = publishersOf('another wheel, and the index page', [W, OTHER_WHEEL]);

/**
 * A scenario for a random schedule: up to five steps with any of three wheels on any engine, or up to five jobs of a
 * matrix that write one index page.
 *
 * @param random - returns numbers from 0 up to 1
 */
export function randomScenario(random: () => number): Scenario {
  const below = (limit: number) => Math.floor(random() * limit);
  const { name, ...engine } = ENGINES[below(ENGINES.length)]!;
  const count = 2 + below(4);
  const isPublishing = random() < 1 / 4;
  const wheels = Array.from({ length: count }, (_, index) => ({
    ...WHEELS[below(WHEELS.length)]!,
    // Some jobs of a matrix may have forgotten to set their own targets.
    target: isPublishing ? `t${below(index + 1)}` : '',
  }));
  return {
    name: `${count} steps on ${name}`,
    wheels,
    ...engine,
    isFair: isPublishing || random() < 1 / 2,
    isPublishing,
  };
}

/** Fewer polls before a step gives up, which leads to the same decisions in fewer states. */
export const IMPATIENT: readonly Mutation[] = [
  { file: 'src/slots/place.ts', find: 'const MAX_POLLS = 9;', replace: 'const MAX_POLLS = 2;' },
  { file: 'src/slots/place.ts', find: 'const MAX_OWNER_POLLS = 4;', replace: 'const MAX_OWNER_POLLS = 1;' },
  { file: 'src/slots/place.ts', find: 'const MAX_RIVAL_POLLS = 3;', replace: 'const MAX_RIVAL_POLLS = 1;' },
];

/**
 * Enough polls that a step gives up only if another one makes no progress. In a fair scenario, each request of another
 * step ends a pause.
 */
export const PATIENT: readonly Mutation[] = [
  { file: 'src/slots/place.ts', find: 'const MAX_RIVAL_POLLS = 3;', replace: 'const MAX_RIVAL_POLLS = 9;' },
];

/**
 * A schedule, written as turns.
 *
 * @see Turn
 */
export interface Script {
  readonly name: string;
  readonly scenario: Scenario;
  readonly turns: readonly Turn[];
}

/**
 * Runs a step up to and including the first request whose label begins with `until`, which gets the fate. `end` runs it
 * to its end; `cancel` cancels it.
 */
export type Turn = readonly [step: number, until: string, fate?: Fate];

const [AWS] = PAIRS as [Scenario];

/** Two holes of an earlier protocol: a wheel that a step has reported was removed by the step that put it. */
export const HOLES: readonly Script[] = [
  {
    name: 'a wheel that another step has found, and a step that puts another wheel',
    scenario: { ...AWS, wheels: [W, W, OTHER_WHEEL] },
    turns: [
      [2, 'list'],
      [0, 'put'],
      [1, 'end'],
      [2, 'put'],
      [0, 'end'],
      [2, 'end'],
    ],
  },
  {
    name: 'a wheel that another step has found, whose own step is cancelled',
    scenario: { ...AWS, wheels: [W, W] },
    turns: [
      [0, 'put'],
      [1, 'end'],
      [0, 'cancel'],
      [0, 'list', 'refused'],
      [0, 'end'],
    ],
  },
];
