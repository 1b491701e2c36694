/**
 * Tests how S3 engines handle the requests of this action. Prints a Markdown table with a column per engine (or, with
 * --rows, a row per engine).
 *
 *     npm run probe-engines
 *
 * If WHEEL_STORE_TEST_ENDPOINT is set, only that server is tested. Two new buckets, probe-… and open-…, are left there.
 */
import { randomUUID } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type PutObjectCommandInput,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { createBucket, type S3Access } from '../testing/s3-server.ts';
import { engines, type ProbedEngine } from './engines.ts';

const KEY = 'builds/c/7_1/foo-1.0+cu1-py3-none-any.whl';
const CONTENT = 'the bytes of a wheel';
const WRONG_ETAG = '"0123456789abcdef0123456789abcdef"';
const CONCURRENCY = 16;
const ROUNDS = 8;

/** A private bucket with one object, and the name for a public bucket. */
interface Probe {
  readonly server: S3Access;
  readonly client: S3Client;
  readonly bucket: string;
  readonly openBucket: string;
}

/** A test of one feature; returns `yes`, or what the engine did instead. */
type Feature = (probe: Probe) => Promise<string>;

const features: Readonly<Record<string, Feature>> = {
  'refuses a wrong secret': ({ server, bucket }) =>
    statusIs(403, clientFor({ ...server, secretAccessKey: 'wrong' }).send(listOf(bucket))),
  '`If-None-Match` on PutObject': (probe) => statusIs(412, put(probe, { Key: KEY, IfNoneMatch: '*' })),
  '… of 16 puts at once, one wins': (probe) =>
    oneWins(async (round) => {
      const input = { Key: `race/put/${round}`, IfNoneMatch: '*' };
      return () => put(probe, { ...input, Body: randomUUID() });
    }),
  '`If-None-Match` on CompleteMultipartUpload': async (probe) =>
    statusIs(412, (await openUpload(probe, KEY))()),
  '… of 16 completions at once, one wins': (probe) =>
    oneWins(async (round) => {
      const uploads: (() => Promise<unknown>)[] = [];
      while (uploads.length < CONCURRENCY) uploads.push(await openUpload(probe, `race/complete/${round}`));
      return () => uploads.pop()!();
    }),
  '`If-Match` on PutObject': async (probe) => {
    const { ETag } = await put(probe, { Key: 'page' });
    const wrong = await statusIs(412, put(probe, { Key: 'page', IfMatch: WRONG_ETAG }));
    if (wrong !== 'yes') return wrong;
    const right = await accepted(put(probe, { Key: 'page', IfMatch: ETag! }));
    if (right === 'yes') return right;
    const bare = await accepted(put(probe, { Key: 'page', IfMatch: ETag!.replaceAll('"', '') }));
    return bare === 'yes' ? 'only for an ETag without quotes' : right;
  },
  '… of 16 replacements at once, one wins': (probe) =>
    oneWins(async (round) => {
      const Key = `race/page/${round}`;
      const { ETag } = await put(probe, { Key });
      return () => put(probe, { Key, Body: randomUUID(), IfMatch: ETag! });
    }),
  '`If-Match` on GetObject': ({ client, bucket }) =>
    statusIs(412, client.send(new GetObjectCommand({ Bucket: bucket, Key: KEY, IfMatch: WRONG_ETAG }))),
  ranges: areRangesServed,
  'keeps metadata and `Cache-Control`': async (probe) => {
    const CacheControl = 'public, max-age=31536000, immutable';
    await put(probe, { Key: 'kept', CacheControl, Metadata: { sha256: 'abc' } });
    const head = await probe.client.send(new HeadObjectCommand({ Bucket: probe.bucket, Key: 'kept' }));
    return yes(head.Metadata?.sha256 === 'abc' && head.CacheControl === CacheControl);
  },
  'lists by prefix and delimiter': async (probe) => {
    for (const Key of ['tree/a', 'tree/b/1', 'tree/b/2', 'treetop']) await put(probe, { Key });
    const page = await probe.client.send(listOf(probe.bucket, { Prefix: 'tree/', Delimiter: '/' }));
    const keys = page.Contents?.map((object) => object.Key).join();
    return yes(keys === 'tree/a' && page.CommonPrefixes?.map(({ Prefix }) => Prefix).join() === 'tree/b/');
  },
  'lists by pages': isListedByPages,
  'encodes listed keys when asked': async ({ client, bucket }) => {
    const page = await client.send(listOf(bucket, { Prefix: KEY, EncodingType: 'url' }));
    const key = page.Contents?.[0]?.Key;
    if (page.EncodingType !== 'url') return `no (not echoed; ${key === KEY ? 'raw' : key})`;
    return key === KEY.replace('+', '%2B') ? 'yes' : 'echoed, but + stays raw';
  },
  'finds a `+` key as `%2B`': async (probe) => {
    const response = await fetch(await presigned(probe));
    return response.ok ? yes((await response.text()) === CONTENT) : `no (${response.status})`;
  },
  'presigned URLs': async (probe) => {
    const response = await fetch(await presigned(probe));
    return response.ok ? 'yes' : `no (${response.status})`;
  },
  '… tampered ones are refused': areTamperedRefused,
  '… expired ones are refused': async (probe) => {
    const url = await presigned(probe, new Date(Date.now() - 120_000));
    return isRefusal((await fetch(url)).status);
  },
  'refuses anonymous requests': async ({ server, bucket }) => {
    const results = await anonymousStatuses(server.endpoint, bucket);
    if (results.every((status) => status === 403)) return 'yes';
    const isRefused = results.every((status) => isRefusal(status).startsWith('yes'));
    return `${isRefused ? 'yes' : 'no'} (get ${results[0]}, list ${results[1]}, put ${results[2]})`;
  },
  'a policy makes one bucket public': async ({ server, bucket, openBucket }) => {
    await createBucket(server, openBucket, true);
    await put({ client: clientFor(server), bucket: openBucket }, { Key: KEY });
    const open = await anonymousStatuses(server.endpoint, openBucket);
    const closed = await anonymousStatuses(server.endpoint, bucket);
    // That bucket allows reading and listing, but not writing, and the other bucket is still private.
    const isScoped = open.join() === '200,200,403' && closed.every((status) => status === 403);
    return yes(
      isScoped,
      `no (get ${open[0]}, list ${open[1]}, put ${open[2]}; other bucket ${closed.join()})`,
    );
  },
  'lists and aborts open uploads': async ({ client, bucket }) => {
    const at = { Bucket: bucket, Key: 'open-upload' };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(at));
    const isOpen = async () => {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
      return Uploads.some((found) => found.UploadId === UploadId);
    };
    if (!(await isOpen())) return 'no (not listed)';
    await client.send(new AbortMultipartUploadCommand({ ...at, UploadId }));
    return yes(!(await isOpen()));
  },
  'refuses a wrong checksum': (probe) => statusIs(400, put(probe, { Key: 'sum', ChecksumCRC32: 'AAAAAA==' })),
};

