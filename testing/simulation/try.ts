import { loadProtocol } from './protocol.ts';
import { type Scenario, searchAll } from './search.ts';
const W = { filename: 'a-1-py3-none-any.whl', sha256: 'a'.repeat(64) };
const OTHER = { filename: 'a-1-py3-none-any.whl', sha256: 'b'.repeat(64) };
const SECOND = { filename: 'a-2-py3-none-any.whl', sha256: 'c'.repeat(64) };
const protocol = await loadProtocol([{ file: 'src/slots/place.ts', find: 'MAX_REMOVAL_POLLS = 60', replace: 'MAX_REMOVAL_POLLS = 2' }, { file: 'src/slots/place.ts', find: 'MAX_OWNER_POLLS = 10', replace: 'MAX_OWNER_POLLS = 1' }]);
const faults = Number(process.argv[2] ?? 0); const n = Number(process.argv[3] ?? 2);
const sets = n === 2 ? { same: [W, W], bytes: [W, OTHER], wheel: [W, SECOND] } : { same: [W, W, W], 'two same, other bytes': [W, W, OTHER], 'two same, other wheel': [W, W, SECOND], 'all differ': [W, OTHER, SECOND] };
for (const [mode, engine, isAws] of [['aws', 'honours', true], ['custom honours', 'honours', false], ['custom ignores', 'ignores', false], ['custom rejects', 'rejects', false]] as const) {
  for (const [name, wheels] of Object.entries(sets)) {
    const scenario: Scenario = { name: `${mode}: ${name}`, wheels, engine, isAws };
    const start = performance.now();
    try {
    const { violations, ...rest } = await searchAll(protocol, scenario, faults, 3);
    console.log(scenario.name, rest, `${Math.round(performance.now() - start)} ms`);
    for (const { invariant, story } of violations) console.log('  !', invariant, '\n     ', story.join('\n      '));
    } catch (e) { console.log(scenario.name, String(e)); }
  }
}
