import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { isMarker, startFaultProxy } from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { ROUNDS } from '../../testing/random.ts';
import type { StepResult } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const CONCURRENCY = 16;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** What the jobs of a round store. */
const kinds = {
  'the same bytes': (job: Job, _index: number) => makeWheel(job.dist, 'demo-1.0-py3-none-any.whl'),
  'the same name with other bytes': (job: Job, index: number) =>
    makeWheel(job.dist, 'demo-1.0-py3-none-any.whl', { metadata: [`Summary: ${index}`] }),
  'different names': (job: Job, index: number) => makeWheel(job.dist, `demo-1.${index}-py3-none-any.whl`),
};
type Kind = keyof typeof kinds;

interface Round {
  readonly stores: readonly StepResult[];
  readonly finds: readonly StepResult[];
  readonly keys: readonly string[];
}

/** 16 jobs store into one slot at once, while one of them looks it up again and again. */
async function playRound(jobs: readonly Job[], endpoint: string, run: string): Promise<Round> {
  const env = { GITHUB_RUN_ID: run };
  const inputs = { 'endpoint-url': endpoint, index: 'false' };
  const finds: StepResult[] = [];
  let isOver = false;
  const stores = Promise.all(jobs.map((job) => job.step('store', inputs, env))).finally(() => {
    isOver = true;
  });
  const [reader] = jobs as [Job];
  while (!isOver) finds.push(await reader.step('find', { 'endpoint-url': endpoint, scope: 'run' }, env));
  finds.push(await reader.step('find', { 'endpoint-url': endpoint, scope: 'run' }, env));
  // Steps that store the same bytes at the same time leave their claims. See docs/clean-up.md.
  const keys = (await reader.keys()).filter((key) => key.includes(`/${run}_1/`) && !isMarker({ path: key }));
  return { stores: await stores, finds, keys };
}

/** Returns what went wrong in a round. */
async function faultsOf({ stores, finds, keys }: Round, kind: Kind): Promise<string[]> {
  const faults: string[] = [];
  const winners = stores.filter(({ code }) => code === 0);
  if (keys.length > 1) faults.push(`a slot with ${keys.length} objects: ${keys.join(', ')}`);
  if (kind === 'the same bytes' && winners.length !== stores.length)
    faults.push('the same bytes were refused');
  if (winners.length > 1 && kind !== 'the same bytes') faults.push(`${winners.length} jobs succeeded`);
  const sha256 = keys[0] === undefined ? undefined : (await bucket.head(keys[0])).Metadata?.sha256;
  for (const { outputs } of winners) {
    if (outputs['wheel-key'] !== keys[0] || outputs.sha256 !== sha256)
      faults.push('a job succeeded, but its bytes are not stored');
  }
  if (winners.length === 0 && keys.length > 0) faults.push('the wheel of a failed job remains');
  for (const { code, outputs, warnings } of finds) {
    if (code !== 0 || warnings.length > 0) faults.push(`a look-up that failed or warned: ${warnings.join()}`);
    if (outputs['skip-build'] === 'true' && outputs.sha256 !== sha256)
      faults.push('a look-up found a wheel that was removed');
  }
  const last = finds.at(-1)!.outputs['skip-build'];
  if (last !== String(keys.length === 1)) faults.push('the last look-up is wrong');
  return faults;
}

describe.each([
  ['an engine with conditional writes', []],
  ['an engine that ignores them', ['if-none-match']],
])('%s', (engine, without) => {
  test.each(Object.keys(kinds) as Kind[])(
    '16 jobs store %s into one slot at once',
    async (kind) => {
      await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, headers }) =>
        without.length > 0 &&
        (operation === 'put' || operation === 'complete') &&
        headers['if-none-match'] !== undefined
          ? { without }
          : undefined,
      );
      const first = await startJob(bucket);
      const jobs = [
        first,
        ...(await Promise.all(Array.from({ length: CONCURRENCY - 1 }, () => startJob(bucket, first.prefix)))),
      ];
      await Promise.all(jobs.map((job, index) => kinds[kind](job, index)));
      const faults: string[] = [];
      let winners = 0;
      let lookUps = 0;
      for (let round = 1; round <= ROUNDS; round += 1) {
        const played = await playRound(jobs, proxy.endpoint, String(round));
        faults.push(...(await faultsOf(played, kind)));
        winners += played.stores.filter(({ code }) => code === 0).length;
        lookUps += played.finds.length;
      }
      for (const job of jobs) await job[Symbol.asyncDispose]();
      process.stdout.write(
        `races: ${engine}, ${kind}: ${ROUNDS} rounds of ${CONCURRENCY}, ${winners} stored, ${lookUps} look-ups, ${faults.length} wrong\n`,
      );
      expect(faults).toEqual([]);
      expect(winners).toBeGreaterThan(0);
    },
    1_800_000,
  );
});