const columns = new Map<string, readonly string[]>();
for (const engine of engines()) columns.set(engine.name, await probeEngine(engine));
const facts = ['starts in', 'download', ...Object.keys(features)];
const table = [
  ['', ...columns.keys()],
  ...facts.map((fact, at) => [fact, ...[...columns.values()].map((results) => results[at] ?? '')]),
];
console.log(asMarkdown(process.argv.includes('--rows') ? transposed(table) : table));

async function probeEngine(engine: ProbedEngine): Promise<readonly string[]> {
  const size = await engine.install();
  if (size === undefined) return ['not available'];
  console.error(`Testing ${engine.name} …`);
  const started = performance.now();
  const server = await engine.start();
  const results = [`${((performance.now() - started) / 1000).toFixed(1)} s`, size];
  try {
    const name = randomUUID().slice(0, 8);
    const probe = { server, client: clientFor(server), bucket: `probe-${name}`, openBucket: `open-${name}` };
    await probe.client.send(new CreateBucketCommand({ Bucket: probe.bucket }));
    for (const feature of Object.values(features)) {
      // A test may have changed the object if the engine does not support a feature.
      await put(probe, { Key: KEY });
      results.push(await feature(probe).catch(failure));
    }
    return results;
  } finally {
    await server.stop();
  }
}

function clientFor({ endpoint, region, accessKeyId, secretAccessKey }: S3Access): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
}

function put(
  { client, bucket }: Pick<Probe, 'client' | 'bucket'>,
  input: Omit<PutObjectCommandInput, 'Bucket'>,
) {
  return client.send(new PutObjectCommand({ Bucket: bucket, Body: CONTENT, ...input }));
}

function listOf(bucket: string, input: Partial<ListObjectsV2Command['input']> = {}): ListObjectsV2Command {
  return new ListObjectsV2Command({ Bucket: bucket, ...input });
}

/** Uploads the parts of a multipart upload. Returns a function that completes it with If-None-Match. */
async function openUpload({ client, bucket }: Probe, key: string): Promise<() => Promise<unknown>> {
  const at = { Bucket: bucket, Key: key };
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(at));
  const part = { ...at, UploadId, PartNumber: 1, Body: randomUUID() };
  const { ETag } = await client.send(new UploadPartCommand(part));
  const completion = {
    ...at,
    UploadId,
    IfNoneMatch: '*',
    MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] },
  };
  return () => client.send(new CompleteMultipartUploadCommand(completion));
}

/**
 * Of several concurrent requests, exactly one should succeed, and the others should get 412 or 409. An engine that
 * checks first and writes later fails only sometimes, so this takes several rounds.
 *
 * @param prepare - returns the request of a round
 */
