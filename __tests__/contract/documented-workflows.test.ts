/**
 * Runs the workflows of the README and the examples unchanged, except for the name of the bucket. The endpoint comes from
 * the runner's environment, and jobs run one at a time. Every operating system and Python is that of this machine.
 * nightly.yml and release.yml are not run, since they need GitHub's API and PyPI.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { strFromU8, strToU8, unzipSync } from 'fflate';
import { parse, stringify } from 'yaml';
import { expectJobs, type Given, type Repository, type WorkflowRun } from '../../testing/act.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { example, logsOf, makeCopy, pullRequest, runCopy } from '../../testing/documented.ts';
import { ROOT } from '../../testing/runner.ts';
import { makeWheel, type WheelRecipe, wheelBytes } from '../../testing/wheels.ts';

const WHEEL = 'lattice-1.0-py3-none-any.whl';
let bucket: TestBucket;
let index: string;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
  index = await mkdtemp(join(tmpdir(), 'index-'));
  // A stand-in for pytest, which runs the user's tests in the examples.
  const main =
    'def main():\n    import sys, lattice\n    print("tested", len(lattice.points(3, 4)), *sys.argv[1:])\n';
  await makeWheel(index, 'pytest-9.0-py3-none-any.whl', {
    files: {
      'pytest/__init__.py': strToU8(main),
      'pytest-9.0.dist-info/entry_points.txt': strToU8('[console_scripts]\npytest = pytest:main\n'),
    },
  });
});
afterAll(() => rm(index, { recursive: true, force: true }));

/** A wheel as the project of the tests builds it, with an extra. */
const recipe: WheelRecipe = {
  files: {
    'lattice/__init__.py': strToU8('def points(width, height):\n    return range(width * height)\n'),
  },
  metadata: ['Provides-Extra: test', 'Requires-Dist: pytest; extra == "test"'],
};

/** The fenced YAML blocks of the README, in order. */
async function blocksOfReadme(): Promise<string[]> {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  return [...readme.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block]) => block!);
}

function repositoryWith(workflow: string, files?: Readonly<Record<string, string>>): Promise<Repository> {
  return makeCopy(workflow, bucket, files);
}

function run(repository: Repository, given?: Given): Promise<WorkflowRun> {
  return runCopy(repository, bucket, index, given);
}

describe('README.md', () => {
  test('the workflow: the first run builds and installs, the second installs the same wheel without a build', async () => {
    const [workflow] = await blocksOfReadme();
    await using repository = await repositoryWith(workflow!);
    const first = await run(repository);
    expectJobs(first, { build: 'success', test: 'success' });
    expect(logsOf(first, 'build')).toContain('Successfully built lattice');
    expect(logsOf(first, 'test')).toContain('Successfully installed lattice-1.0');
    const url = `${bucket.endpoint}/${bucket.name}/builds/${repository.commit}/7_1/${WHEEL}`;
    expect(first.jobs.build!.steps.wheel?.outputs['wheel-url']).toBe(url);

    const second = await run(repository, { runId: '8' });
    expectJobs(second, { build: 'success', test: 'success' });
    expect(logsOf(second, 'build')).not.toContain('Successfully built');
    expect(logsOf(second, 'test')).toContain(url);
    expect(logsOf(second, 'test')).toContain('Successfully installed lattice-1.0');
  });

  test('the same with fetch in the test job', async () => {
    const [workflow, steps] = await blocksOfReadme();
    const whole = parse(workflow!);
    // A private bucket needs credentials in this job too. The steps replace the one that runs pip.
    const [setUpPython] = whole.jobs.test.steps;
    whole.jobs.test.steps = [whole.jobs.build.steps[0], setUpPython, ...parse(steps!)];
    await using repository = await repositoryWith(stringify(whole));
    const done = await run(repository);
    expectJobs(done, { build: 'success', test: 'success' });
    expect(done.jobs.test!.steps.wheel?.outputs['wheel-path']).toMatch(new RegExp(`/dist/${WHEEL}$`));
    expect(logsOf(done, 'test')).toContain('Successfully installed lattice-1.0');
  });
});

