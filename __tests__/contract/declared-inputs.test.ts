/**
 * Every input that an action.yml declares is read, and has the default that it declares; every output is set.
 * The rows are in testing/input-table.ts. `npm run mutants` removes each default, each read and each output.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ACTION_NAMES, type ActionName, readManifest } from '../../scripts/actions.ts';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import {
  act,
  type Given,
  INPUTS,
  makeSite,
  provide,
  type Row,
  type Site,
} from '../../testing/input-table.ts';

let bucket: TestBucket;
let folder: string;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
  folder = await mkdtemp(join(tmpdir(), 'inputs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function startSite(action: ActionName): Promise<Site> {
  const made = makeSite(bucket, action, await mkdtemp(join(folder, 'site-')));
  await Promise.all([mkdir(made.workspace), mkdir(made.builder)]);
  return made;
}

describe.each(ACTION_NAMES)('%s declares', (action) => {
  test('the inputs of the table, with their defaults', async () => {
    const { inputs } = await readManifest(action);
    const declared = Object.entries(inputs).map(([name, input]) => [name, input.default ?? '']);
    const expected = Object.entries(INPUTS[action]).map(([name, row]) => [name, row.default]);
    expect(Object.fromEntries(declared)).toEqual(Object.fromEntries(expected));
  });

  test('the outputs that it sets', async () => {
    const site = await startSite(action);
    await provide(site);
    const { outputs } = await act(site, {});
    expect(Object.keys(outputs).sort()).toEqual(Object.keys((await readManifest(action)).outputs).sort());
    expect(Object.entries(outputs).filter(([, value]) => value === '')).toEqual([]);
  });
});

const cases = ACTION_NAMES.flatMap((action) =>
  Object.entries(INPUTS[action]).map(([name, row]): [string, ActionName, string, Row] => [
    `${action}: ${name}`,
    action,
    name,
    row,
  ]),
);

describe('the effect of', () => {
  test.each(cases)('%s;', async (_title, action, name, { other, observe, shows }) => {
    const seen = async (value?: string | ((site: Site) => string)) => {
      const site = await startSite(action);
      const text = typeof value === 'function' ? value(site) : value;
      const given: Given = text === undefined ? {} : { [name]: text };
      return observe(site, given);
    };
    expect(await seen()).toBe(shows.default);
    expect(await seen('')).toBe(shows.empty ?? shows.default);
    expect(await seen(other)).toBe(shows.other);
    expect(shows.other).not.toBe(shows.default);
  });
});
