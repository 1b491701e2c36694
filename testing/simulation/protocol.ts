/** The real code of src/slots, bundled with simulated requests, waits and ids. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '../..');
const SIMULATED = resolve(import.meta.dirname, 'simulated-bucket.ts');
const WORLD = resolve(import.meta.dirname, 'world.ts');

/** The modules that the simulation replaces. */
const REPLACED = /(?:bucket\/(?:objects|upload|text|url|deadline)\.ts|^node:timers\/promises|^node:crypto)$/;

/** A change to the source that the search must detect. */
export interface Mutation {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** The functions that the simulation calls: they place wheels, and write and read index pages. */
export type Protocol = Pick<typeof import('../../src/slots/place.ts'), 'placeInSlot'> &
  Pick<typeof import('../../src/slots/publish.ts'), 'publishIndex' | 'correctIndex'> &
  Pick<typeof import('../../src/slots/index-page.ts'), 'linksOf'>;

/** Loads the protocol as it is, or with a mutation. */
export async function loadProtocol(mutations: readonly Mutation[] = []): Promise<Protocol> {
  const folder = await mkdtemp(join(tmpdir(), 'protocol-'));
  try {
    const outfile = join(folder, 'protocol.mjs');
    await build({
      stdin: {
        contents: `
          export { placeInSlot } from './src/slots/place.ts';
          export { correctIndex, publishIndex } from './src/slots/publish.ts';
          export { linksOf } from './src/slots/index-page.ts';`,
        resolveDir: ROOT,
      },
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'node',
      plugins: [simulated, mutated(mutations)],
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const simulated: Plugin = {
  name: 'simulated',
  setup({ onResolve }) {
    onResolve({ filter: REPLACED }, ({ importer }) =>
      importer.includes('simulation') ? undefined : { path: SIMULATED },
    );
    // One world for the schedule and the code that it runs.
    onResolve({ filter: /world\.ts$/ }, () => ({ path: pathToFileURL(WORLD).href, external: true }));
  },
};

function mutated(mutations: readonly Mutation[]): Plugin {
  return {
    name: 'mutated',
    setup({ onLoad, onEnd }) {
      const missing = new Set(mutations);
      onLoad({ filter: /[\\/]src[\\/]slots[\\/][\w-]+\.ts$/ }, async ({ path }) => {
        let contents = await readFile(path, 'utf8');
        for (const mutation of mutations) {
          const { file, find, replace } = mutation;
          if (!path.replaceAll('\\', '/').endsWith(file)) continue;
          if (contents.split(find).length !== 2)
            throw new Error(`${file} must contain this exactly once: ${find}`);
          contents = contents.replace(find, () => replace);
          missing.delete(mutation);
        }
        return { contents, loader: 'ts' };
      });
      onEnd(() => {
        for (const { file } of missing) throw new Error(`The protocol does not import ${file}.`);
      });
    },
  };
}
