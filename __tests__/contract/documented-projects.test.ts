/**
 * Runs the examples that store several wheels, and those in examples/from, with stand-ins for the projects. As in
 * documented-workflows.test.ts, every operating system and Python is that of this machine.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
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

let bucket: TestBucket;
let index: string;
let backend: string;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
  index = await mkdtemp(join(tmpdir(), 'index-'));
  backend = await readFile(join(ROOT, 'testing/fixtures/project/backend.py'), 'utf8');
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
    [`${folder}/backend.py`]: backend,
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

  test('the nightly builds all; the tag builds them again with its version, and publishes exactly those', async () => {
    const nightly = await run(repository, { event: 'schedule', runId: '20' });
    expectJobs(nightly, succeed(...targets.map(buildOf), ...tests));
    expect(await storedIn(`builds/${repository.commit}/20_1`)).toEqual(
      [
        `sdist/daft-${dev()}.tar.gz`,
        ...targets.map((target) => `${target}/${wheelOf(target, dev())}`),
      ].sort(),
    );

    repository.tag('v1.0.1');
    const tag = { payload: { ref: 'refs/tags/v1.0.1' } };
    const release = await run(repository, { ...tag, runId: '21' });
    expectJobs(release, succeed(...targets.map(buildOf), ...tests, 'publish'));
    expect(logsOf(release, 'test (3.10, native)')).toContain('tested 1.0.1 native');
    const published = (of: WorkflowRun) =>
      [...logsOf(of, 'publish').matchAll(/^published (.+?)\r?$/gm)].map(([, name]) => name).sort();
    const expected = ['daft-1.0.1.tar.gz', ...targets.map((target) => wheelOf(target, '1.0.1'))].sort();
    expect(published(release)).toEqual(expected);

    // A second attempt publishes the wheels of the first.
    const again = await run(repository, { ...tag, runId: '21', attempt: '2' });
    expectJobs(again, succeed(...targets.map(buildOf), ...tests, 'publish'));
    expect(again.log).not.toContain('Successfully built');
    expect(published(again)).toEqual(expected);
  });
});
