import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '../../testing/runner.ts';

/** What is tested besides src/, and the tests that need more than a module. */
const OTHERS = ['checks', 'contract', 'judges', 'scripts', 'simulation', 'testing'];

test('each folder of tests is one of those of src/, by the same name', () => {
  const foldersOf = (folder: string) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  const sources = foldersOf('src');
  const folders = foldersOf('__tests__').filter((name) => !OTHERS.includes(name));
  expect(folders.filter((name) => !sources.includes(name))).toEqual([]);
  expect(folders.length).toBeGreaterThan(5);
});
