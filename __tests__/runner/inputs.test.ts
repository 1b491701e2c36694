import { afterEach, describe, expect, test } from '@jest/globals';
import { ACTION_NAMES, type ActionName, readManifest } from '../../scripts/actions.ts';
import { readFetchInputs, readFindInputs, readStoreInputs } from '../../src/runner/inputs.ts';

const READERS: Record<ActionName, () => unknown> = {
  store: readStoreInputs,
  find: readFindInputs,
  fetch: readFetchInputs,
};
/** What an action needs, and what makes it read more. */
const GIVEN: Readonly<Record<string, string>> = {
  INPUT_BUCKET: 'wheels',
  INPUT_COMMIT: 'c'.repeat(40),
  INPUT_COMMENT: 'true',
  INPUT_CACHE: 'true',
  GITHUB_RUN_ID: '7',
  GITHUB_RUN_ATTEMPT: '1',
};

describe('the inputs that an action reads are those that its action.yml declares', () => {
  const environment = process.env;
  afterEach(() => {
    process.env = environment;
  });

  test.each(ACTION_NAMES)('%s', async (action) => {
    const asked = new Set<string>();
    // What is given has no names to enumerate, so each input is recorded only where the source names it.
    process.env = new Proxy(
      {},
      {
        get(_, name) {
          asked.add(String(name));
          return GIVEN[String(name)];
        },
      },
    ) as NodeJS.ProcessEnv;
    READERS[action]();
    const inputs = [...asked].filter((name) => name.startsWith('INPUT_'));
    const { inputs: declared } = await readManifest(action);
    expect(inputs.sort()).toEqual(
      Object.keys(declared)
        .map((name) => `INPUT_${name.toUpperCase()}`)
        .sort(),
    );
  });
});
