/**
 * Builds dist/: one ES module per action, that of the process beside fetch, and the chunks they share.
 *
 *     node scripts/build.ts [FOLDER]
 */
import { rm } from 'node:fs/promises';
import { type BuildOptions, build, type Plugin } from 'esbuild';

/** Files of packages that nothing of ours ever comes to, and what stands in their places. */
const UNUSED: readonly [file: RegExp, contents: string][] = [
  // The OIDC helper imports undici: 400 KB and 90 ms for a token that we never ask for.
  [/[\\/]@actions[\\/]core[\\/]lib[\\/]oidc-utils\.js$/, 'export class OidcClient {}'],
  // `@actions/http-client`, the only one here to import undici, takes its proxy agent for callers that bring `fetch`.
  [/[\\/]undici[\\/]index\.js$/, 'export class ProxyAgent {}'],
  // 85 KB of WebAssembly for checksums of Azure's that have to be asked for.
  [/[\\/]@azure[\\/]storage-common[\\/]dist[\\/]esm[\\/]crc64\.js$/, 'export default undefined;'],
];

const withoutUnused: Plugin = {
  name: 'without-unused',
  setup({ onLoad }) {
    for (const [filter, contents] of UNUSED) onLoad({ filter }, () => ({ contents }));
  },
};

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
  chunkNames: 'chunks/[name]-[hash]',
  legalComments: 'none',
  metafile: true,
  banner: {
    // CommonJS packages in an ES module ask for Node's own modules through `require`.
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
  plugins: [withoutUnused],
} satisfies BuildOptions;
const built = [
  await build({ ...shared, entryPoints: ['src/main/store.ts', 'src/main/find.ts', 'src/main/fetch.ts'] }),
  // By itself: what it shared with the actions would be more chunks for each of them to load.
  // `@actions/cache` tells its errors apart by the names of their classes.
  await build({ ...shared, entryPoints: ['src/main/cache.ts'], keepNames: true }),
];
const sizes = built.flatMap(({ metafile }) => Object.values(metafile.outputs).map(({ bytes }) => bytes));
console.log(`${outdir}: ${sizes.length} files, ${sizes.reduce((sum, bytes) => sum + bytes, 0)} bytes`);
