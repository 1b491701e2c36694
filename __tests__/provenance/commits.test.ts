import { expect, test } from '@jest/globals';
import { commitInVersion } from '../../src/provenance/commits.ts';

test.each([
  ['1.1.dev3+g1234567', '1234567'],
  ['1.1.dev3+g1234567.d20260101', '1234567'],
  ['1.0+3.gabcdef012', 'abcdef012'],
  ['1.0+cu121', undefined],
  ['1.0', undefined],
  ['1.0+g123', undefined],
  ['1.0+gpu1234567', undefined],
])('version %s contains commit %p', (version, commit) => {
  expect(commitInVersion(version)).toBe(commit);
});
