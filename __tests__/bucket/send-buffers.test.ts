import { expect, test } from '@jest/globals';
import { PART_BYTES } from '../../src/bucket/parts.ts';
import { BufferPool } from '../../src/bucket/send-buffers.ts';

const NEVER = new AbortController().signal;

/** Work that ends when it is told to, and the buffers that it has got so far. */
function holding() {
  const buffers: Buffer[] = [];
  const ends: (() => void)[] = [];
  const work = (buffer: Buffer) =>
    new Promise<void>((resolve) => {
      buffers.push(buffer);
      ends.push(resolve);
    });
  return { buffers, ends, work };
}

/** Lets promises that are due settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('at most so many are in use, the next one waits, and memory is reused', async () => {
  const pool = new BufferPool(2);
  const { buffers, ends, work } = holding();
  const all = [1, 2, 3].map((size) => pool.use(size, NEVER, work));
  await settle();
  expect(buffers.map(({ length }) => length)).toEqual([1, 2]);
  ends[0]!();
  await settle();
  expect(buffers[2]).toHaveLength(3);
  expect(buffers[2]!.buffer).toBe(buffers[0]!.buffer);
  for (const end of ends) end();
  await Promise.all(all);
});

test('a larger one counts as several, and later ones do not overtake it', async () => {
  const pool = new BufferPool(2);
  const { buffers, ends, work } = holding();
  const sizes = [10, 2 * PART_BYTES, 20];
  const all = sizes.map((size) => pool.use(size, NEVER, work));
  await settle();
  expect(buffers.map(({ length }) => length)).toEqual([10]);
  for (let index = 0; index < sizes.length; index += 1) {
    ends[index]!();
    await settle();
  }
  await Promise.all(all);
  expect(buffers.map(({ length }) => length)).toEqual(sizes);
});

test('one that is larger than all together is alone', async () => {
  const pool = new BufferPool(2);
  const size = 3 * PART_BYTES;
  expect(await pool.use(size, NEVER, async ({ length }) => length)).toBe(size);
});

test('after an error, or when a waiting one is cancelled, the buffers are free again', async () => {
  const pool = new BufferPool(1);
  const failed = pool.use(1, NEVER, async () => Promise.reject(new Error('failed')));
  await expect(failed).rejects.toThrow('failed');
  const { ends, work } = holding();
  const first = pool.use(1, NEVER, work);
  const cancellation = new AbortController();
  const cancelled = pool.use(1, cancellation.signal, work);
  const last = pool.use(1, NEVER, async () => 'last');
  cancellation.abort(new Error('cancelled'));
  await expect(cancelled).rejects.toThrow('cancelled');
  ends[0]!();
  await first;
  expect(await last).toBe('last');
  await expect(pool.use(1, cancellation.signal, work)).rejects.toThrow('cancelled');
});
