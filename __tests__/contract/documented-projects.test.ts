/**
 * Runs the examples that store several wheels, and those in examples/from, with stand-ins for the projects. As in
 * documented-workflows.test.ts, every operating system and Python is that of this machine.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { strToU8 } from 'fflate';
import { expectJobs, type Given, type Repository, type WorkflowRun } from '../../testing/act.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { example, logsOf, makeCopy, pullRequest, runCopy } from '../../testing/documented.ts';
import { tool } from '../../testing/python.ts';
import { ROOT } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const BACKEND = readFileSync(join(ROOT, 'testing/fixtures/project/backend.py'), 'utf8');
let bucket: TestBucket;
let index: string;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
  index = await mkdtemp(join(tmpdir(), 'index-'));
  await makeTool('pytest', 'pytest', [
    'for folder in sys.argv[1:]:',
    '    for test in sorted(pathlib.Path(folder).rglob("test_*.py")):',
    '        runpy.run_path(str(test))',
  ]);
});
afterAll(() => rm(index, { recursive: true, force: true }));

/** Puts a program into the index: a stand-in for `pytest`, or for a tool of a build. */
async function makeTool(project: string, command: string, main: readonly string[]): Promise<void> {
  const code = [
    'import os, pathlib, re, runpy, subprocess, sys',
    'def main():',
    ...main.map((line) => `    ${line}`),
  ];
  await makeWheel(index, `${project}-9.0-py3-none-any.whl`, {
    files: {
      [`${project}/__init__.py`]: strToU8(`${code.join('\n')}\n`),
      [`${project}/__main__.py`]: strToU8(`from ${project} import main\nmain()\n`),
      [`${project}-9.0.dist-info/entry_points.txt`]: strToU8(
        `[console_scripts]\n${command} = ${project}:main\n`,
      ),
    },
  });
}

/** The files of a project in a folder of a repository. */
function project(
  folder: string,
  name: string,
  { requires = [], dependencies = [], test = [] }: Readonly<Record<string, readonly string[]>> = {},
): Record<string, string> {
  return {
    [`${folder}/backend.py`]: BACKEND,
    [`${folder}/pyproject.toml`]: `[build-system]
requires = ${JSON.stringify(requires)}
build-backend = "backend"
backend-path = ["."]
[project]
name = "${name}"
version = "1.0"
dependencies = ${JSON.stringify(dependencies)}
[project.optional-dependencies]
test = ${JSON.stringify(test)}
`,
  };
}

function run(repository: Repository, given?: Given): Promise<WorkflowRun> {
  return runCopy(repository, bucket, index, given);
}

/** The results of successful jobs. */
function succeed(...jobs: readonly string[]): Record<string, string> {
  return Object.fromEntries(jobs.map((job) => [job, 'success']));
}

/** The wheels of a run, as target and filename. */
async function storedIn(folder: string): Promise<string[]> {
  const keys = await bucket.keys(`${folder}/`);
  return keys.map((key) => key.slice(folder.length + 1)).sort();
}

/** The files that a job published. */
function publishedBy(run: WorkflowRun, job = 'publish'): string[] {
  return [...logsOf(run, job).matchAll(/^published (.+?)\r?$/gm)].map(([, name]) => name!).sort();
}

/** The tag of this machine's Python, such as `cp312`. */
function ownPython(): string {
  const code = 'import sys; print("cp%d%d" % sys.version_info[:2])';
  return spawnSync(tool('python'), ['-c', code], { encoding: 'utf8' }).stdout.trim();
}

describe('examples/cibuildwheel.yml', () => {
  test('each job stores all of its wheels; tests get the one for their interpreter, and the next run builds nothing', async () => {
    const workflow = await example('cibuildwheel.yml');
    const own = ownPython();
    // Of the wheels, one must be for the Python of this machine.
    const copy = workflow.includes(`${own}-`) ? workflow : workflow.replaceAll('cp311-', `${own}-`);
    await using repository = await makeCopy(copy, bucket);
    const platforms = [
      ['manylinux_x86_64', 'ubuntu-latest', 'manylinux_2_17_x86_64'],
      ['manylinux_aarch64', 'ubuntu-24.04-arm', 'manylinux_2_17_aarch64'],
      ['macosx_arm64', 'macos-latest', 'macosx_11_0_arm64'],
      ['win_amd64', 'windows-latest', 'win_amd64'],
    ] as const;
    const builds = platforms.map(([platform, runner]) => `build (${platform}, ${runner})`);
    const tests = platforms.flatMap(([, runner]) => ['3.11', '3.13'].map((v) => `test (${v}, ${runner})`));
    const first = await run(repository);
    expectJobs(first, succeed(...builds, ...tests));
    const pythons = [...new Set(copy.match(/\bcp\d+(?=-\$)/g))];
    expect(pythons).toHaveLength(3);
    expect(await storedIn(`builds/${repository.commit}/7_1`)).toEqual(
      platforms
        .flatMap(([platform, , tag]) =>
          pythons.map((python) => `${python}-${platform}/lattice-1.0-${python}-${python}-${tag}.whl`),
        )
        .sort(),
    );
    for (const job of tests)
      expect(first.jobs[job]!.steps.wheel?.outputs['wheel-name']).toContain(`-${own}-${own}-`);

    const second = await run(repository, { runId: '8' });
    expectJobs(second, succeed(...builds, ...tests));
    for (const job of builds) {
      expect(second.jobs[job]!.steps.stored?.outputs).toMatchObject({
        'skip-build': 'true',
        'missing-targets': '[]',
      });
      expect(logsOf(second, job)).not.toContain('asked for');
    }
    expect(await storedIn(`builds/${repository.commit}/8_1`)).toEqual([]);
  });
});