describe('case 77: main does not find what a pull request stores', () => {
  test.each([['README.md'], ['build-once.yml']])('%s', async (name) => {
    const workflow = name === 'README.md' ? (await blocksOfReadme())[0]! : await example(name);
    await using repository = await repositoryWith(workflow);
    const { commit } = repository;
    const other = await run(repository, { ...pullRequest('octo/demo'), runId: '9' });
    expect(other.code).toBe(0);
    expect(logsOf(other, 'build')).toContain('Assumed role-of-pull-requests');
    expect(await bucket.keys(`builds/${commit}/`)).toEqual([]);
    expect(await bucket.keys(`pull-requests/${commit}/`)).toContain(`pull-requests/${commit}/9_1/${WHEEL}`);
    // This run is older: with one prefix, main would find the pull request's wheel.
    const main = await run(repository);
    expect(main.code).toBe(0);
    expect(logsOf(main, 'build')).toContain('Assumed role-of-main');
    expect(logsOf(main, 'build')).toContain('Successfully built lattice');
    expect(main.jobs.build!.steps.wheel?.outputs['wheel-key']).toBe(`builds/${commit}/7_1/${WHEEL}`);
  });
});

describe('examples/build-once.yml', () => {
  test('three test jobs install what one job built', async () => {
    await using repository = await repositoryWith(await example('build-once.yml'));
    const done = await run(repository);
    const suites = ['unit', 'integration', 'doctest'];
    expectJobs(done, {
      build: 'success',
      ...Object.fromEntries(suites.map((suite) => [`test (${suite})`, 'success'])),
    });
    for (const suite of suites) expect(logsOf(done, `test (${suite})`)).toContain(`tested 12 tests/${suite}`);
  });
});

