/** What the build does to modules on their way into dist/, so that an action starts fast. */
import { readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import type { Plugin } from 'esbuild';

/** Files of packages that are not needed, or that Node replaces, and their replacements. */
const REPLACED: readonly [file: RegExp, contents: string][] = [
  // The OIDC helper imports undici: 400 KB and 90 ms for a token that we never ask for.
  [/[\\/]@actions[\\/]core[\\/]lib[\\/]oidc-utils\.js$/, 'export class OidcClient {}'],
  // Returns the name of the operating system, which pulls in code to run programs.
  [/[\\/]@actions[\\/]core[\\/]lib[\\/]platform\.js$/, 'export {};'],
  // `@actions/http-client` and `@actions/github` import undici for a proxy agent and a `fetch` that are not used here.
  [
    /[\\/]undici[\\/]index\.js$/,
    'export class ProxyAgent {} export const fetch = (...asked) => globalThis.fetch(...asked);',
  ],
  // 85 KB of WebAssembly for checksums of Azure's that have to be asked for.
  [/[\\/]@azure[\\/]storage-common[\\/]dist[\\/]esm[\\/]crc64\.js$/, 'export default undefined;'],
  // The global `crypto` loads all of Web Crypto for a random identifier.
  [
    /[\\/]@smithy[\\/]core[\\/]dist-es[\\/]submodules[\\/]serde[\\/]uuid[\\/]v4\.js$/,
    "import { randomUUID } from 'node:crypto'; export const bindV4 = () => () => randomUUID();",
  ],
];

export const withoutUnused: Plugin = {
  name: 'without-unused',
  setup({ onLoad }) {
    for (const [filter, contents] of REPLACED) onLoad({ filter }, () => ({ contents }));
  },
};

/**
 * An `import` of one of Node's own modules makes Node read each of its exports; for `node:http` that loads undici,
 * which takes longer than all the rest of an action. Asked for by `process.getBuiltinModule` it does not.
 */
export const builtinsByCall: Plugin = {
  name: 'builtins-by-call',
  setup({ onResolve, onLoad }) {
    const names = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));
    onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ path }) =>
      names.has(path) ? { path: path.replace(/^node:/, ''), namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(`node:${path}`)});`,
      loader: 'js',
    }));
  },
};

/**
 * The SDK describes every operation of S3 in one module of arrays. Their keys are constants, which esbuild does not
 * see, so it keeps them all; told that making one has no other effect, it drops those that nobody uses.
 */
export const onlyUsedSchemas: Plugin = {
  name: 'only-used-schemas',
  setup({ onLoad }) {
    onLoad(
      { filter: /[\\/]@aws-sdk[\\/]client-[a-z0-9-]+[\\/]dist-es[\\/]schemas[\\/]schemas_0\.js$/ },
      async ({ path }) => {
        const text = await readFile(path, 'utf8');
        const contents = text.replace(
          /^((?:export )?(?:var|const) \w+\$? = )(\[.*\]|\[[\s\S]*?^\]);$/gm,
          '$1/* @__PURE__ */ (() => $2)();',
        );
        if (contents === text)
          throw new Error(`${path} is not written as it was; look at onlyUsedSchemas again.`);
        return { contents };
      },
    );
  },
};
