/** Starts the S3 server of the demo and the tests: SeaweedFS, or a server from the environment. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, rmSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CreateBucketCommand, PutBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';

/** How to reach a server. */
export interface S3Access {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A running server. */
export interface S3Server extends S3Access {
  stop(): Promise<void>;
}

const WEED = resolve(
  import.meta.dirname,
  '../.tools/python',
  ...(process.platform === 'win32' ? ['Scripts', 'weed.exe'] : ['bin', 'weed']),
);
const START_SECONDS = 60;

/**
 * Starts a server on free ports of the loopback interface, with its data in a temporary folder. If
 * WHEEL_STORE_TEST_ENDPOINT is set, uses that server with WHEEL_STORE_TEST_ACCESS_KEY_ID,
 * WHEEL_STORE_TEST_SECRET_ACCESS_KEY and WHEEL_STORE_TEST_REGION instead.
 *
 * @throws Error with the end of the server's log if it does not start
 */
export async function startS3Server(): Promise<S3Server> {
  const env = process.env;
  if (env.WHEEL_STORE_TEST_ENDPOINT) {
    return {
      endpoint: env.WHEEL_STORE_TEST_ENDPOINT,
      region: env.WHEEL_STORE_TEST_REGION ?? 'us-east-1',
      accessKeyId: env.WHEEL_STORE_TEST_ACCESS_KEY_ID ?? '',
      secretAccessKey: env.WHEEL_STORE_TEST_SECRET_ACCESS_KEY ?? '',
      stop: async () => undefined,
    };
  }
  return startSeaweed();
}

/** A client for direct access to the server, without the action. */
export function clientOf({ endpoint, region, accessKeyId, secretAccessKey }: S3Access): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
}

/** Creates a bucket; a public one allows anonymous listing and reading. */
export async function createBucket(access: S3Access, name: string, isPublic = false): Promise<void> {
  const client = clientOf(access);
  await client.send(new CreateBucketCommand({ Bucket: name }));
  if (isPublic) {
    const allow = (action: string, resource: string) => ({
      Effect: 'Allow',
      Principal: '*',
      Action: [action],
      Resource: [resource],
    });
    const statements = [
      allow('s3:GetObject', `arn:aws:s3:::${name}/*`),
      allow('s3:ListBucket', `arn:aws:s3:::${name}`),
    ];
    const policy = JSON.stringify({ Version: '2012-10-17', Statement: statements });
    await client.send(new PutBucketPolicyCommand({ Bucket: name, Policy: policy }));
  }
  client.destroy();
}

/** An S3 server program. */
export interface Engine {
  readonly command: string;
  readonly args: readonly string[];
  /** A temporary folder, removed when the server stops. */
  readonly folder: string;
  readonly access: S3Access;
  /** Any response below 500 from this URL means that the server is up. */
  readonly readyUrl: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Files outside the folder that it leaves behind. */
  readonly leftovers?: readonly string[];
}

/**
 * Starts an engine and waits until it responds.
 *
 * @throws Error with the end of its log if it does not start
 */
export async function launch({
  command,
  args,
  folder,
  access,
  readyUrl,
  env,
  leftovers = [],
}: Engine): Promise<S3Server> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own logs and sockets go into the temporary folder.
    env: { ...process.env, ...env, TMPDIR: folder },
  });
  const log = join(folder, 'log');
  const sink = createWriteStream(log);
  child.stdout.pipe(sink);
  child.stderr.pipe(sink);
  let failure: Error | undefined;
  child.on('error', (error) => {
    failure = error;
  });
  const kill = () => child.exitCode === null && child.signalCode === null && child.kill('SIGKILL');
  const unregister = onExit(() => {
    kill();
    removeNow([folder, ...leftovers]);
  });
  const stop = async () => {
    if (kill()) await once(child, 'exit');
    removeNow([folder, ...leftovers]);
    unregister();
  };
  try {
    await waitUntilReady(readyUrl, child, () => failure);
  } catch (error) {
    const lastLines = (await readFile(log, 'utf8')).split('\n').slice(-20).join('\n');
    await stop();
    throw new Error(`${command} ${(error as Error).message}:\n${lastLines}`);
  }
  return { ...access, stop };
}

