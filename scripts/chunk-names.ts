/** Gives the chunks of dist/ stable, descriptive names instead of esbuild's hashes. */
import { posix } from 'node:path';
import type { Metafile } from 'esbuild';

type Outputs = Metafile['outputs'];

/** Parts of a module's path that are not descriptive. */
const GENERIC_WORDS: ReadonlySet<string> = new Set([
  'node_modules',
  'dist',
  'es',
  'lib',
  'src',
  'submodules',
  'index',
]);

/**
 * Maps each of esbuild's chunk filenames to a new one, such as `comment-post.js` or `bowser.js`. A chunk is named after
 * the module that is its entry point, or else after its largest module, preferably one in src/.
 *
 * @throws Error if two chunks would have the same name
 */
export function chunkNames(outputs: Outputs): Map<string, string> {
  const names = new Map<string, string>();
  const modules = new Map<string, string>();
  for (const [path, output] of Object.entries(outputs)) {
    if (!isChunk(path)) continue;
    const name = `${nameOf(output)}.js`;
    const module = mainModule(output) ?? '';
    if (modules.has(name))
      throw new Error(`The chunks of ${modules.get(name)} and ${module} would both be ${name}.`);
    modules.set(name, module);
    names.set(posix.basename(path), name);
  }
  return names;
}

/** Replaces the names of imported chunks in the text of an output. */
export function withChunkNames(text: string, names: ReadonlyMap<string, string>): string {
  let renamed = text;
  for (const [from, to] of names) renamed = renamed.replaceAll(`/${from}"`, `/${to}"`);
  return renamed;
}

function isChunk(path: string): boolean {
  return posix.basename(posix.dirname(path)) === 'chunks';
}

function nameOf(output: Outputs[string]): string {
  const module = mainModule(output);
  // esbuild's own runtime code.
  if (module === undefined) return 'runtime';
  const words = module
    .replace(/^builtin:/, 'node-')
    .replace(/^.*?node_modules\/|^src\//, '')
    .replace(/\.\w+$/, '')
    .toLowerCase()
    .split(/[^\w.]+/)
    .filter((word) => word !== '' && !GENERIC_WORDS.has(word))
    .filter((word, index, all) => word !== all[index - 1]);
  // The module itself is in another chunk, which is shared.
  const isElsewhere = output.entryPoint !== undefined && !(output.entryPoint in output.inputs);
  return [...words, ...(isElsewhere ? ['exports'] : [])].join('-');
}

function mainModule({ entryPoint, inputs }: Outputs[string]): string | undefined {
  if (entryPoint !== undefined) return entryPoint;
  const modules = Object.entries(inputs).map(([path, { bytesInOutput }]) => ({ path, bytesInOutput }));
  const isOurs = (path: string) => path.startsWith('src/');
  modules.sort(
    (a, b) =>
      Number(isOurs(b.path)) - Number(isOurs(a.path)) ||
      b.bytesInOutput - a.bytesInOutput ||
      (a.path < b.path ? -1 : 1),
  );
  return modules[0]?.path;
}