describe('examples/monorepo.yml', () => {
  test('one step stores both packages, and pip installs both, whatever an index offers', async () => {
    await makeWheel(index, 'my_core-9.0-py3-none-any.whl');
    await using repository = await makeCopy(await example('monorepo.yml'), bucket, {
      ...project('packages/my-core', 'my-core'),
      ...project('packages/my-plugin', 'my-plugin', { dependencies: ['my-core'] }),
      'packages/my-plugin/test_plugin.py':
        'from importlib.metadata import version\nimport my_plugin\nprint("core", version("my-core"))\n',
    });
    const done = await run(repository, pullRequest('octo/demo'));
    expectJobs(done, succeed('build', 'test-plugin'));
    expect(await storedIn(`pull-requests/${repository.commit}/7_1`)).toEqual([
      'my-core.py3-none-any/my_core-1.0-py3-none-any.whl',
      'my-plugin.py3-none-any/my_plugin-1.0-py3-none-any.whl',
    ]);
    expect(logsOf(done, 'test-plugin')).toContain('core 1.0');
    expect(await bucket.keys(`builds/${repository.commit}/`)).toEqual([]);

    const again = await run(repository, { ...pullRequest('octo/demo'), runId: '8' });
    expectJobs(again, succeed('build', 'test-plugin'));
    expect(logsOf(again, 'build')).not.toContain('Successfully built');
    expect(logsOf(again, 'test-plugin')).toContain('core 1.0');
  });
});

