import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { BY_HAND } from '../../testing/mutants/by-hand.ts';
import { ROOT } from '../../testing/runner.ts';

test.each(BY_HAND)('the line that the mutant "$name" changes is in $file once', async ({ file, find }) => {
  expect((await readFile(join(ROOT, file), 'utf8')).split(find)).toHaveLength(2);
});
