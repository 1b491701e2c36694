/** pip and uv judge whether the commands on an index page install the wheels that the page shows. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { commandsIn, runCommand, startIndex } from '../../testing/install-commands.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { makeWheel, type WheelRecipe } from '../../testing/wheels.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

/** Stores wheels, each under its own target, and returns the summary of the last step. */
async function storeAll(job: Job, wheels: Readonly<Record<string, WheelRecipe>>): Promise<string> {
  let summary = '';
  for (const [index, [filename, recipe]] of Object.entries(wheels).entries()) {
    const target = `t${index}`;
    await makeWheel(job.workspace, `${target}/${filename}`, recipe);
    const result = await job.step('store', { target, path: target });
    expect(result).toMatchObject({ code: 0, errors: [], warnings: [] });
    summary = result.summary;
  }
  return summary;
}

async function commandsOnPage(job: Job, project?: string): Promise<string[]> {
  const folder = `${job.prefix}/${COMMIT}/${project === undefined ? '' : `${project}/`}`;
  return commandsIn((await bucket.get(`${folder}index.html`)).toString('utf8'));
}

/** Runs each command beside an index with other wheels, and returns what each installed, as `{project}-{version}`. */
async function installedBy(
  job: Job,
  commands: readonly string[],
  pypi: Readonly<Record<string, WheelRecipe>>,
): Promise<string[][]> {
  expect(commands.map((command) => command.split(' install ')[0])).toEqual(['pip', 'uv pip']);
  await using index = await startIndex(pypi);
  const installed: string[][] = [];
  for (const command of commands) {
    const folder = join(job.workspace, command.split(' ')[0]!);
    const ended = await runCommand(command, folder, ['--index-url', `${index.url}/simple/`]);
    expect(ended).toMatchObject({ code: 0 });
    const names = (await readdir(folder)).filter((name) => name.endsWith('.dist-info'));
    installed.push(names.map((name) => name.replace('.dist-info', '')).sort());
  }
  return installed;
}

const FOO_DEV = 'foo-1.0.dev1-py3-none-any.whl';

describe('the commands of a page install its wheels, although PyPI has others', () => {
  test.each<[title: string, stored: string, others: string[], installed: string]>([
    ['a development version, and a release', FOO_DEV, ['foo-1.0-py3-none-any.whl'], 'foo-1.0.dev1'],
    [
      'a pre-release',
      'foo-2.0rc1-py3-none-any.whl',
      ['foo-1.9-py3-none-any.whl', 'foo-2.0-py3-none-any.whl'],
      'foo-2.0rc1',
    ],
    ['a lower release', 'foo-1.0-py3-none-any.whl', ['foo-3.0-py3-none-any.whl'], 'foo-1.0'],
    ['a local version', 'foo-1.0+cu121-py3-none-any.whl', ['foo-1.0-py3-none-any.whl'], 'foo-1.0+cu121'],
    [
      'an epoch and a local version of a development version',
      'foo-1!1.0.dev3+g1a2b3c4-py3-none-any.whl',
      ['foo-1!1.0-py3-none-any.whl', 'foo-9.0-py3-none-any.whl'],
      'foo-1!1.0.dev3+g1a2b3c4',
    ],
  ])('%s', async (_title, stored, others, installed) => {
    await using job = await startJob(bucket);
    const recipe = { metadata: ['Summary: stored'] };
    await makeWheel(job.dist, stored, recipe);
    expect((await job.step('store', { 'allow-stale-wheel': 'true' })).errors).toEqual([]);
    const pypi = Object.fromEntries(others.map((filename) => [filename, {}]));
    for (const project of [undefined, 'foo']) {
      const commands = await commandsOnPage(job, project);
      expect(await installedBy(job, commands, pypi)).toEqual([[installed], [installed]]);
    }
  });

  test('the highest of several versions', async () => {
    await using job = await startJob(bucket);
    await storeAll(job, {
      'foo-1.10.dev2-py3-none-any.whl': {},
      'foo-1.9.dev3-py3-none-any.whl': {},
      'foo-1.10.dev2+cpu-py3-none-any.whl': {},
    });
    const installed = await installedBy(job, await commandsOnPage(job), { 'foo-2.0-py3-none-any.whl': {} });
    expect(installed).toEqual([['foo-1.10.dev2+cpu'], ['foo-1.10.dev2+cpu']]);
  });
});

describe('wheels of one commit that depend on each other', () => {
  const wheels = {
    'foo-1.0.dev1-py3-none-any.whl': { metadata: ['Requires-Dist: libfoo'] },
    'libfoo-1.0.dev1-py3-none-any.whl': {},
  };
  const both = ['foo-1.0.dev1', 'libfoo-1.0.dev1'];
  /** An older release, which the dependency would allow. */
  const pypi = { 'libfoo-0.9-py3-none-any.whl': {}, 'foo-0.9-py3-none-any.whl': {} };

  test('the page and the summary of store install them together', async () => {
    await using job = await startJob(bucket);
    const summary = await storeAll(job, wheels);
    expect(await installedBy(job, await commandsOnPage(job), pypi)).toEqual([both, both]);
    expect(await installedBy(job, commandsIn(summary), pypi)).toEqual([both, both]);
  });

  test.each(['find', 'fetch'] as const)('so does the summary of %s', async (action) => {
    await using job = await startJob(bucket);
    await storeAll(job, wheels);
    const { summary } = await job.step(action, { target: '*' });
    expect(await installedBy(job, commandsIn(summary), pypi)).toEqual([both, both]);
  });

  test.each([
    ['find', { target: 't0' }],
    ['fetch', { target: 't0' }],
    ['store', { target: 't0', path: 'empty' }],
  ] as const)('the summary of %s for one of them finds the other on the page', async (action, inputs) => {
    await using job = await startJob(bucket);
    await storeAll(job, wheels);
    // A store step without a wheel at `path` reuses the stored one only if no other wheel suggests that a build ran.
    await using later = await startJob(bucket, job.prefix);
    const { summary, errors } = await later.step(action, inputs);
    expect(errors).toEqual([]);
    expect(await installedBy(job, commandsIn(summary), {})).toEqual([both, both]);
  });

  test('the page of one project finds the others', async () => {
    await using job = await startJob(bucket);
    await storeAll(job, wheels);
    expect(await installedBy(job, await commandsOnPage(job, 'foo'), {})).toEqual([both, both]);
  });
});
