/**
 * Simulates concurrent store steps, and looks for a schedule that breaks the slot protocol.
 *
 *     npm run simulate                              every state of two steps with a fault, and of three without
 *     npm run simulate -- --faults 2                the same with two faults
 *     npm run simulate -- --seeds 1000000           random schedules of up to five steps
 *     npm run simulate -- --replay 4711             the schedule of one seed, move by move
 *     npm run simulate -- --mutants                 mutants of the protocol, each of which it must find
 *     npm run simulate -- --holes                   two schedules that broke an earlier protocol
 *     npm run simulate -- --writers 32              jobs of a matrix that write one index page, and their requests
 */
import { parseArgs } from 'node:util';
import { seeded } from '../random.ts';
import { judgeMutants, WITHOUT_CLAIMS } from './mutants.ts';
import { loadProtocol } from './protocol.ts';
import {
  HOLES,
  IMPATIENT,
  matrixOf,
  PAIRS,
  PATIENT,
  PUBLISHERS,
  RIVAL_PUBLISHERS,
  randomScenario,
  TRIPLES,
} from './scenarios.ts';
import { playRandomly, playScript, searchAll, type Violation } from './search.ts';

/** Each random schedule has up to this many faults. */
const MAX_RANDOM_FAULTS = 3;
const WRITER_SCHEDULES = 20;

const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '1' },
    seeds: { type: 'string' },
    first: { type: 'string', default: '1' },
    replay: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    holes: { type: 'boolean', default: false },
    writers: { type: 'string' },
  },
});
if (values.mutants) await searchMutants();
else if (values.holes) await playHoles();
else if (values.writers !== undefined) await playWriters(wholeNumber('writers', 1));
else if (values.replay !== undefined) await replay(wholeNumber('replay'));
else if (values.seeds !== undefined) await searchSeeds(wholeNumber('first'), wholeNumber('seeds', 1));
else await searchScenarios(wholeNumber('faults', 1));

/** @throws Error if the option is not a whole number from `min` on */
function wholeNumber(name: 'faults' | 'seeds' | 'first' | 'replay' | 'writers', min = 0): number {
  const text = values[name] ?? '';
  const number = Number(text);
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(number) && number >= min) return number;
  throw new Error(`--${name} must be a whole number from ${min} on, not '${text}'.`);
}

async function searchScenarios(maxFaults: number): Promise<void> {
  const impatient = await loadProtocol(IMPATIENT);
  const protocol = await loadProtocol(PATIENT);
  const searches = [
    ...PAIRS.map((scenario) => ({ scenario, protocol: impatient, faults: maxFaults })),
    ...TRIPLES.map((scenario) => ({ scenario, protocol, faults: maxFaults - 1 })),
    ...RIVAL_PUBLISHERS.map((scenario) => ({ scenario, protocol, faults: 0 })),
    // Each of the others takes as long as all the rest: random schedules visit them.
    ...PUBLISHERS.slice(0, maxFaults === 1 ? 1 : undefined).map((scenario) => ({
      scenario,
      protocol,
      faults: 0,
    })),
  ];
  for (const { scenario, protocol: code, faults } of searches) {
    const { visited, maxRequests, withoutWinner, violation } = await searchAll(code, scenario, faults);
    if (violation !== undefined) return show(violation);
    if (scenario.isFair && withoutWinner !== undefined)
      return show({ scenario: scenario.name, invariant: 'no step succeeded', story: withoutWinner });
    console.log(`✓ ${scenario.name}, faults: ${faults}: ${visited} states, at most ${maxRequests} requests`);
  }
}

async function searchSeeds(first: number, count: number): Promise<void> {
  const protocols = [await loadProtocol(PATIENT), await loadProtocol(IMPATIENT)] as const;
  let maxRequests = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const { scenario, faults } = drawn(seed);
    const game = await playRandomly(protocols[seed % 2]!, scenario, seed, faults);
    const invariant = game.broken();
    if (invariant !== undefined)
      return show({ scenario: `${scenario.name}, seed ${seed}`, invariant, story: game.story });
    maxRequests = Math.max(maxRequests, game.maxRequests());
  }
  console.log(`✓ ${count} random schedules from seed ${first}: at most ${maxRequests} requests`);
}

async function replay(seed: number): Promise<void> {
  const { scenario, faults } = drawn(seed);
  const game = await playRandomly(
    await loadProtocol(seed % 2 === 0 ? PATIENT : IMPATIENT),
    scenario,
    seed,
    faults,
  );
  console.log(
    `${scenario.name}\n  ${game.story.join('\n  ')}\n${game.broken() ?? 'No invariant is broken.'}`,
  );
}

async function playWriters(jobs: number): Promise<void> {
  const protocol = await loadProtocol();
  for (const scenario of matrixOf(jobs)) {
    let maxRequests = 0;
    for (let seed = 1; seed <= WRITER_SCHEDULES; seed += 1) {
      const game = await playRandomly(protocol, scenario, seed, 0);
      const invariant = game.broken();
      if (invariant !== undefined) return show({ scenario: scenario.name, invariant, story: game.story });
      maxRequests = Math.max(maxRequests, game.maxRequests());
    }
    console.log(`✓ ${scenario.name}, ${WRITER_SCHEDULES} schedules: at most ${maxRequests} requests`);
  }
}

async function playHoles(): Promise<void> {
  for (const script of HOLES) {
    for (const [title, mutations] of [
      ['as it is', []],
      ['ignoring claims', [WITHOUT_CLAIMS]],
    ] as const) {
      const game = await playScript(await loadProtocol(mutations), script);
      const broken = game.broken();
      const isExpected = (broken === undefined) === (mutations.length === 0);
      if (!isExpected) process.exitCode = 1;
      console.log(
        `${isExpected ? '✓' : '✗'} ${title}, ${script.name}: ${broken ?? 'no invariant is broken'}`,
      );
      console.log(`    ${game.story.join('\n    ')}`);
    }
  }
}

async function searchMutants(): Promise<void> {
  for (const { name, violation } of await judgeMutants()) {
    console.log(`${violation === undefined ? '✗ survived' : '✓ killed'}: ${name}`);
    if (violation === undefined) process.exitCode = 1;
    else
      console.log(`  ${violation.scenario}: ${violation.invariant}\n    ${violation.story.join('\n    ')}`);
  }
}

/** The scenario of a seed, and how many faults its schedule may have. */
function drawn(seed: number) {
  const random = seeded(-seed);
  return { scenario: randomScenario(random), faults: Math.floor(random() * (MAX_RANDOM_FAULTS + 1)) };
}

function show({ scenario, invariant, story }: Violation): void {
  console.log(`✗ ${scenario}: ${invariant}\n  ${story.join('\n  ')}`);
  process.exitCode = 1;
}
