/** Mutants of the protocol: each leaves out one of its precautions, and the search must find a schedule that shows why. */
import { loadProtocol, type Mutation } from './protocol.ts';
import { IMPATIENT, PAIRS, PATIENT, TRIPLES } from './scenarios.ts';
import { searchAll, type Violation } from './search.ts';

const PLACE = 'src/slots/place.ts';
const OWN_PUT = 'src/slots/own-put.ts';

interface Mutant extends Mutation {
  readonly name: string;
  /** The name of the scenario in which the search finds it. */
  readonly scenario: string;
}

/** The protocol as it was before the two holes were fixed: a step removes its object even if another step claims it. */
export const WITHOUT_CLAIMS: Mutation = {
  file: OWN_PUT,
  find: 'if (!isNeeded) await deleteObject',
  replace: 'await deleteObject',
};

/** What is left out, and how. */
const MUTANTS: readonly Mutant[] = [
  {
    name: 'the second listing is ignored',
    scenario: '2 steps on AWS: another wheel',
    file: PLACE,
    find: 'if (others.length === 0) return content;',
    replace: 'if (others.length >= 0) return content;',
  },
  {
    name: 'the put has no If-None-Match',
    scenario: '2 steps on AWS: the same bytes',
    file: PLACE,
    find: 'onlyIfAbsent: true,',
    replace: 'onlyIfAbsent: false,',
  },
  {
    name: "another step's object is removed",
    scenario: '2 steps on AWS: the same bytes',
    file: OWN_PUT,
    find: 'if (head?.metadata[PUT_ID] !== putId) return;',
    replace: 'if (head === undefined) return;',
  },
  {
    name: 'a custom endpoint gets no claims',
    scenario: '2 steps on a store that ignores conditions: other bytes with the same name',
    file: PLACE,
    find: 'if (!bucket.honoursConditions) await own.claim.put();',
    replace: '',
  },
  {
    name: 'a custom endpoint is listed before the claim',
    scenario: '2 steps on a store that ignores conditions: other bytes with the same name',
    file: PLACE,
    find: 'if (!bucket.honoursConditions) await own.claim.put();\n    placed = await listPutList(bucket, placement, own);',
    replace:
      'if (!bucket.honoursConditions) { await findOurBytes(bucket, placement, own); await own.claim.put(); if (!(await listSlotContent(bucket, placement, placement.signal)).ours) { const put = await putOnce(bucket, placement, own.putId); if ("error" in put) throw put.error; } }\n    placed = await listPutList(bucket, placement, own);',
  },
  {
    name: "another step's object is relied on without a claim",
    scenario: '2 steps on AWS: the same bytes',
    file: PLACE,
    find: 'if (!isClaimed) {',
    replace: 'if (false) {',
  },
  {
    name: 'an object is removed although another step claims it',
    scenario: '2 steps on AWS: the same bytes',
    ...WITHOUT_CLAIMS,
  },
  {
    name: 'an object is removed without a removal marker',
    scenario: '2 steps on AWS: the same bytes',
    file: OWN_PUT,
    find: 'await putEmptyObject(bucket, removing, key, signal);',
    replace: '',
  },
  {
    name: 'an object is relied on while it is being removed',
    scenario: '2 steps on AWS: the same bytes',
    file: PLACE,
    find: 'if (removals.length === 0 && ',
    replace: 'if (',
  },
  {
    name: 'a claim is withdrawn although the object may be removed',
    scenario: '2 steps on AWS: the same bytes',
    file: PLACE,
    find: 'if (placed?.isRemovable !== true) await',
    replace: 'await',
  },
  {
    name: 'a claim is withdrawn although the object may be overwritten',
    scenario: '2 steps on a store that ignores conditions: the same bytes',
    file: PLACE,
    find: 'const isRemovable = !bucket.honoursConditions && ',
    replace: 'const isRemovable = false && ',
  },
  {
    name: 'a claim whose response was lost is left',
    scenario: '2 steps on AWS: the same bytes',
    file: OWN_PUT,
    find: 'if (isThere) await removeMarker',
    replace: 'if (isThere && false) await removeMarker',
  },
  {
    name: 'a failed step leaves its wheel',
    scenario: '2 steps on AWS: another wheel',
    file: PLACE,
    find: 'if (put !== undefined || placement.signal.aborted) await removeOwn',
    replace: 'if (false) await removeOwn',
  },
  {
    name: 'all steps with claims give way',
    scenario: '3 steps on a store that honours conditions: all different',
    file: PLACE,
    find: 'if (!goesFirst || polls === MAX_POLLS)',
    replace: 'if (goesFirst || !goesFirst)',
  },
  {
    name: 'no step with a claim gives way',
    scenario: '2 steps on a store that ignores conditions: other bytes with the same name',
    file: PLACE,
    find: 'if (rival === undefined) return undefined;',
    replace: 'if (rival === undefined || putId !== "") return undefined;',
  },
  {
    name: 'all steps that have put remove their wheels',
    scenario: '3 steps on AWS: all different',
    file: PLACE,
    find: 'if (!isFirst(putId, rivals) || polls === MAX_RIVAL_POLLS)',
    replace: 'if (others.length > 0)',
  },
];

/** How the search killed a mutant. */
export interface Verdict {
  readonly name: string;
  /** undefined: it survived. */
  readonly violation: Violation | undefined;
}

/** Searches each mutant, until it breaks an invariant. */
export async function judgeMutants(): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const { name, scenario: wanted, ...mutation } of MUTANTS) {
    const scenario = [...PAIRS, ...TRIPLES].find((each) => each.name === wanted)!;
    const protocol = await loadProtocol([mutation, ...(scenario.isFair ? PATIENT : IMPATIENT)]);
    const { violation, withoutWinner } = await searchAll(protocol, scenario, scenario.isFair ? 0 : 1);
    const lost = withoutWinner && { scenario: wanted, invariant: 'no step succeeded', story: withoutWinner };
    verdicts.push({ name, violation: violation ?? (scenario.isFair ? lost : undefined) });
  }
  return verdicts;
}
