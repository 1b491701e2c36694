import { describe, expect, test } from '@jest/globals';
import { WheelStoreError } from '../../src/errors.ts';
import { converge, type Next } from '../../src/slots/converge.ts';

const error = new WheelStoreError({
  title: 'Index page conflict',
  reason: 'Others write.',
  remedy: 'Wait.',
});
const contended = () => error;

describe('rounds of read, list, write, read again', () => {
  test('end when one returns done', async () => {
    const numbers: number[] = [];
    const results: Next[] = [{ pauseMs: 0 }, 'back-off', { pauseMs: 1 }, 'done', 'done'];
    const round = async (number: number) => {
      numbers.push(number);
      return results[number - 1]!;
    };
    await converge(round, { max: 9, signal: new AbortController().signal, contended });
    expect(numbers).toEqual([1, 2, 3, 4]);
  });

  test('end with an error after the last one', async () => {
    let rounds = 0;
    const round = async (): Promise<Next> => {
      rounds += 1;
      return { pauseMs: 0 };
    };
    const { signal } = new AbortController();
    await expect(converge(round, { max: 3, signal, contended })).rejects.toBe(error);
    expect(rounds).toBe(3);
  });

  test('end when the signal aborts, in a pause or between two rounds', async () => {
    const paused = new AbortController();
    const pausingRound = async (): Promise<Next> => {
      // The pause begins before the next turn of the event loop.
      setImmediate(() => paused.abort());
      return { pauseMs: 60_000 };
    };
    const pausing = converge(pausingRound, { max: 3, signal: paused.signal, contended });
    await expect(pausing).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
    const between = new AbortController();
    const round = async (): Promise<Next> => {
      between.abort(error);
      return { pauseMs: 0 };
    };
    await expect(converge(round, { max: 3, signal: between.signal, contended })).rejects.toBe(error);
  });
});
