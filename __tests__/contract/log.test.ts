import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { steppingClock } from '../../testing/clock.ts';
import { type Operation, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import type { StepResult } from '../../testing/runner.ts';
import { makeWheel, wheelBytes } from '../../testing/wheels.ts';

const MIB = 1024 * 1024;
const W = 'demo-1.0-py3-none-any.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

function lines(log: string, pattern: RegExp): string[] {
  return log.split('\n').filter((line) => pattern.test(line));
}

/** Stores a wheel for each target, all of one size. */
async function storeTargets(job: Job, targets: readonly string[], bytes = 0): Promise<void> {
  for (const target of targets) {
    const wheel = `${target}/demo-1.0-${target}-none-any.whl`;
    const files = { 'demo/noise.bin': new Uint8Array(bytes) };
    await makeWheel(job.workspace, wheel, { files, level: 0 });
    const { errors } = await job.step('store', { path: target, target, index: 'false' });
    expect(errors).toEqual([]);
  }
}

describe('the progress of a transfer', () => {
  test('a long store: one line per ten seconds, and none at the end', async () => {
    await using job = await startJob(bucket);
    // Five parts of 8 MiB and a small one: the clock is read six times, and advances by 6 s each time.
    await makeWheel(job.dist, W, { files: { 'demo/noise.bin': new Uint8Array(40 * MIB) }, level: 0 });
    const { log, errors } = await job.step('store', { index: 'false' }, steppingClock(6_000));
    expect(errors).toEqual([]);
    const shown = lines(log, /^Uploaded/);
    expect(shown).toHaveLength(2);
    for (const line of shown) {
      expect(line).toMatch(
        /^Uploaded \d\d%: \d\d?\.\d MiB of 40\.0 MiB, (?:\d\.\d MiB|\d{3}\.\d KiB)\/s, \d\d? s left\.$/,
      );
    }
  });

  test('a long fetch: one line for all wheels together', async () => {
    await using job = await startJob(bucket);
    await storeTargets(job, ['py2', 'py3'], 20 * MIB);
    // The clock is read for each mebibyte that is written.
    const { log, errors } = await job.step('fetch', { target: '*' }, steppingClock(5_000));
    expect(errors).toEqual([]);
    const shown = lines(log, /^Downloaded/);
    const percents = shown.map((line) => Number(/^Downloaded (\d+)%: .* of 40\.0 MiB, /.exec(line)?.[1]));
    expect(percents.length).toBeGreaterThan(5);
    expect(percents).toEqual(percents.toSorted((a, b) => a - b));
    expect(percents.at(-1)).toBeLessThan(100);
  });

  test('a short transfer: no line', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, { files: { 'demo/noise.bin': new Uint8Array(40 * MIB) }, level: 0 });
    const stored = await job.step('store', { index: 'false' }, steppingClock(1));
    const fetched = await job.step('fetch', { path: 'fetched' }, steppingClock(0.001));
    expect(lines(stored.log + fetched.log, /%/)).toEqual([]);
  });
});

describe('several wheels', () => {
  test('are folded into one group per phase', async () => {
    await using job = await startJob(bucket);
    await storeTargets(job, ['cp310', 'cp311', 'cp312', 'cp313']);
    const { commands, log } = await job.step('fetch', { target: '*' });
    const groups = commands.filter(({ name }) => name === 'group').map(({ message }) => message);
    expect(groups).toEqual(['Found 4 wheels', `Fetched 4 wheels into ${job.dist}`]);
    expect(commands.filter(({ name }) => name === 'endgroup')).toHaveLength(2);
    expect(lines(log, /^Found s3:/)).toHaveLength(4);
    expect(lines(log, /^Fetched .*SHA-256/)).toHaveLength(4);
  });

  test('are not folded if there are few', async () => {
    await using job = await startJob(bucket);
    await storeTargets(job, ['cp310', 'cp311', 'cp312']);
    const { commands, log } = await job.step('find', { target: '*' });
    expect(commands.filter(({ name }) => name === 'group')).toEqual([]);
    expect(lines(log, /^Found s3:/)).toHaveLength(3);
  });

  test('an error is outside the groups', async () => {
    await using job = await startJob(bucket);
    const targets = ['cp310', 'cp311', 'cp312', 'cp313'];
    await storeTargets(job, targets);
    await bucket.put(job.key('cp310/demo-1.0-cp310-none-any.whl'), 'damaged', { sha256: 'f'.repeat(64) });
    const { log, code } = await job.step('fetch', { target: '*' });
    expect(code).toBe(1);
    const kinds = lines(log, /^::(group|endgroup|error)/).map((line) => /^::(\w+)/.exec(line)![1]);
    expect(kinds).toEqual(['group', 'endgroup', 'error']);
  });
});

