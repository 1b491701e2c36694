import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '../../testing/runner.ts';

/** Tests of code outside src/, and tests that need more than one module. */
const OTHERS = ['checks', 'contract', 'judges', 'scripts', 'simulation', 'testing'];

test('each folder of tests has the name of a folder in src/', () => {
  const foldersOf = (folder: string) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  const sources = foldersOf('src');
  const folders = foldersOf('__tests__').filter((name) => !OTHERS.includes(name));
  expect(folders.filter((name) => !sources.includes(name))).toEqual([]);
  expect(folders.length).toBeGreaterThan(5);
});