describe('examples/from/daft.yml', () => {
  const files = {
    'pyproject.toml': `[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "daft"
dynamic = ["version"]
`,
    'Cargo.toml': '[workspace.package]\nversion = "0.0.0"\n[package]\nversion = "0.0.0"\n',
    'daft/__init__.py': 'raise ImportError("these are the sources")\n',
    'src/daft/__init__.py': '',
    'tests/dataframe/test_daft.py':
      'import os, daft, ray\nfrom importlib.metadata import version\nprint("tested", version("daft"), os.environ["DAFT_RUNNER"])\n',
  };
  const targets = [
    'daft-ubuntu-x86_64',
    'daft-ubuntu-aarch64',
    'daft-macos-x86_64',
    'daft-macos-aarch64',
    'daft-windows-x86_64',
    'daft-lts-ubuntu-x86_64',
    'daft-lts-macos-x86_64',
    'daft-lts-windows-x86_64',
  ];
  const wheelOf = (target: string, version: string) =>
    `${target.includes('lts') ? 'daft_lts' : 'daft'}-${version}-py3-none-any.${target.replaceAll('-', '_')}.whl`;
  const buildOf = (target: string) => {
    const [, project, os, arch] = /^(.+)-(.+)-(.+)$/.exec(target)!;
    return `build (${arch}, ${os}, ${project})`;
  };
  const tests = ['native', 'ray'].flatMap((runner) => ['3.10', '3.11'].map((v) => `test (${v}, ${runner})`));
  let repository: Repository;
  beforeAll(async () => {
    await makeTool('setuptools_scm', 'setuptools-scm', [
      'git = lambda *args: subprocess.run(["git", *args], capture_output=True, text=True).stdout.strip()',
      'print(git("describe", "--tags", "--exact-match")[1:] or f"1.0.1.dev3+g{git(\'rev-parse\', \'--short\', \'HEAD\')}")',
    ]);
    await makeTool('yq', 'tomlq', [
      'file = pathlib.Path(sys.argv[-1])',
      'key, value = re.fullmatch(r\'[.a-z]*[.]([a-z]+) = "(.*)"\', sys.argv[-2]).groups()',
      "file.write_text(re.sub(rf'(?m)^{key} = .*$', f'{key} = \"{value}\"', file.read_text()))",
    ]);
    await makeWheel(index, 'ray-9.0-py3-none-any.whl');
    repository = await makeCopy(await example('from/daft.yml'), bucket, files);
  });
  afterAll(async () => {
    await repository[Symbol.asyncDispose]();
  });
  const dev = () => `1.0.1.dev3+g${repository.commit.slice(0, 7)}`;

  test('a pull request builds one wheel, and the next run of the same commit none', async () => {
    const first = await run(repository, pullRequest('octo/demo'));
    expectJobs(first, succeed(buildOf('daft-ubuntu-x86_64'), ...tests));
    expect(await storedIn(`pull-requests/${repository.commit}/7_1`)).toEqual([
      `daft-ubuntu-x86_64/${wheelOf('daft-ubuntu-x86_64', dev())}`,
      `sdist/daft-${dev()}.tar.gz`,
    ]);
    expect(logsOf(first, 'test (3.11, ray)')).toContain(`tested ${dev()} ray`);
    const again = await run(repository, { ...pullRequest('octo/demo'), runId: '8' });
    expectJobs(again, succeed(buildOf('daft-ubuntu-x86_64'), ...tests));
    expect(logsOf(again, buildOf('daft-ubuntu-x86_64'))).not.toContain('Successfully built');
  });

  test('the nightly builds all wheels and the sdist', async () => {
    const nightly = await run(repository, { event: 'schedule', runId: '20' });
    expectJobs(nightly, succeed(...targets.map(buildOf), ...tests));
    expect(await storedIn(`builds/${repository.commit}/20_1`)).toEqual(
      [
        `sdist/daft-${dev()}.tar.gz`,
        ...targets.map((target) => `${target}/${wheelOf(target, dev())}`),
      ].sort(),
    );
  });

  test('a tag builds all again with its version, and publishes exactly those; its second attempt builds none', async () => {
    repository.tag('v1.0.1');
    const tag = { payload: { ref: 'refs/tags/v1.0.1' } };
    const release = await run(repository, { ...tag, runId: '21' });
    expectJobs(release, succeed(...targets.map(buildOf), ...tests, 'publish'));
    expect(logsOf(release, 'test (3.10, native)')).toContain('tested 1.0.1 native');
    const expected = ['daft-1.0.1.tar.gz', ...targets.map((target) => wheelOf(target, '1.0.1'))].sort();
    expect(publishedBy(release)).toEqual(expected);

    const again = await run(repository, { ...tag, runId: '21', attempt: '2' });
    expectJobs(again, succeed(...targets.map(buildOf), ...tests, 'publish'));
    expect(again.log).not.toContain('Successfully built');
    expect(publishedBy(again)).toEqual(expected);
  });
});

describe('examples/from/deephaven.yml', () => {
  const pure = ['deephaven-core', 'deephaven-server', 'pydeephaven'];
  const pythons = ['cp39', 'cp310', 'cp311', 'cp312', 'cp313'];
  const ticking = (python: string) => `pydeephaven-ticking.${python}-manylinux_x86_64`;
  const files = {
    ...project('py/server', 'deephaven-core'),
    ...project('py/embedded-server', 'deephaven-server', { dependencies: ['deephaven-core'] }),
    ...project('py/client', 'pydeephaven'),
    ...project('py/client-ticking', 'pydeephaven-ticking', { dependencies: ['pydeephaven'] }),
    'py/client-ticking/tests/test_ticking.py':
      'import pydeephaven_ticking\nfrom importlib.metadata import version\nprint("client", version("pydeephaven"))\n',
    gradlew: `#!/usr/bin/env bash
set -e
for task in "$@"; do
  echo "gradlew $task"
  folder=py/\${task#py-}
  folder=\${folder%%:*}
  case $task in
    *:pyClientTickingWheel-*) out=pyClientTickingWheel/\${task#*Wheel-} ;;
    *:build) out=wheel ;;
  esac
  pip wheel "./$folder" --no-deps -w "$folder/build/$out"
done
`,
  };
  const wheelOf = (target: string) =>
    `${target}/${target.split('.')[0]!.replaceAll('-', '_')}-1.0-py3-none-any.whl`;
  const pureTargets = pure.map((name) => `${name}.py3-none-any`);

  test('CI builds the ticking client for one Python; a release builds all, and publishes each from a separate runner', async () => {
    await using repository = await makeCopy(await example('from/deephaven.yml'), bucket, files);
    const ci = await run(repository, pullRequest('octo/demo'));
    expectJobs(ci, succeed('pure', 'ticking (cp312)', 'test'));
    expect(await storedIn(`pull-requests/${repository.commit}/7_1`)).toEqual(
      [...pureTargets, ticking('cp312')].map(wheelOf).sort(),
    );
    expect(logsOf(ci, 'test')).toContain('client 1.0');
    const again = await run(repository, { ...pullRequest('octo/demo'), runId: '8' });
    expectJobs(again, succeed('pure', 'ticking (cp312)', 'test'));
    expect(again.log).not.toContain('gradlew py-client');

    const targets = [...pureTargets, ...pythons.map(ticking)];
    const main = await run(repository, { payload: { ref: 'refs/heads/main' }, runId: '20' });
    expectJobs(main, succeed('pure', 'ticking (cp312)', 'test'));
    const release = await run(repository, { payload: { ref: 'refs/heads/release/v1.0' }, runId: '21' });
    const jobs = pythons.map((python) => `ticking (${python})`);
    expectJobs(release, succeed('pure', ...jobs, 'test', ...targets.map((target) => `publish (${target})`)));
    expect(await storedIn(`builds/${repository.commit}/21_1`)).toEqual(targets.map(wheelOf).sort());
    for (const target of targets) {
      expect(publishedBy(release, `publish (${target})`)).toEqual([wheelOf(target).split('/')[1]]);
    }
  });
});