describe('with step debugging on', () => {
  const DEBUG = { RUNNER_DEBUG: '1' };
  const OPERATIONS: Readonly<Record<string, Operation>> = {
    ListObjectsV2: 'list',
    GetObject: 'get',
    HeadObject: 'head',
    PutObject: 'put',
    DeleteObject: 'delete',
    CreateMultipartUpload: 'create-upload',
    UploadPart: 'part',
    CompleteMultipartUpload: 'complete',
  };

  function debugLines({ commands }: StepResult): string[] {
    return commands.filter(({ name }) => name === 'debug').map(({ message }) => message);
  }

  test('there is one line per request, and no other line', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, { files: { 'demo/noise.bin': new Uint8Array(20 * MIB) }, level: 0 });
    await using proxy = await startFaultProxy(bucket.endpoint);
    const inputs = { 'endpoint-url': proxy.endpoint };
    const stored = await job.step('store', inputs, DEBUG);
    const fetched = await job.step('fetch', { ...inputs, path: 'fetched' }, DEBUG);
    const shown = [...debugLines(stored), ...debugLines(fetched)].map((line) => {
      const [, operation, key] =
        /^[A-Z]+ (\w+) (\S+)(?: part \d| bytes=\d+-\d+)?: 20[046], request id \w+, attempt 1, \d+ ms$/.exec(
          line.replace(/404 NoSuchKey/, '200'),
        ) ?? [];
      const path = operation === 'ListObjectsV2' ? `${bucket.name}/` : `${bucket.name}/${key}`;
      return `${OPERATIONS[operation ?? '']} /${path}`;
    });
    const sent = proxy.requests.map(({ operation, path }) => `${operation} ${path}`);
    expect(shown.toSorted()).toEqual(sent.toSorted());
  });

  test('each try of a request has a line, with the failure', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await job.step('store');
    await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, nth }) => {
      if (operation === 'head' && nth === 1) return { cut: 'before' };
      if (operation !== 'list' || nth > 1) return undefined;
      const body = '<Error><Code>SlowDown</Code><Message>slower</Message></Error>';
      return { status: 503, body, headers: { 'x-amz-request-id': 'ID\u0085503' } };
    });
    const found = await job.step('find', { 'endpoint-url': proxy.endpoint }, DEBUG);
    const folder = `${job.prefix}/${COMMIT}/`;
    const shown = debugLines(found).map((line) =>
      line.replace(/\d+ ms$/, '… ms').replace(/id \w{10,}/, 'id …'),
    );
    expect(shown).toEqual([
      `GET ListObjectsV2 ${folder}: 503 SlowDown, request id ID\\x85503, attempt 1, … ms`,
      `GET ListObjectsV2 ${folder}: 200, request id …, attempt 2, … ms`,
      `HEAD HeadObject ${folder}7_1/${W}: no response ECONNRESET, no request id, attempt 1, … ms`,
      `HEAD HeadObject ${folder}7_1/${W}: 200, request id …, attempt 2, … ms`,
    ]);
  });

  test('a presigned URL is not a request, and its signature is in no line', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const { outputs, ...result } = await job.step('store', { presign: '900', index: 'false' }, DEBUG);
    const signature = new URL(outputs['wheel-url']!).searchParams.get('X-Amz-Signature')!;
    const shown = debugLines({ outputs, ...result });
    expect(shown.filter((line) => line.includes('GetObject'))).toEqual([]);
    expect(shown.join('\n')).not.toContain(signature);
    expect(shown.join('\n')).not.toContain('?');
  });

  test('and with it off, there is no line', async () => {
    await using job = await startJob(bucket);
    expect(debugLines(await job.step('find'))).toEqual([]);
  });
});

test('every annotation has its own title', async () => {
  await using job = await startJob(bucket);
  for (const name of ['demo-1.0-py2-none-any.whl', W]) await bucket.put(job.key(name), 'not empty');
  await bucket.put(`${job.prefix}/${COMMIT}/${W}`, Buffer.from(wheelBytes(W)));
  const { commands } = await job.step('fetch', { presign: '900' });
  const annotations = commands.filter(({ name }) => ['error', 'warning', 'notice'].includes(name));
  expect(annotations.map(({ name, properties }) => [name, properties.title])).toEqual([
    ['warning', 'Slot with two wheels'],
    ['notice', 'Unknown SHA-256'],
    ['warning', 'Presigned URL for this job only'],
  ]);
});
