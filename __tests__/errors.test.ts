import { expect, test } from '@jest/globals';
import { WheelStoreError } from '../src/errors.ts';

test('the message is the cause, then the remedy', () => {
  const error = new WheelStoreError({ title: 'Title', reason: 'It broke.', remedy: 'Mend it.' });
  expect(error.message).toBe('It broke. Mend it.');
});
