import { describe, expect, test } from '@jest/globals';
import { differences, evaluated, manifestFaults, unregistered } from '../../checks/manifest-rules.ts';

describe('what several actions declare', () => {
  const wait = { description: 'Seconds.', default: '0' };

  test.each<[title: string, other: object, is: string]>([
    ['another description', { ...wait, description: 'Minutes.' }, 'differently in find, fetch'],
    ['another default', { ...wait, default: '1' }, 'differently in find, fetch'],
    ['no default', { description: 'Seconds.' }, 'differently in find, fetch'],
    ['required in one', { ...wait, required: true }, 'differently in find, fetch'],
  ])('%s: a fault', (_title, other, is) => {
    expect(differences('input', { find: { wait }, fetch: { wait: other }, store: {} }, {})).toEqual([
      expect.stringContaining(`the input 'wait' is declared ${is}`),
    ]);
  });

  test.each<[title: string, declared: Parameters<typeof differences>[1]]>([
    ['identically', { find: { wait }, fetch: { wait } }],
    [
      'identically, in another order',
      { find: { wait }, fetch: { wait: { default: '0', description: 'Seconds.' } } },
    ],
    ['by one action only', { find: { wait }, fetch: { size: {} } }],
  ])('%s: no fault', (_title, declared) => {
    expect(differences('input', declared, {})).toEqual([]);
  });

  test('an expression in a description: a fault; in a default, it is allowed', () => {
    const declared = {
      find: { a: { description: 'Such as ${{ github.sha }}.' }, b: { default: '${{ x }}' } },
    };
    expect(evaluated('input', declared)).toEqual([
      "the description of the input 'a' of find holds an expression",
    ]);
  });

  test('differently, with a reason: no fault', () => {
    const declared = { find: { wait }, fetch: { wait: {} } };
    expect(differences('input', declared, { wait: 'it means something else' })).toEqual([]);
  });

  test('an exception that is no longer needed: a fault', () => {
    const exceptions = { wait: 'a reason', size: 'a reason' };
    expect(differences('output', { find: { wait }, fetch: { wait } }, exceptions)).toEqual([
      "the output 'wait' is an exception, but find, fetch declare it alike",
      "the output 'size' is an exception, but no action declares it",
    ]);
  });
});

test('an action.yml that scripts/actions.ts does not list: a fault', () => {
  expect(unregistered(['action.yml', 'find/action.yml', 'verify/action.yml'])).toEqual([
    'scripts/actions.ts does not list verify/action.yml',
  ]);
});

test('the action.yml files of this repository', async () => {
  expect(await manifestFaults()).toEqual([]);
});