/**
 * Registers a function to call when this process ends, also by a signal. The signal still ends the process, unless
 * there are other listeners for it.
 *
 * @returns a function that removes the registration
 */
function onExit(work: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (signal: NodeJS.Signals) => {
    unregister();
    work();
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const unregister = () => {
    process.off('exit', work);
    for (const signal of signals) process.off(signal, onSignal);
  };
  process.on('exit', work);
  for (const signal of signals) process.on(signal, onSignal);
  return unregister;
}

function removeNow(paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}

/** Starts SeaweedFS with one administrator. Bucket policies make buckets public. */
export async function startSeaweed(): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 's3-server-'));
  const keys = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };
  const configuration = join(folder, 's3.json');
  await writeFile(configuration, JSON.stringify({ identities: [administrator(keys)] }));
  const [master, volume, filer, s3] = (await freePorts(4)) as [number, number, number, number];
  const ports = { master, volume, filer, s3 };
  const endpoint = `http://127.0.0.1:${s3}`;
  return launch({
    command: WEED,
    args: serverArguments(folder, configuration, ports),
    folder,
    access: { endpoint, region: 'us-east-1', ...keys },
    readyUrl: `${endpoint}/healthz`,
    // Without a key, it responds with 500 to requests for encryption.
    env: { WEED_S3_SSE_KEY: 'key of the tests' },
    // A normal shutdown takes half a minute, so it is killed, and leaves these behind.
    leftovers: Object.entries(ports).map(
      ([name, port]) => `/tmp/seaweedfs-${name}-grpc-${port + 10_000}.sock`,
    ),
  });
}

function administrator({ accessKeyId, secretAccessKey }: Pick<S3Access, 'accessKeyId' | 'secretAccessKey'>) {
  return {
    name: 'admin',
    credentials: [{ accessKey: accessKeyId, secretKey: secretAccessKey }],
    actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
  };
}

function serverArguments(
  folder: string,
  configuration: string,
  ports: Readonly<Record<'master' | 'volume' | 'filer' | 's3', number>>,
): string[] {
  // Each gRPC port is 10,000 above the port given here.
  return [
    'server',
    `-dir=${folder}`,
    '-ip=127.0.0.1',
    '-ip.bind=127.0.0.1',
    `-master.port=${ports.master}`,
    `-volume.port=${ports.volume}`,
    '-filer',
    `-filer.port=${ports.filer}`,
    '-s3',
    `-s3.port=${ports.s3}`,
    `-s3.config=${configuration}`,
    // For tests that access this server under the host names of AWS.
    '-s3.domainName=s3.us-east-1.amazonaws.com',
    '-master.volumeSizeLimitMB=256',
    '-volume.max=500',
    // By default these listen on fixed ports, which would prevent a second server on this machine.
    '-s3.port.iceberg=0',
    '-s3.port.lance=0',
    '-master.telemetry=false',
    `-s3.localSocket=${join(folder, 's3.sock')}`,
    `-filer.localSocket=${join(folder, 'filer.sock')}`,
  ];
}

/**
 * Finds ports that are free, and whose counterparts 10,000 above are free too. All are below 32,768, where Linux starts
 * to assign ports to outgoing connections, which could take a port before the server starts.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = 10_000 + Math.floor(Math.random() * 12_000);
    if (!ports.includes(port) && (await isFree(port)) && (await isFree(port + 10_000))) ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((done) => {
    probe.once('error', () => done(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => done(true)));
  });
}

async function waitUntilReady(
  url: string,
  child: ChildProcess,
  failure: () => Error | undefined,
): Promise<void> {
  for (const deadline = Date.now() + START_SECONDS * 1000; Date.now() < deadline; await delay(100)) {
    const fault = failure();
    if (fault !== undefined) throw new Error(`cannot be started (${fault.message})`);
    if (child.exitCode !== null) throw new Error(`ended with status ${child.exitCode} while it started`);
    const response = await fetch(url).catch(() => undefined);
    if (response !== undefined && response.status < 500) return;
  }
  throw new Error(`did not start within ${START_SECONDS} s`);
}
