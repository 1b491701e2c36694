import { transformSync } from 'esbuild';

/** Lets jest run our TypeScript: esbuild drops the types, `tsc` checks them. */
export default {
  process(source, filename) {
    return transformSync(source, {
      loader: 'ts',
      format: 'esm',
      target: 'node24',
      sourcefile: filename,
      sourcemap: 'inline',
    });
  },
};
