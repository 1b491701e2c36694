/** The error for a wheel or sdist that is damaged or does not match its filename. */
import { WheelStoreError } from '../errors.ts';
import { quote } from '../untrusted/quote.ts';

/**
 * @param filename - of the wheel or sdist, unquoted
 * @param what - the rest of a sentence that begins with the filename, without the full stop
 */
export function broken(filename: string, what: string, cause?: unknown): WheelStoreError {
  return new WheelStoreError(
    {
      title: filename.endsWith('.whl') ? 'Broken wheel' : 'Broken sdist',
      reason: `${quote(filename)} ${what}.`,
      remedy: 'Build it again, and check the step that copied, renamed or repaired it.',
    },
    cause === undefined ? undefined : { cause },
  );
}