describe('examples/docs-only.yml', () => {
  test('another commit with the same sources reuses the wheel of the first', async () => {
    const workflow = await example('docs-only.yml');
    await using before = await repositoryWith(workflow);
    await using after = await repositoryWith(workflow);
    expect(after.commit).not.toBe(before.commit);
    const first = await run(before);
    expectJobs(first, { build: 'success' });
    expect(logsOf(first, 'build')).toContain('Successfully built lattice');
    const second = await run(after, { runId: '8' });
    expect(second.jobs.build!.steps.sources?.outputs.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(second.jobs.build!.steps.stored?.outputs).toMatchObject({ 'skip-build': 'true', 'run-id': '7' });
    expect(logsOf(second, 'build')).not.toContain('Successfully built');
    expect(second.jobs.build!.steps.wheel?.outputs['wheel-url']).toBe(
      first.jobs.build!.steps.wheel?.outputs['wheel-url'],
    );
  });
});

describe('case 78: docs-only.yml', () => {
  test('main does not find what a pull request with the same hash stores', async () => {
    const workflow = await example('docs-only.yml');
    // An additional source file gives this test its own hash.
    const files = { 'src/lattice/case_78.py': 'MADE = "by main"\n' };
    await using repository = await repositoryWith(workflow, files);
    await using other = await repositoryWith(workflow, { ...files, 'README.txt': 'not hashed\n' });
    const first = await run(other, { ...pullRequest('octo/demo'), runId: '9' });
    expectJobs(first, { build: 'success' });
    expect(logsOf(first, 'build')).toContain('Assumed role-of-pull-requests');
    const main = await run(repository);
    expectJobs(main, { build: 'success' });
    const hash = (of: WorkflowRun) => of.jobs.build!.steps.sources?.outputs.hash;
    expect(hash(main)).toBe(hash(first));
    expect(main.jobs.build!.steps.stored?.outputs['skip-build']).toBe('false');
    expect(logsOf(main, 'build')).toContain('Successfully built lattice');
    expect(main.jobs.build!.steps.wheel?.outputs['run-id']).toBe('7');
  });
});

describe('examples/fork.yml', () => {
  test('a pull request from a fork builds what is not stored, and stores nothing', async () => {
    await using repository = await repositoryWith(await example('fork.yml'));
    const done = await run(repository, pullRequest('somebody/demo'));
    expectJobs(done, { test: 'success' });
    expect(logsOf(done, 'test')).toContain('Successfully built lattice');
    expect(logsOf(done, 'test')).toContain('tested 12');
    expect(await bucket.keys(`pull-requests/${repository.commit}/`)).toEqual([]);
  });

  test('a pull request from the repository stores; one from a fork then reads the wheel without credentials', async () => {
    await using repository = await repositoryWith(await example('fork.yml'));
    const own = await run(repository, pullRequest('octo/demo'));
    expectJobs(own, { test: 'success' });
    expect(logsOf(own, 'test')).toContain('Assumed role-of-pull-requests');
    const folder = `pull-requests/${repository.commit}`;
    expect(await bucket.keys(folder)).toContain(`${folder}/7_1/${WHEEL}`);
    expect(await bucket.keys(`builds/${repository.commit}/`)).toEqual([]);
    const fork = await run(repository, { ...pullRequest('somebody/demo'), runId: '8' });
    expectJobs(fork, { test: 'success' });
    expect(logsOf(fork, 'test')).not.toContain('Successfully built');
    expect(logsOf(fork, 'test')).toContain('tested 12');
  });
});

describe('examples/matrix.yml', () => {
  const identifiers = [
    'cp310-manylinux_x86_64',
    'cp311-manylinux_x86_64',
    'cp312-manylinux_x86_64',
    'cp313-manylinux_x86_64',
    'cp312-manylinux_aarch64',
    'cp312-macosx_arm64',
  ];
  const builds = (targets: readonly string[]) =>
    Object.fromEntries(targets.map((target) => [`build (${target})`, 'success']));

  test('a pull request builds one target, and again only with a label; main then builds all six', async () => {
    await using repository = await repositoryWith(await example('matrix.yml'));
    const one = builds(['cp312-manylinux_x86_64']);
    const first = await run(repository, pullRequest('octo/demo'));
    expectJobs(first, { plan: 'success', ...one, test: 'success' });
    const second = await run(repository, { ...pullRequest('octo/demo'), runId: '8' });
    expectJobs(second, { plan: 'success', test: 'success' });
    const labelled = await run(repository, { ...pullRequest('octo/demo', ['rebuild']), runId: '9' });
    expectJobs(labelled, { plan: 'success', ...one, test: 'success' });
    expect(labelled.jobs.test!.steps.wheel?.outputs['run-id']).toBe('9');

    const main = await run(repository, { runId: '10' });
    expectJobs(main, { plan: 'success', ...builds(identifiers), test: 'success' });
    for (const target of identifiers) {
      expect(logsOf(main, `build (${target})`)).toContain(`asked for ${target}\n`);
    }
    expect(main.jobs.test!.steps.wheel?.outputs['run-id']).toBe('10');
    const again = await run(repository, { runId: '11' });
    expectJobs(again, { plan: 'success', test: 'success' });
    expect(again.jobs.test!.steps.wheel?.outputs['run-id']).toBe('10');
    expect(logsOf(main, 'test')).toContain('tested 12');
  });
});

describe('examples/dependent-wheels.yml', () => {
  test('each job builds against the wheels of the jobs before it, whatever an index offers', async () => {
    const backend = await readFile(join(ROOT, 'testing/fixtures/project/backend.py'), 'utf8');
    const needs = { libucxx: [], ucxx: ['libucxx'], 'distributed-ucxx': ['libucxx', 'ucxx'] };
    const files = Object.entries(needs).flatMap(([name, requires]) => [
      [`${name}/backend.py`, backend],
      [
        `${name}/pyproject.toml`,
        `[build-system]\nrequires = ${JSON.stringify(requires)}\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "${name}"\nversion = "1.0"\n`,
      ],
    ]);
    await using repository = await repositoryWith(
      await example('dependent-wheels.yml'),
      Object.fromEntries(files),
    );
    await makeWheel(index, 'libucxx-9.0-py3-none-any.whl');
    // Build constraints as in pip 26.2 and later. PIP_TARGET would also apply to the build environments.
    const done = await run(repository, { env: { PIP_USE_FEATURE: 'build-constraint', PIP_TARGET: '' } });
    expectJobs(done, { libucxx: 'success', ucxx: 'success', 'distributed-ucxx': 'success' });
    const folder = `builds/${repository.commit}/7_1`;
    const contents = unzipSync(await bucket.get(`${folder}/ucxx/ucxx-1.0-py3-none-any.whl`));
    expect(strFromU8(contents['ucxx/built_with.py']!)).toBe("VERSIONS = {'libucxx': '1.0'}\n");
    const last = 'distributed-ucxx/distributed_ucxx-1.0-py3-none-any.whl';
    expect(await bucket.keys(folder)).toContain(`${folder}/${last}`);
  });
});

describe('examples/old-layout.yml', () => {
  test('of the wheels in the flat folder, the one for the interpreter is installed', async () => {
    await using repository = await repositoryWith(await example('old-layout.yml'));
    const commit = 'e'.repeat(40);
    const wheels = ['lattice-1.0-cp27-none-any.whl', WHEEL, 'lattice-1.0-py3-none-win_arm64.whl'];
    for (const name of wheels) await bucket.put(`builds/dev/${commit}/${name}`, wheelBytes(name));
    const done = await run(repository, { event: 'workflow_dispatch', payload: { inputs: { commit } } });
    expectJobs(done, { use: 'success' });
    expect(done.jobs.use!.steps.wheel?.outputs['wheel-name']).toBe(WHEEL);
    expect(logsOf(done, 'use')).toContain('Successfully installed lattice-1.0');
  });
});

describe('examples/benchmark.yml', () => {
  const wheel = (commit: string) => `builds/${commit}/5_1/cp312-manylinux_x86_64/${WHEEL}`;
  const files = { 'benchmarks/run.py': 'import lattice\nprint(lattice.VERSION, "measured")\n' };

  test('installs the wheel of the requested commit, or of the push', async () => {
    await using repository = await repositoryWith(await example('benchmark.yml'), files);
    const requested = 'd'.repeat(40);
    for (const commit of [requested, repository.commit]) await bucket.put(wheel(commit), wheelBytes(WHEEL));
    const dispatch = { event: 'workflow_dispatch', payload: { inputs: { commit: requested } } };
    for (const [given, commit] of [
      [dispatch, requested],
      [{}, repository.commit],
    ] as const) {
      const done = await run(repository, given);
      expectJobs(done, { benchmark: 'success' });
      expect(done.jobs.benchmark!.steps.wheel?.outputs['wheel-key']).toBe(wheel(commit));
      expect(logsOf(done, 'benchmark')).toContain('1.0 measured');
    }
  });
});

describe('examples/newest-commit.yml', () => {
  test('the newest commit has one of two wheels: the one before it is tested, with its own tests', async () => {
    await using repository = await repositoryWith(await example('newest-commit.yml'));
    const before = repository.commit;
    const after = repository.commitAgain();
    const [one, other] = ['cp312-manylinux_x86_64', 'cp313-manylinux_x86_64'];
    for (const path of [`${after}/6_1/${one}`, `${before}/5_1/${one}`, `${before}/5_1/${other}`])
      await bucket.put(`builds/${path}/${WHEEL}`, wheelBytes(WHEEL, recipe));
    const done = await run(repository, { event: 'schedule' });
    expectJobs(done, { test: 'success' });
    expect(done.jobs.test!.steps.wheel?.outputs).toMatchObject({ commit: before, 'run-id': '5' });
    expect(logsOf(done, 'test')).toContain(`HEAD is now at ${before.slice(0, 7)}`);
    expect(logsOf(done, 'test')).toContain('tested 12');
  });
});

describe('examples/test-other-pythons.yml', () => {
  test('each job installs the wheel for its interpreter', async () => {
    await using repository = await repositoryWith(await example('test-other-pythons.yml'));
    for (const name of ['lattice-1.0-cp27-none-any.whl', WHEEL]) {
      const bytes = wheelBytes(name, recipe);
      await bucket.put(`builds/${repository.commit}/5_1/${name.split('-')[2]}/${name}`, bytes);
    }
    const done = await run(repository, { event: 'workflow_call' });
    const systems = ['ubuntu', 'macos', 'windows'];
    const jobs = systems.flatMap((os) => ['3.10', '3.12', '3.14'].map((v) => `test (${os}-latest, ${v})`));
    expectJobs(done, Object.fromEntries(jobs.map((name) => [name, 'success'])));
    for (const name of jobs) {
      expect(done.jobs[name]!.steps.wheel?.outputs['wheel-name']).toBe(WHEEL);
      expect(logsOf(done, name)).toContain('tested 12');
    }
  });
});
