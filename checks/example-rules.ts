/**
 * Rules that no linter checks, for the workflows in README, docs and examples that people copy: outputs are passed to
 * shells in `env:`, and pull requests cannot store wheels where releases read them.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

interface Step {
  readonly uses?: string;
  readonly if?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly env?: Readonly<Record<string, unknown>>;
  readonly if?: string;
  readonly steps?: readonly Step[];
}

interface Workflow {
  readonly on?: unknown;
  readonly env?: Readonly<Record<string, unknown>>;
  readonly jobs?: Readonly<Record<string, Job | null>>;
}

const ROOT = resolve(import.meta.dirname, '..');
const OURS = 'org/wheel-store-action';
/** Only main's role may write here, and releases read here: the default of `prefix`. */
const TRUSTED_PREFIX = 'builds';
const BY_EVENT = (no: string, yes: string) =>
  new RegExp(`^\\$\\{\\{ github\\.event_name == 'pull_request' && ${yes} \\|\\| ${no} \\}\\}$`);
const PREFIX_BY_EVENT = BY_EVENT("'[^']*'", "'(?<value>[^']*)'");
const ROLE_BY_EVENT = BY_EVENT('vars\\.[A-Z_]+', '(?<value>vars\\.[A-Z_]+)');
const NOT_ON_PULL_REQUESTS = /github\.event_name (?:!= 'pull_request'|== '(?!pull_request)\w+')/;

/** All violations in README.md, docs/ and examples/, a line each. */
export async function exampleFaults(): Promise<string[]> {
  const folders = ['docs', 'examples', 'examples/from'];
  const found = folders.map(async (folder) => {
    const names = await readdir(join(ROOT, folder));
    return names.filter((name) => /\.(md|yml)$/.test(name)).map((name) => `${folder}/${name}`);
  });
  const names = ['README.md', ...(await Promise.all(found)).flat()];
  const faults = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(ROOT, name), 'utf8');
      const blocks = name.endsWith('.md') ? blocksOf(text) : [text];
      const found = blocks.flatMap((block) => [...shellFaults(block), ...trustFaults(block)]);
      return found.map((fault) => `${name}: ${fault}`);
    }),
  );
  return faults.flat();
}

/** The fenced YAML blocks of a document, including those in lists. */
export function blocksOf(document: string): string[] {
  return [...document.matchAll(/^( *)```ya?ml\n(.*?)^\1```$/gms)].map(([, indent, block]) =>
    block!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/**
 * Finds scripts that contain an expression. GitHub inserts its value before the shell parses the script, so `$(…)` in
 * the name of a branch or file would be executed.
 */
export function shellFaults(text: string): string[] {
  const scripts = scriptsIn(parse(text));
  return scripts
    .filter((script) => script.includes('${{'))
    .map((script) => `an expression inside run, instead of env: ${script.trim()}`);
}

function scriptsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === 'run' && typeof value === 'string' ? [value] : scriptsIn(value),
  );
}

/**
 * Finds ways in which untrusted code could get into a release:
 *
 * - pull requests store under the prefix of releases
 * - pull requests, or all branches, get main's role
 * - a release takes the wheel of any run
 */
export function trustFaults(text: string): string[] {
  const workflow = (parse(text) ?? {}) as Workflow;
  const { on, jobs } = workflow;
  if (on === undefined || jobs === undefined) return [];
  const isOnPullRequests = eventsOf(on).some((event) => /^pull_request(_target)?$/.test(event));
  return [
    ...pushFaults(on, text),
    ...Object.entries(jobs).flatMap(([name, job]) => {
      const env = { ...workflow.env, ...job?.env };
      const steps = (job?.steps ?? []).filter(
        (step) => isOnPullRequests && !NOT_ON_PULL_REQUESTS.test(`${job?.if} ${step.if}`),
      );
      const found = [...steps.flatMap((step) => stepFaults(step, env)), ...releaseFaults(job ?? {}, env)];
      return found.map((fault) => `job ${name}: ${fault}`);
    }),
  ];
}

function eventsOf(on: unknown): string[] {
  if (typeof on === 'string') return [on];
  return Array.isArray(on) ? on.map(String) : Object.keys(on as object);
}

function pushFaults(on: unknown, text: string): string[] {
  if (!eventsOf(on).includes('push') || !text.includes('vars.WHEEL_ROLE')) return [];
  const push = typeof on === 'object' && on !== null ? (on as Record<string, unknown>).push : undefined;
  const isNarrow = typeof push === 'object' && push !== null && ('branches' in push || 'tags' in push);
  return isNarrow ? [] : ['push names no branches, but only main may assume the role'];
}

/** Violations of a step that also runs for pull requests. */
function stepFaults(step: Step, env: Readonly<Record<string, unknown>>): string[] {
  if (step.uses?.startsWith('aws-actions/configure-aws-credentials@')) {
    const role = resolved(step.with?.['role-to-assume'] ?? '', env);
    const assumed = ROLE_BY_EVENT.exec(role)?.groups?.value ?? role;
    return /vars\.WHEEL_ROLE\b/.test(assumed) ? [`a pull request assumes main's role: ${role}`] : [];
  }
  if (!step.uses?.startsWith(`${OURS}@`)) return [];
  const prefix = resolved(step.with?.prefix ?? TRUSTED_PREFIX, env);
  const written = PREFIX_BY_EVENT.exec(prefix)?.groups?.value ?? prefix;
  if (written.includes('${{')) return [`the prefix for pull requests is unknown: ${written}`];
  const folders = written.split('/').filter((folder) => folder !== '');
  return folders.length === 0 || folders[0] === TRUSTED_PREFIX
    ? [`a pull request stores where releases read: prefix '${written}'`]
    : [];
}

/** A job that publishes may read only from the trusted prefix, and only wheels of the tested run. */
function releaseFaults({ steps = [] }: Job, env: Readonly<Record<string, unknown>>): string[] {
  if (!steps.some(({ uses }) => uses?.startsWith('pypa/gh-action-pypi-publish@'))) return [];
  const fetches = steps.filter(({ uses }) => uses?.startsWith(`${OURS}/fetch@`));
  return fetches.flatMap(({ with: inputs = {} }) => {
    const prefix = resolved(inputs.prefix ?? TRUSTED_PREFIX, env);
    return [
      ...(prefix === TRUSTED_PREFIX ? [] : [`a release reads the prefix '${prefix}'`]),
      ...(inputs['run-id'] !== undefined || inputs.scope === 'run' || inputs.scope === 'attempt'
        ? []
        : ['a release takes the wheel of any run: set run-id, or scope: run']),
    ];
  });
}

/** Resolves `${{ env.NAME }}`; other values stay as they are. */
function resolved(value: unknown, env: Readonly<Record<string, unknown>>): string {
  const [, name] = /^\$\{\{ env\.(\w+) \}\}$/.exec(String(value)) ?? [];
  return String(name === undefined ? value : (env[name] ?? ''));
}
