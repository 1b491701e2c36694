/**
 * Builds dist/: one ES module per action, those of the thread and the process beside fetch, the chunks they share, and the licences
 * of what they contain.
 *
 *     node scripts/build.ts [FOLDER]
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { ACTIONS } from './actions.ts';
import { builtinsByCall, onlyUsedSchemas, withoutUnused } from './bundle-plugins.ts';
import { chunkNames, withChunkNames } from './chunk-names.ts';
import { licencesOf } from './licences.ts';

const outdir = process.argv[2] ?? 'dist';
await rm(outdir, { recursive: true, force: true });
const shared = {
  outdir,
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // The SDK's ES modules let what is not used fall away; its CommonJS files do not.
  mainFields: ['module', 'main'],
  chunkNames: 'chunks/[hash]',
  write: false,
  legalComments: 'none',
  metafile: true,
} satisfies BuildOptions;
const built = [
  await build({
    ...shared,
    entryPoints: Object.values(ACTIONS).map(({ entry }) => entry),
    plugins: [withoutUnused, builtinsByCall, onlyUsedSchemas],
  }),
  // By themselves: what they shared with the actions would be more chunks for each of them to load.
  await build({ ...shared, entryPoints: ['src/main/hash.ts'], plugins: [builtinsByCall] }),
  await build({
    ...shared,
    entryPoints: ['src/main/cache.ts'],
    plugins: [withoutUnused, builtinsByCall],
    // `@actions/cache` tells its errors apart by the names of their classes.
    keepNames: true,
  }),
];
const outputs = Object.assign({}, ...built.map(({ metafile }) => metafile.outputs));
const names = chunkNames(outputs);
const files = built.flatMap(({ outputFiles }) => outputFiles);
const sizes = await Promise.all(
  files.map(async ({ path, text }) => {
    const name = basename(path);
    const contents = withChunkNames(text, names);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(join(dirname(path), names.get(name) ?? name), contents);
    return Buffer.byteLength(contents);
  }),
);
await writeFile(join(outdir, 'LICENSES.txt'), await licencesOf({ outputs }));
console.log(`${outdir}: ${sizes.length} files, ${sizes.reduce((sum, bytes) => sum + bytes, 0)} bytes`);
