/**
 * Rules for the action.yml files: shared inputs and outputs have the same declaration, no description holds an expression,
 * and all files are registered.
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import { ACTION_NAMES, ACTIONS, type Manifest, readManifest } from '../scripts/actions.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** Names that mean different things in different actions, with the reason; all others must be declared alike. */
type Exceptions = Readonly<Record<string, string>>;

const INPUT_EXCEPTIONS: Exceptions = {
  path: 'store reads the wheel there, fetch writes wheels there',
  commit: 'store accepts one commit, find and fetch several',
  expect: 'store expects wheels at path, find and fetch in the store',
  target: 'store names one wheel or all, find and fetch look several up, publish takes all by default',
};
const OUTPUT_EXCEPTIONS: Exceptions = {
  'skip-build': 'store reports what it did, find and fetch what they found',
};

/** All violations in the action.yml files and the register of actions, a line each. */
export async function manifestFaults(): Promise<string[]> {
  const manifests: Record<string, Manifest> = {};
  for (const action of ACTION_NAMES) manifests[action] = await readManifest(action);
  return [
    ...differences('input', byAction(manifests, 'inputs'), INPUT_EXCEPTIONS),
    ...differences('output', byAction(manifests, 'outputs'), OUTPUT_EXCEPTIONS),
    ...evaluated('input', byAction(manifests, 'inputs')),
    ...evaluated('output', byAction(manifests, 'outputs')),
    ...ACTION_NAMES.flatMap((action) => entryFaults(action, manifests[action]!)),
    ...unregistered(await manifestPaths()),
  ];
}

/** Declarations of inputs or of outputs: by action, then by name. */
type Declarations = Readonly<Record<string, Readonly<Record<string, object>>>>;

function byAction(manifests: Readonly<Record<string, Manifest>>, part: 'inputs' | 'outputs'): Declarations {
  return Object.fromEntries(Object.entries(manifests).map(([action, manifest]) => [action, manifest[part]]));
}

/**
 * Finds names that several actions declare with different descriptions, defaults or `required`, and exceptions that are
 * no longer needed.
 *
 * @param kind - `input` or `output`, for the lines
 */
export function differences(kind: string, declared: Declarations, exceptions: Exceptions): string[] {
  const names = new Set(Object.values(declared).flatMap(Object.keys));
  const unknown = Object.keys(exceptions).filter((name) => !names.has(name));
  const faults = [...names].flatMap((name) => {
    const uses = Object.entries(declared).filter(([, all]) => name in all);
    const texts = uses.map(([, all]) => JSON.stringify(Object.entries(all[name]!).sort()));
    const differs = new Set(texts).size > 1;
    if (differs === name in exceptions) return [];
    const actions = uses.map(([action]) => action).join(', ');
    return differs
      ? [`the ${kind} '${name}' is declared differently in ${actions}`]
      : [`the ${kind} '${name}' is an exception, but ${actions} declare it alike`];
  });
  return [
    ...faults,
    ...unknown.map((name) => `the ${kind} '${name}' is an exception, but no action declares it`),
  ];
}

/** Finds descriptions with an expression: GitHub evaluates it, allows none there, and then refuses the whole file. */
export function evaluated(kind: string, declared: Declarations): string[] {
  return Object.entries(declared).flatMap(([action, all]) =>
    Object.entries(all)
      .filter(([, { description = '' }]: [string, { description?: string }]) => description.includes('${{'))
      .map(([name]) => `the description of the ${kind} '${name}' of ${action} holds an expression`),
  );
}

/** Checks that an action.yml starts the bundle of its registered entry. */
function entryFaults(action: keyof typeof ACTIONS, { runs }: Manifest): string[] {
  const { manifest, entry } = ACTIONS[action];
  const main = posix.join(posix.dirname(manifest), runs.main);
  return [
    ...(main === `dist/${action}.js` ? [] : [`${manifest} starts ${main}, not dist/${action}.js`]),
    ...(existsSync(join(ROOT, entry)) ? [] : [`scripts/actions.ts names ${entry}, which does not exist`]),
  ];
}

/** All action.yml files in the root and its folders. */
async function manifestPaths(): Promise<string[]> {
  const folders = ['.', ...(await readdir(ROOT)).filter((name) => !name.startsWith('.'))];
  return folders
    .map((folder) => posix.join(folder, 'action.yml'))
    .filter((path) => existsSync(join(ROOT, path)));
}

/**
 * Finds action.yml files that are not registered.
 *
 * @param paths - from the root
 */
export function unregistered(paths: readonly string[]): string[] {
  const known: readonly string[] = Object.values(ACTIONS).map(({ manifest }) => manifest);
  return paths
    .filter((path) => !known.includes(path))
    .map((path) => `scripts/actions.ts does not list ${path}`);
}
