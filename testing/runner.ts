/** A small stand-in for GitHub's runner: runs one step, and returns its outputs, summary and log. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ACTIONS, type ActionName, type Manifest, readManifest } from '../scripts/actions.ts';

/** The repository's root. */
export const ROOT = resolve(import.meta.dirname, '..');

export type { ActionName };

/** One step of a job. */
export interface Step {
  readonly action: ActionName;
  /** `with:` */
  readonly inputs?: Readonly<Record<string, string>>;
  /** Environment variables that override the defaults; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly workspace: string;
  /** Called with the process as soon as it runs, so that a test can send signals. */
  readonly onStart?: (process: ChildProcess) => void;
  /** A command that gets the step as its last arguments, such as one that mounts a small disk first. */
  readonly wrap?: readonly string[];
}

/** A workflow command that the step printed. */
export interface WorkflowCommand {
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly message: string;
}

/** The result of a step, as the runner sees it. */
export interface StepResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly outputs: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly log: string;
  readonly commands: readonly WorkflowCommand[];
  /** The messages of error annotations. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** The token of a job (`github.token`), in the form of an app's installation token. */
export const JOB_TOKEN = 'ghs_tokenOfThisJob';

/** Node 24, since scripts/bootstrap.mjs runs all scripts with it. */
export const NODE = process.execPath;

/** Runs one step like the runner: `runs.main` on Node 24, in a separate process. */
export async function runStep(step: Step): Promise<StepResult> {
  const folder = await mkdtemp(join(tmpdir(), 'runner-'));
  try {
    const files = { output: join(folder, 'output'), summary: join(folder, 'summary') };
    await Promise.all([writeFile(files.output, ''), writeFile(files.summary, '')]);
    const manifest = await readManifest(step.action);
    const env = environment(step, manifest, files);
    const manifestFolder = dirname(join(ROOT, ACTIONS[step.action].manifest));
    const ended = await runProcess(join(manifestFolder, manifest.runs.main), env, step);
    const commands = readCommands(ended.log);
    return {
      ...ended,
      outputs: readFileCommands(await readFile(files.output, 'utf8')),
      summary: await readFile(files.summary, 'utf8'),
      commands,
      errors: commands.filter(({ name }) => name === 'error').map(({ message }) => message),
      warnings: commands.filter(({ name }) => name === 'warning').map(({ message }) => message),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function environment(
  step: Step,
  manifest: Manifest,
  files: { output: string; summary: string },
): NodeJS.ProcessEnv {
  const given = step.inputs ?? {};
  for (const name of Object.keys(given)) {
    if (!(name in manifest.inputs)) throw new Error(`${step.action} declares no input '${name}'`);
  }
  const env: Record<string, string | undefined> = {
    PATH: process.env.PATH,
    HOME: dirname(files.output),
    NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
    SystemRoot: process.env.SystemRoot,
    GITHUB_ACTIONS: 'true',
    GITHUB_WORKSPACE: step.workspace,
    GITHUB_REPOSITORY: 'octo/demo',
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_EVENT_NAME: 'push',
    GITHUB_SHA: 'c'.repeat(40),
    GITHUB_RUN_ID: '7',
    GITHUB_RUN_ATTEMPT: '1',
    GITHUB_OUTPUT: files.output,
    GITHUB_STEP_SUMMARY: files.summary,
    ...step.env,
  };
  for (const [name, { default: fallback }] of Object.entries(manifest.inputs)) {
    const value = given[name] ?? evaluate(fallback ?? '', env);
    env[`INPUT_${name.replaceAll(' ', '_').toUpperCase()}`] = value;
  }
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

/** Evaluates the expressions that occur in defaults of our action.yml files. */
function evaluate(text: string, env: Record<string, string | undefined>): string {
  return text.replace('${{ github.sha }}', env.GITHUB_SHA ?? '').replace('${{ github.token }}', JOB_TOKEN);
}

async function runProcess(
  main: string,
  env: NodeJS.ProcessEnv,
  { workspace, onStart, wrap = [] }: Step,
): Promise<Pick<StepResult, 'code' | 'signal' | 'log'>> {
  const [command = NODE, ...commandArguments] = [...wrap, NODE, main];
  const child = spawn(command, commandArguments, { cwd: workspace, env, stdio: ['ignore', 'pipe', 'pipe'] });
  onStart?.(child);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (code, signal) => done({ code, signal, log: Buffer.concat(chunks).toString('utf8') }));
  });
}

/** Parses the `name=value` and `name<<delimiter` lines of GITHUB_OUTPUT; the last value of a name counts. */
function readFileCommands(text: string): Record<string, string> {
  const outputs: Record<string, string> = {};
  const lines = text.split('\n');
  for (let index = 0; index < lines.length; index += 1) {
    const [, name, delimiter] = /^([^=]+?)<<(.+)$/.exec(lines[index]!) ?? [];
    if (name === undefined || delimiter === undefined) {
      const [key, ...rest] = lines[index]!.split('=');
      if (rest.length > 0) outputs[key!] = rest.join('=');
      continue;
    }
    const end = lines.indexOf(delimiter, index + 1);
    outputs[name] = lines.slice(index + 1, end).join('\n');
    index = end;
  }
  return outputs;
}

/** Finds workflow commands: `::name key=value,…::message` at the start of a line, `##[name]message` anywhere in it. */
export function readCommands(log: string): WorkflowCommand[] {
  const commands: WorkflowCommand[] = [];
  for (const line of log.split(/\r\n|\n|\r/)) {
    const [, name, properties, message] =
      /^\s*::([^\s:]+)(?: ([^:]*(?:::?[^:]+)*?))?::(.*)$/.exec(line) ?? [];
    if (name !== undefined && message !== undefined) {
      commands.push({ name, properties: readProperties(properties ?? ''), message: unescapeData(message) });
      continue;
    }
    const [, old, rest] = /##\[(\S+?)(?: [^\]]*)?\](.*)$/.exec(line) ?? [];
    if (old !== undefined) commands.push({ name: old, properties: {}, message: rest ?? '' });
  }
  return commands;
}

function readProperties(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name, ...value] = pair.split('=');
      return [name!.trim(), unescapeData(value.join('=').replaceAll('%3A', ':').replaceAll('%2C', ','))];
    }),
  );
}

function unescapeData(text: string): string {
  return text.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%25', '%');
}

/** The text of a summary as GitHub shows it, with character references decoded. */
export function shownText(markdown: string): string {
  return markdown.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}
