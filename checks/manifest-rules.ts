/** Rules for the action.yml files: what several of them declare reads alike, and the register of actions has them all. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import { ACTION_NAMES, ACTIONS, type Manifest, readManifest } from '../scripts/actions.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** Names that mean different things in different actions, and why: all others are declared alike. */
type Exceptions = Readonly<Record<string, string>>;

const INPUT_EXCEPTIONS: Exceptions = {
  path: 'store finds the wheel there, fetch puts the wheels there',
  target: 'store names one wheel, find and fetch several',
};
const OUTPUT_EXCEPTIONS: Exceptions = {
  'skip-build': 'store says what it did, find and fetch what they found',
  'wheel-url': 'store always has exactly one wheel, find and fetch none or several',
};

/** What breaks the rules in the action.yml files and the register of actions, a line each. */
export async function manifestFaults(): Promise<string[]> {
  const manifests: Record<string, Manifest> = {};
  for (const action of ACTION_NAMES) manifests[action] = await readManifest(action);
  return [
    ...differences('input', byAction(manifests, 'inputs'), INPUT_EXCEPTIONS),
    ...differences('output', byAction(manifests, 'outputs'), OUTPUT_EXCEPTIONS),
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
 * What several actions declare under one name, and not with the same description, default and `required`; and each
 * exception that is none any more.
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
      : [`the ${kind} '${name}' is an exception, and ${actions} declare it alike`];
  });
  return [
    ...faults,
    ...unknown.map((name) => `the ${kind} '${name}' is an exception, and nobody declares it`),
  ];
}

/** The runner starts what the build makes of the entry that the register names. */
function entryFaults(action: keyof typeof ACTIONS, { runs }: Manifest): string[] {
  const { manifest, entry } = ACTIONS[action];
  const main = posix.join(posix.dirname(manifest), runs.main);
  return [
    ...(main === `dist/${action}.js` ? [] : [`${manifest} starts ${main}, not dist/${action}.js`]),
    ...(existsSync(join(ROOT, entry)) ? [] : [`scripts/actions.ts names ${entry}, which is not there`]),
  ];
}

/** The action.yml files that people can use: that of the root, and those of the folders beside it. */
async function manifestPaths(): Promise<string[]> {
  const folders = ['.', ...(await readdir(ROOT)).filter((name) => !name.startsWith('.'))];
  return folders
    .map((folder) => posix.join(folder, 'action.yml'))
    .filter((path) => existsSync(join(ROOT, path)));
}

/**
 * The action.yml files that the register lacks.
 *
 * @param paths - from the root
 */
export function unregistered(paths: readonly string[]): string[] {
  const known: readonly string[] = Object.values(ACTIONS).map(({ manifest }) => manifest);
  return paths.filter((path) => !known.includes(path)).map((path) => `scripts/actions.ts lacks ${path}`);
}