async function oneWins(prepare: (round: number) => Promise<() => Promise<unknown>>): Promise<string> {
  const faults = new Set<number>();
  let maxWinners = 0;
  let goodRounds = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const request = await prepare(round);
    const results = await Promise.allSettled(Array.from({ length: CONCURRENCY }, request));
    const winners = results.filter(({ status }) => status === 'fulfilled').length;
    maxWinners = Math.max(maxWinners, winners);
    if (winners === 1) goodRounds += 1;
    for (const result of results)
      if (result.status === 'rejected') faults.add(httpStatus(result.reason) ?? 0);
  }
  for (const expected of [409, 412]) faults.delete(expected);
  const others = faults.size > 0 ? `; also ${[...faults].join(', ')}` : '';
  if (goodRounds === ROUNDS) return `yes${others}`;
  return `no (in ${ROUNDS - goodRounds} of ${ROUNDS} rounds; up to ${maxWinners} won${others})`;
}

async function areRangesServed({ client, bucket }: Probe): Promise<string> {
  const get = async (Range: string) => {
    const { Body, ContentRange } = await client.send(
      new GetObjectCommand({ Bucket: bucket, Key: KEY, Range }),
    );
    return `${ContentRange} ${await Body!.transformToString()}`;
  };
  const length = CONTENT.length;
  if ((await get('bytes=4-8')) !== `bytes 4-8/${length} ${CONTENT.slice(4, 9)}`) return 'no';
  if ((await get('bytes=-5')) !== `bytes ${length - 5}-${length - 1}/${length} ${CONTENT.slice(-5)}`) {
    return 'not from the end';
  }
  return statusIs(416, get('bytes=1000-'));
}

async function isListedByPages(probe: Probe): Promise<string> {
  const wanted = ['a', 'b', 'c', 'd', 'e'].map((name) => `pages/${name}`);
  for (const Key of wanted) await put(probe, { Key });
  const found: (string | undefined)[] = [];
  let token: string | undefined;
  for (let pages = 0; pages < 5; pages += 1) {
    const input = { Prefix: 'pages/', MaxKeys: 2, ...(token && { ContinuationToken: token }) };
    const page = await probe.client.send(listOf(probe.bucket, input));
    found.push(...(page.Contents ?? []).map(({ Key }) => Key));
    token = page.NextContinuationToken;
    if (!page.IsTruncated) return yes(pages === 2 && found.join() === wanted.join());
  }
  return 'no (endless)';
}

function presigned({ client, bucket }: Probe, signingDate = new Date()): Promise<string> {
  return getSignedUrl(client, new GetObjectCommand({ Bucket: bucket, Key: KEY }), {
    expiresIn: 60,
    signingDate,
  });
}

async function areTamperedRefused(probe: Probe): Promise<string> {
  await put(probe, { Key: 'other' });
  const url = await presigned(probe);
  const tampered = {
    signature: url.replace(
      /(X-Amz-Signature=)(.)/,
      (_, name, digit) => `${name}${digit === '0' ? '1' : '0'}`,
    ),
    key: url.replace(/builds.*?\?/, 'other?'),
    expiry: url.replace('X-Amz-Expires=60', 'X-Amz-Expires=600'),
  };
  for (const [part, address] of Object.entries(tampered)) {
    const { status } = await fetch(address);
    if (!isRefusal(status).startsWith('yes')) return `no (${part}: ${status})`;
  }
  return 'yes';
}

/** The statuses of anonymous requests to read, list and write. */
async function anonymousStatuses(endpoint: string, bucket: string): Promise<readonly number[]> {
  const base = `${endpoint}/${bucket}`;
  const responses = await Promise.all([
    fetch(`${base}/${KEY.replace('+', '%2B')}`),
    fetch(`${base}?list-type=2`),
    fetch(`${base}/intruder`, { method: 'PUT', body: 'x' }),
  ]);
  return responses.map(({ status }) => status);
}

async function statusIs(wanted: number, request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return 'no (accepted)';
  } catch (error) {
    return httpStatus(error) === wanted ? 'yes' : failure(error);
  }
}

function accepted(request: Promise<unknown>): Promise<string> {
  return request.then(() => 'yes', failure);
}

/** S3 responds with 403, but any other client error is a refusal too. */
function isRefusal(status: number): string {
  return status === 403 ? 'yes' : `${status >= 400 && status < 500 ? 'yes' : 'no'} (${status})`;
}

function failure(error: unknown): string {
  return `no (${httpStatus(error) ?? ''} ${(error as Error).name})`.replace('( ', '(');
}

function httpStatus(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

function yes(condition: boolean, otherwise = 'no'): string {
  return condition ? 'yes' : otherwise;
}

function transposed(rows: readonly (readonly string[])[]): string[][] {
  return rows[0]!.map((_, at) => rows.map((row) => row[at] ?? ''));
}

function asMarkdown([head, ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head!), line(head!.map(() => '---')), ...rows.map(line)].join('\n');
}
