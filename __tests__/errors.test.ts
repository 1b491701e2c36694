import { expect, test } from '@jest/globals';
import { ERROR_TITLES, WheelStoreError } from '../src/errors.ts';

test('the message is the cause, then the remedy', () => {
  const error = new WheelStoreError({ title: 'No wheel', reason: 'It broke.', remedy: 'Mend it.' });
  expect(error.message).toBe('It broke. Mend it.');
});

test('a heading that docs/errors.md does not explain does not compile', () => {
  // @ts-expect-error no such heading
  new WheelStoreError({ title: 'No wheels', reason: 'It broke.', remedy: 'Mend it.' });
});

test('each heading is listed once', () => {
  expect(ERROR_TITLES).toHaveLength(new Set(ERROR_TITLES).size);
});
