import type { ChildProcess } from 'node:child_process';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type ChannelJob, startChannelJob } from '../../testing/channel.ts';
import { type Fault, s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT } from '../../testing/job.ts';
import { runStep, type StepResult } from '../../testing/runner.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

const WHEELS = ['linux_x86_64', 'win_amd64'].map((tag) => `demo-1.0-cp312-cp312-${tag}.whl`);
const ALL = WHEELS.map((name) => `${COMMIT}/${name}`);
/** More requests than a step sends. */
const MAX_REQUESTS = 60;

/** Runs a step in which something happens to the nth request for the channel. */
type Accident = (
  job: ChannelJob,
  channel: string,
  nth: number,
) => Promise<{ result: StepResult; hit: boolean }>;

function faulty(fault: Fault): Accident {
  return async (job, channel, nth) => {
    let seen = 0;
    await using proxy = await startFaultProxy(bucket.endpoint, ({ url }) => {
      if (!url.includes(job.channels) && !url.includes(encodeURIComponent(job.channels))) return undefined;
      seen += 1;
      return seen === nth ? fault : undefined;
    });
    const result = await job.publish({ channel, 'endpoint-url': proxy.endpoint });
    return { result, hit: seen >= nth };
  };
}

const killed: Accident = async (job, channel, nth) => {
  let seen = 0;
  let child: ChildProcess | undefined;
  await using proxy = await startFaultProxy(bucket.endpoint, ({ url }) => {
    if (!url.includes(job.channels) && !url.includes(encodeURIComponent(job.channels))) return undefined;
    seen += 1;
    if (seen === nth) child?.kill('SIGKILL');
    return undefined;
  });
  const result = await runStep({
    action: 'publish',
    workspace: job.workspace,
    inputs: {
      ...bucket.inputs,
      prefix: job.prefix,
      commit: COMMIT,
      channels: job.channels,
      channel,
      'endpoint-url': proxy.endpoint,
    },
    env: bucket.env,
    onStart: (process) => {
      child = process;
    },
  });
  return { result, hit: seen >= nth };
};

/** Checks that the pages link to nothing that isn't there whole. */
async function expectWhole(job: ChannelJob, channel: string): Promise<void> {
  const [linked, files] = [await job.linked('demo', channel), await job.files(channel)];
  for (const path of linked) {
    expect(files).toContain(`demo/${path}`);
    expect(files).toContain(`demo/${path}.metadata`);
  }
  if (linked.length > 0) expect(linked).toEqual(ALL);
}

describe('whatever happens to a request, the pages are right, and the next step completes them', () => {
  test.each<[title: string, accident: Accident]>([
    ['403', faulty(s3Error(403, 'AccessDenied'))],
    ['a cut connection after the server processed the request', faulty({ cut: 'after' })],
    ['the step is killed', killed],
  ])(
    '%s',
    async (title, accident) => {
      await using job = await startChannelJob(bucket);
      await job.storeAll(WHEELS);
      let ends = 0;
      for (let nth = 1; nth <= MAX_REQUESTS; nth += 1) {
        const channel = `n-${nth}`;
        const { result, hit } = await accident(job, channel, nth);
        if (!hit) {
          ends = nth;
          break;
        }
        await expectWhole(job, channel);
        if (title.startsWith('a cut')) {
          expect(result).toMatchObject({ code: 0, errors: [] });
          expect(await job.linked('demo', channel)).toEqual(ALL);
          continue;
        }
        if (result.code === 0) expect(await job.linked('demo', channel)).toEqual(ALL);
        else if (result.signal === null) expect(result.errors).toHaveLength(1);
        const next = await job.publish({ channel });
        expect(next).toMatchObject({ code: 0, errors: [] });
        expect(await job.linked('demo', channel)).toEqual(ALL);
      }
      expect(ends).toBeGreaterThan(15);
      expect(ends).toBeLessThan(MAX_REQUESTS);
    },
    600_000,
  );
});
