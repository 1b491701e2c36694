import { afterEach, describe, expect, test } from '@jest/globals';
import { ACTION_NAMES, type ActionName, readManifest } from '../../scripts/actions.ts';
import {
  readFetchInputs,
  readFindInputs,
  readPublishInputs,
  readStoreInputs,
} from '../../src/runner/inputs.ts';

const READERS: Record<ActionName, () => unknown> = {
  store: readStoreInputs,
  find: readFindInputs,
  fetch: readFetchInputs,
  publish: readPublishInputs,
};
/** Required inputs and variables, and inputs that make an action read others. */
const GIVEN: Readonly<Record<string, string>> = {
  INPUT_BUCKET: 'wheels',
  INPUT_COMMIT: 'c'.repeat(40),
  INPUT_COMMENT: 'true',
  INPUT_CACHE: 'true',
  INPUT_CHANNEL: 'nightly',
  GITHUB_RUN_ID: '7',
  GITHUB_RUN_ATTEMPT: '1',
};

describe('each action reads exactly the inputs that its action.yml declares', () => {
  const environment = process.env;
  afterEach(() => {
    process.env = environment;
  });

  test.each(ACTION_NAMES)('%s', async (action) => {
    const namesRead = new Set<string>();
    // The proxy lists no names, so an input is recorded only if the source reads it by name.
    process.env = new Proxy(
      {},
      {
        get(_, name) {
          namesRead.add(String(name));
          return GIVEN[String(name)];
        },
      },
    ) as NodeJS.ProcessEnv;
    READERS[action]();
    const inputs = [...namesRead].filter((name) => name.startsWith('INPUT_'));
    const { inputs: declared } = await readManifest(action);
    expect(inputs.sort()).toEqual(
      Object.keys(declared)
        .map((name) => `INPUT_${name.toUpperCase()}`)
        .sort(),
    );
  });
});
