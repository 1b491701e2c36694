/**
 * The cache service of nektos/act: a real server for version 1 of the protocol, which GitHub Enterprise Server uses. It
 * runs only during a workflow, so this starts a workflow whose only step keeps a connection open.
 *
 * Differences from GitHub's service (act's pkg/artifactcache, 0.2.89): it needs no token, has no scopes and no quota,
 * matches key prefixes even without restore keys, and lets several jobs reserve the same entry.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { tool } from './python.ts';
import { NODE } from './runner.ts';

/** A running cache service. */
export interface CacheService extends AsyncDisposable {
  /** The value of ACTIONS_CACHE_URL or ACTIONS_RESULTS_URL in a step; ends with a slash. */
  readonly url: string;
  /** The absolute paths of the stored archives. */
  archives(): Promise<string[]>;
}

/**
 * Starts the service in a temporary folder. It ends when it is disposed of, or with this process.
 *
 * @throws Error with the output of act if it does not start
 */
export async function startActCache(): Promise<CacheService> {
  const home = await mkdtemp(join(tmpdir(), 'act-cache-'));
  const repository = join(home, 'repository');
  await mkdir(join(repository, '.github/workflows'), { recursive: true });
  const calls = createServer();
  calls.listen(0, '127.0.0.1');
  await once(calls, 'listening');
  const { port } = calls.address() as AddressInfo;
  await Promise.all([
    writeFile(join(home, 'hold.mjs'), HOLD),
    writeFile(join(repository, '.github/workflows/hold.yml'), workflow(`${join(home, 'hold.mjs')} ${port}`)),
  ]);
  const child = spawn(tool('act'), actArguments(home), {
    cwd: repository,
    env: { PATH: process.env.PATH, HOME: home, TMPDIR: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const ended = new Promise<void>((done) => child.on('error', () => done()).on('close', () => done()));
  const dispose = async (call?: Socket) => {
    call?.destroy();
    calls.close();
    await ended;
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  };
  const call = await Promise.race([
    once(calls, 'connection').then(([socket]) => socket as Socket),
    ended.then(() => undefined),
  ]);
  if (call === undefined) {
    await dispose();
    throw new Error(`act did not start its cache service: ${(await output).join('\n')}`);
  }
  const [url] = (await once(call, 'data')) as [Buffer];
  return {
    url: url.toString('utf8'),
    archives: () => archivesBelow(join(home, 'kept/cache')),
    [Symbol.asyncDispose]: () => dispose(call),
  };
}

const HOLD = `
import { connect } from 'node:net';
connect(Number(process.argv[2]), '127.0.0.1', function () { this.write(process.env.ACTIONS_CACHE_URL); })
  .on('close', () => process.exit())
  .resume();
`;

function workflow(program: string): string {
  return JSON.stringify({
    on: 'push',
    jobs: { hold: { 'runs-on': 'ubuntu-latest', steps: [{ run: `'${NODE}' ${program}` }] } },
  });
}

function actArguments(home: string): string[] {
  return [
    'push',
    ...['--platform', 'ubuntu-latest=-self-hosted'],
    ...['--action-cache-path', join(home, 'runner')],
    ...['--container-daemon-socket', '-'],
    ...['--cache-server-addr', '127.0.0.1'],
    ...['--cache-server-path', join(home, 'kept')],
  ];
}

async function archivesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
