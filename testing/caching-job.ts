/** Jobs that fetch with `cache: true` from a real bucket, through the cache service of nektos/act. */
import type { ChildProcess } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { type CacheService, startActCache } from './act-cache.ts';
import { makeBucket, type TestBucket } from './bucket.ts';
import { type Fault, type FaultProxy, type SeenRequest, startFaultProxy } from './fault-proxy.ts';
import { type Job, startJob } from './job.ts';
import type { StepResult } from './runner.ts';
import { makeWheel } from './wheels.ts';

/** The wheel of a caching job. */
export const W = 'demo-1.0-py3-none-any.whl';
/** The runner's token for the cache service. */
export const TOKEN = 'the-runtime-token';
/** Where steps of one job leave notes for each other. */
const NOTES_FOLDER = 'wheel-store';

/** A bucket and a cache service, which the jobs share. */
export interface Caching extends AsyncDisposable {
  readonly bucket: TestBucket;
  /** Starts a job with its own wheel in the store, and returns the wheel's bytes as well. */
  startJob(onStart?: (child: ChildProcess) => void): Promise<CachingJob & { bytes: Buffer }>;
  /** Adds fetches with `cache: true` to a job. */
  addTo(job: Job, onStart?: (child: ChildProcess) => void): Promise<CachingJob>;
  /** Starts a proxy in front of the cache service, and returns the environment of a step that uses it as well. */
  startProxy(rule: (seen: SeenRequest) => Fault): Promise<FaultProxy & { env: Record<string, string> }>;
  /** Makes the job save its wheel to the cache, and returns the path of the new archive. */
  save(job: CachingJob): Promise<string>;
}

/** A job, and a proxy that records what its fetches request from the bucket. */
export interface CachingJob extends Job {
  /** The job's folder for temporary files. */
  readonly temp: string;
  readonly s3: FaultProxy;
  /** Fetches with `cache: true` through `s3`. */
  fetch(inputs?: Record<string, string>, env?: Record<string, string | undefined>): Promise<StepResult>;
  /** How often an object was read from the bucket. */
  reads(): number;
}

/** Starts a cache service, and creates a bucket. */
export async function startCaching(): Promise<Caching> {
  const [bucket, service] = await Promise.all([makeBucket(), startActCache()]);
  const addTo: Caching['addTo'] = (job, onStart) => withCaching(job, bucket, service, onStart);
  return {
    bucket,
    addTo,
    async startJob(onStart) {
      const job = await startJob(bucket);
      const wheel = await makeWheel(job.workspace, `built/${W}`, { metadata: [`Keywords: ${job.prefix}`] });
      expect((await job.step('store', { path: 'built', index: 'false' })).errors).toEqual([]);
      return { ...(await addTo(job, onStart)), bytes: await readFile(wheel) };
    },
    async startProxy(rule) {
      const proxy = await startFaultProxy(service.url, rule);
      const url = `${proxy.endpoint}${new URL(service.url).pathname}`;
      return { ...proxy, env: { ACTIONS_CACHE_URL: url } };
    },
    async save(job) {
      const before = await service.archives();
      expect((await job.fetch({ path: 'first' })).log).toContain(`Saved ${W} to the Actions cache`);
      const [archive] = (await service.archives()).filter((path) => !before.includes(path));
      return archive!;
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

async function withCaching(
  job: Job,
  bucket: TestBucket,
  service: CacheService,
  onStart?: (child: ChildProcess) => void,
): Promise<CachingJob> {
  const s3 = await startFaultProxy(bucket.endpoint);
  const temp = join(job.workspace, 'temp');
  await mkdir(temp, { recursive: true });
  return {
    ...job,
    temp,
    s3,
    fetch: (inputs = {}, env = {}) =>
      job.step(
        'fetch',
        { cache: 'true', 'endpoint-url': s3.endpoint, ...inputs },
        { RUNNER_TEMP: temp, ACTIONS_CACHE_URL: service.url, ACTIONS_RUNTIME_TOKEN: TOKEN, ...env },
        onStart,
      ),
    reads: () => s3.requests.filter(({ operation }) => operation === 'get').length,
    async [Symbol.asyncDispose]() {
      await s3[Symbol.asyncDispose]();
      await job[Symbol.asyncDispose]();
    },
  };
}

/** Expects that the step succeeded and left the complete wheel, and nothing else. */
export async function expectFetched(
  job: CachingJob,
  result: StepResult,
  bytes: Buffer,
  folder = 'dist',
): Promise<void> {
  expect(result).toMatchObject({ code: 0, errors: [] });
  expect(await readFile(join(job.workspace, folder, W))).toEqual(bytes);
  expect(await readdir(join(job.workspace, folder))).toEqual([W]);
  expect(await temporaryFiles(job.temp)).toEqual([]);
}

/** The entries of a folder for temporary files, without the notes that steps leave for later steps. */
export async function temporaryFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name !== NOTES_FOLDER);
}
