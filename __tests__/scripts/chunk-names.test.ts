import { describe, expect, test } from '@jest/globals';
import { chunkNames, withChunkNames } from '../../scripts/chunk-names.ts';

/** A chunk as esbuild describes it. */
function chunk(inputs: Record<string, number>, entryPoint?: string) {
  const sizes = Object.entries(inputs).map(([path, bytesInOutput]) => [path, { bytesInOutput }] as const);
  return {
    bytes: 1,
    imports: [],
    exports: [],
    inputs: Object.fromEntries(sizes),
    ...(entryPoint === undefined ? {} : { entryPoint }),
  };
}

function nameOf(output: ReturnType<typeof chunk>): string | undefined {
  return chunkNames({ 'dist/chunks/ABCDEFGH.js': output }).get('ABCDEFGH.js');
}

describe('what a chunk is named after', () => {
  const cases: [title: string, output: ReturnType<typeof chunk>, name: string][] = [
    ['its largest module', chunk({ 'src/runner/log.ts': 9, 'src/errors.ts': 2 }), 'runner-log.js'],
    [
      'a module of ours before one of a package',
      chunk({ 'src/errors.ts': 2, 'node_modules/a/b.js': 9 }),
      'errors.js',
    ],
    [
      'the module that it is loaded for',
      chunk({ 'src/comment/post.ts': 1, 'src/comment/text.ts': 9 }, 'src/comment/post.ts'),
      'comment-post.js',
    ],
    [
      'a module whose contents are in another chunk',
      chunk({}, 'node_modules/@s/a/dist-es/index.js'),
      's-a-exports.js',
    ],
    [
      'a package without its scope, folders and repetitions',
      chunk({ 'node_modules/@s/a/lib/a/index.js': 1 }),
      's-a.js',
    ],
    ['a package that is installed elsewhere', chunk({ '../other/node_modules/a/B.mjs': 1 }), 'a-b.js'],
    ['a package of a package', chunk({ 'node_modules/a/node_modules/b/c.js': 1 }), 'a-b-c.js'],
    [
      "one of Node's own modules",
      chunk({ 'builtin:fs/promises': 1, 'builtin:path': 1 }),
      'node-fs-promises.js',
    ],
    ['the code that esbuild adds', chunk({}), 'runtime.js'],
  ];
  test.each(cases)('%s', (_title, output, name) => {
    expect(nameOf(output)).toBe(name);
  });

  test('of two equally large modules, always the same one', () => {
    expect(nameOf(chunk({ 'src/b.ts': 1, 'src/a.ts': 1 }))).toBe('a.js');
    expect(nameOf(chunk({ 'src/a.ts': 1, 'src/b.ts': 1 }))).toBe('a.js');
  });
});

test('entries keep their names', () => {
  expect(chunkNames({ 'dist/store.js': chunk({ 'src/main/store.ts': 1 }, 'src/main/store.ts') }).size).toBe(
    0,
  );
});

test('two chunks with the same name fail the build', () => {
  const outputs = {
    'dist/chunks/AAAAAAAA.js': chunk({ 'src/a/b.ts': 1 }),
    'dist/chunks/BBBBBBBB.js': chunk({ 'src/a-b.ts': 1 }),
  };
  expect(() => chunkNames(outputs)).toThrow('The chunks of src/a/b.ts and src/a-b.ts would both be a-b.js.');
});

test('imports refer to the chunks by their new names', () => {
  const names = new Map([
    ['AAAAAAAA.js', 'errors.js'],
    ['BBBBBBBB.js', 'comment-post.js'],
  ]);
  const text = 'import{a as b}from"./chunks/AAAAAAAA.js";import("./BBBBBBBB.js");"AAAAAAAA.js"';
  expect(withChunkNames(text, names)).toBe(
    'import{a as b}from"./chunks/errors.js";import("./comment-post.js");"AAAAAAAA.js"',
  );
});
