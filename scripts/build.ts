/**
 * Builds dist/: one ES module per action, the chunks they share, and the licences of what they contain.
 *
 *     node scripts/build.ts [FOLDER]
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { licencesOf } from './licences.ts';

/**
 * `@actions/core` imports its OIDC helper, which imports undici: 400 KB and 90 ms for a token that we never
 * ask for.
 */
const withoutOidc: Plugin = {
  name: 'without-oidc',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]@actions[\\/]core[\\/]lib[\\/]oidc-utils\.js$/ }, () => ({
      contents: 'export class OidcClient {}',
    }));
  },
};

/**
 * `@actions/github` imports undici for its proxies, where ours go through Node's own agents (src/actions/github.ts),
 * and a method for every request of GitHub's API, of which we send four by their routes: 500 KB.
 */
const withoutUnusedOfGitHub: Plugin = {
  name: 'without-unused-of-github',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^(undici|@octokit\/plugin-rest-endpoint-methods)$/ }, ({ path }) => ({
      path,
      namespace: 'unused',
    }));
    onLoad({ filter: /.*/, namespace: 'unused' }, () => ({
      contents:
        'export const fetch = globalThis.fetch; export class ProxyAgent {} export const restEndpointMethods = () => ({});',
    }));
  },
};

const outdir = process.argv[2] ?? 'dist';
await rm(outdir, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: ['src/main/store.ts', 'src/main/find.ts', 'src/main/fetch.ts'],
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
  plugins: [withoutOidc, withoutUnusedOfGitHub],
});
await writeFile(join(outdir, 'LICENSES.txt'), await licencesOf(metafile));
const sizes = Object.values(metafile.outputs).map(({ bytes }) => bytes);
console.log(`${outdir}: ${sizes.length} files, ${sizes.reduce((sum, bytes) => sum + bytes, 0)} bytes`);
