/** Mutants of the protocol: each leaves out one of its precautions, and the search must find a schedule that shows why. */
import { loadProtocol, type Mutation } from './protocol.ts';
import { IMPATIENT, PAIRS, TRIPLES } from './scenarios.ts';
import { searchAll, type Violation } from './search.ts';

const FILE = 'src/slots/place.ts';

/** What is left out, and how. */
const MUTANTS: readonly (Omit<Mutation, 'file'> & { readonly name: string })[] = [
  {
    name: 'the second listing is ignored',
    find: 'if (others.length === 0) return content;',
    replace: 'if (others.length >= 0) return content;',
  },
  {
    name: 'the put has no If-None-Match',
    find: 'onlyIfAbsent: true,',
    replace: 'onlyIfAbsent: false,',
  },
  {
    name: "another step's object is removed",
    find: 'if (head?.metadata[PUT_ID] !== putId) return;',
    replace: 'if (head === undefined) return;',
  },
  {
    name: 'a custom endpoint gets no claims',
    find: 'if (!bucket.honoursConditions) await own.claim.put();',
    replace: '',
  },
  {
    name: 'a custom endpoint is listed before the claim',
    find: 'if (!bucket.honoursConditions) await own.claim.put();\n    placed = await listPutList(bucket, placement, own);',
    replace:
      'if (!bucket.honoursConditions) { await findOurBytes(bucket, placement, own); await own.claim.put(); if (!(await listSlotContent(bucket, placement, placement.signal)).ours) { const put = await putOnce(bucket, placement, own.putId); if ("error" in put) throw put.error; } }\n    placed = await listPutList(bucket, placement, own);',
  },
  {
    name: "another step's object is relied on without a claim",
    find: 'if (!isClaimed) {',
    replace: 'if (false) {',
  },
  {
    name: 'an object is removed although another step claims it',
    find: 'if (!isNeeded) await deleteObject',
    replace: 'await deleteObject',
  },
  {
    name: 'an object is removed without a removal marker',
    find: 'await putEmptyObject(bucket, removing, key, signal);',
    replace: '',
  },
  {
    name: 'an object is relied on while it is being removed',
    find: 'if (removals.length === 0 && ',
    replace: 'if (',
  },
  {
    name: 'a claim is withdrawn although the object may be removed',
    find: 'if (placed?.isRemovable !== true) await',
    replace: 'await',
  },
  {
    name: 'a claim is withdrawn although the object may be overwritten',
    find: 'const isRemovable = !bucket.honoursConditions && ',
    replace: 'const isRemovable = false && ',
  },
  {
    name: 'a claim whose response was lost is left',
    find: 'if (isThere) await removeMarker',
    replace: 'if (isThere && false) await removeMarker',
  },
  {
    name: 'a failed step leaves its wheel',
    find: 'if (put !== undefined || placement.signal.aborted) await removeOwn',
    replace: 'if (false) await removeOwn',
  },
  {
    name: 'all steps with claims give way',
    find: 'const isFirst = otherClaims.every(({ key }) => putIdOf(key) > putId);',
    replace: 'const isFirst = false;',
  },
  {
    name: 'no step with a claim gives way',
    find: 'const isFirst = otherClaims.every(({ key }) => putIdOf(key) > putId);',
    replace: 'if (otherClaims.length >= 0) return undefined; const isFirst = true;',
  },
  {
    name: 'all steps that have put remove their wheels',
    find: "const isFirst = heads.every((head) => head === undefined || (head.metadata[PUT_ID] ?? '') > putId);",
    replace: 'const isFirst = heads.length < 0;',
  },
];

/** How the search killed a mutant. */
export interface Verdict {
  readonly name: string;
  /** undefined: it survived. */
  readonly violation: Violation | undefined;
}

/** Searches each mutant, in the scenarios of two steps with a fault and of three without, until one breaks. */
export async function judgeMutants(): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const { name, ...mutation } of MUTANTS) {
    const mutated = [{ file: FILE, ...mutation }];
    const impatient = await loadProtocol([...mutated, ...IMPATIENT]);
    const patient = await loadProtocol(mutated);
    verdicts.push({
      name,
      violation:
        (await firstViolation(impatient, PAIRS, 1)) ?? (await firstViolation(patient, TRIPLES, 0)),
    });
  }
  return verdicts;
}

async function firstViolation(
  protocol: Awaited<ReturnType<typeof loadProtocol>>,
  scenarios: typeof PAIRS,
  maxFaults: number,
): Promise<Violation | undefined> {
  for (const scenario of scenarios) {
    const { violation, withoutWinner } = await searchAll(protocol, scenario, maxFaults);
    if (violation !== undefined) return violation;
    if (scenario.isFair && withoutWinner !== undefined)
      return { scenario: scenario.name, invariant: 'no step succeeded', story: withoutWinner };
  }
  return undefined;
}
