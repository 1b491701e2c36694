/** Names for the chunks of dist/ that say what is in them, and stay when that changes; those of esbuild are hashes. */
import { posix } from 'node:path';
import type { Metafile } from 'esbuild';

type Outputs = Metafile['outputs'];

/** Words of a module's path that tell nothing. */
const NAMELESS: ReadonlySet<string> = new Set([
  'node_modules',
  'dist',
  'es',
  'lib',
  'src',
  'submodules',
  'index',
]);

/**
 * A name for each chunk, by the file's name that esbuild gave it. It is that of the module for which the chunk is
 * loaded, else of its largest module, where ours come first: `comment-post.js`, `bowser.js`.
 *
 * @throws Error when two chunks would have the same name
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

/** The text of one output with the chunks that it imports under their new names. */
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
  // What esbuild itself needs at run time.
  if (module === undefined) return 'runtime';
  const words = module
    .replace(/^builtin:/, 'node-')
    .replace(/^.*?node_modules\/|^src\//, '')
    .replace(/\.\w+$/, '')
    .toLowerCase()
    .split(/[^\w.]+/)
    .filter((word) => word !== '' && !NAMELESS.has(word))
    .filter((word, index, all) => word !== all[index - 1]);
  // What the module exports is in another chunk, which others need too.
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