describe('examples/from/ucxx.yml', () => {
  const ucxx = project('python/ucxx', 'ucxx-cu12', {
    requires: ['libucxx-cu12'],
    dependencies: ['libucxx-cu12'],
    test: ['cloudpickle'],
  });
  const files = {
    ...project('python/libucxx', 'libucxx-cu12'),
    ...ucxx,
    // As with a compiled wheel, the filename depends on the job's Python.
    'python/ucxx/backend.py': BACKEND.replace(
      '"py3-none-any"',
      'f"py3.cp{Path(os.environ[\'pythonLocation\']).name}-none-any"',
    ),
    ...project('python/distributed-ucxx', 'distributed-ucxx-cu12', {
      dependencies: ['ucxx-cu12'],
      test: ['pytest'],
    }),
    'python/distributed-ucxx/test_distributed.py':
      'import cloudpickle, ucxx_cu12.built_with\nfrom importlib.metadata import version\nprint("libucxx", version("libucxx-cu12"), "built with", ucxx_cu12.built_with.VERSIONS)\n',
  };
  const wheels = {
    'libucxx-cu12': 'libucxx_cu12-1.0-py3-none-any.whl',
    'ucxx-cu12-3.11': 'ucxx_cu12-1.0-py3.cp311-none-any.whl',
    'ucxx-cu12-3.13': 'ucxx_cu12-1.0-py3.cp313-none-any.whl',
    'distributed-ucxx-cu12': 'distributed_ucxx_cu12-1.0-py3-none-any.whl',
  };
  const stored = Object.entries(wheels).map(([target, name]) => `${target}/${name}`);
  const jobs = ['libucxx', 'ucxx (3.11)', 'ucxx (3.13)', 'distributed-ucxx', 'test (3.11)', 'test (3.13)'];
  // Build constraints as in pip 26.2 and later.
  const env = { PIP_USE_FEATURE: 'build-constraint' };

  test('each wheel is built and tested with those of the same run, whatever an index offers; a tag publishes them', async () => {
    await makeTool('auditwheel', 'auditwheel', [
      'out = pathlib.Path(sys.argv[sys.argv.index("-w") + 1])',
      'out.mkdir(exist_ok=True)',
      'for wheel in map(pathlib.Path, sys.argv):',
      '    if wheel.suffix == ".whl": (out / wheel.name).write_bytes(wheel.read_bytes())',
    ]);
    await makeWheel(index, 'cloudpickle-9.0-py3-none-any.whl');
    for (const name of ['libucxx_cu12', 'ucxx_cu12']) await makeWheel(index, `${name}-9.0-py3-none-any.whl`);
    await using repository = await makeCopy(await example('from/ucxx.yml'), bucket, files);
    const change = await run(repository, { payload: { ref: 'refs/heads/pull-request/12' }, env });
    expectJobs(change, succeed(...jobs));
    expect(await storedIn(`pull-requests/${repository.commit}/7_1`)).toEqual(stored.sort());
    for (const job of ['test (3.11)', 'test (3.13)'])
      expect(logsOf(change, job)).toContain("libucxx 1.0 built with {'libucxx-cu12': '1.0'}");

    const release = await run(repository, { payload: { ref: 'refs/tags/v1.0' }, runId: '21', env });
    expectJobs(release, succeed(...jobs, 'publish'));
    expect(publishedBy(release)).toEqual(Object.values(wheels).sort());
  });
});
