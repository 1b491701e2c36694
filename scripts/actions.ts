/** The register of this repository's actions, the only list of them. Used by build, checks, tests and mutants. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

const ROOT = resolve(import.meta.dirname, '..');

/** By name: the path of its action.yml, and the entry point that esbuild bundles into `dist/NAME.js`. */
export const ACTIONS = {
  store: { manifest: 'action.yml', entry: 'src/main/store.ts' },
  find: { manifest: 'find/action.yml', entry: 'src/main/find.ts' },
  fetch: { manifest: 'fetch/action.yml', entry: 'src/main/fetch.ts' },
  publish: { manifest: 'publish/action.yml', entry: 'src/main/publish.ts' },
} as const;

/** The name of an action. */
export type ActionName = keyof typeof ACTIONS;

/** All names, in the order of {@link ACTIONS}. */
export const ACTION_NAMES = Object.keys(ACTIONS) as readonly ActionName[];

/** The parts of an action.yml that are used here (GitHub docs, "Metadata syntax"). */
export interface Manifest {
  readonly inputs: Readonly<Record<string, DeclaredInput>>;
  readonly outputs: Readonly<Record<string, DeclaredOutput>>;
  readonly runs: { readonly using: string; readonly main: string };
}

/** One input in an action.yml. */
export interface DeclaredInput {
  readonly description: string;
  readonly default?: string;
  readonly required?: boolean;
}

/** One output in an action.yml. */
export interface DeclaredOutput {
  readonly description: string;
}

/** Reads the action.yml of an action. */
export async function readManifest(action: ActionName): Promise<Manifest> {
  return parse(await readFile(join(ROOT, ACTIONS[action].manifest), 'utf8'));
}
