/** Buffers for bytes that are being sent. All uploads of a process share them, so its memory has one limit. */
import { PART_BYTES } from './parts.ts';

/** Of 8 MiB each: the parts of one upload that are in flight at the same time. */
const MAX_BUFFERS = 6;

/** An upload that waits until enough buffers are free. */
interface Waiter {
  readonly count: number;
  readonly proceed: () => void;
}

/** A number of buffers of {@link PART_BYTES}, which are allocated when they are first used, and then reused. */
export class BufferPool {
  readonly #max: number;
  #free: number;
  readonly #spare: Buffer[] = [];
  readonly #waiting: Waiter[] = [];

  /** @param max - how many buffers may be in use at the same time */
  constructor(max: number) {
    this.#max = max;
    this.#free = max;
  }

  /**
   * Waits for a buffer, in the order of the calls, and frees it once `work` settles. A buffer that is larger than
   * {@link PART_BYTES} counts as several, and may be larger than all together.
   *
   * @param size - bytes; `work` gets a buffer of exactly this size
   * @throws any error of `work`; the signal's reason if it aborts while waiting
   */
  async use<Result>(
    size: number,
    signal: AbortSignal,
    work: (buffer: Buffer) => Promise<Result>,
  ): Promise<Result> {
    const count = Math.min(this.#max, Math.max(1, Math.ceil(size / PART_BYTES)));
    await this.#take(count, signal);
    const buffer = this.#bufferFor(size);
    try {
      return await work(buffer.subarray(0, size));
    } finally {
      if (buffer.length === PART_BYTES) this.#spare.push(buffer);
      this.#free += count;
      this.#proceed();
    }
  }

  async #take(count: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(signal.reason);
        this.#proceed();
      };
      const proceed = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const waiter: Waiter = { count, proceed };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiter);
      this.#proceed();
    });
  }

  /** Lets those at the head of the queue proceed, as long as there are enough buffers. */
  #proceed(): void {
    for (let [next] = this.#waiting; next !== undefined && next.count <= this.#free; [next] = this.#waiting) {
      this.#waiting.shift();
      this.#free -= next.count;
      next.proceed();
    }
  }

  #bufferFor(size: number): Buffer {
    if (size <= PART_BYTES) return this.#spare.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES);
    // What is spare and what is in use must not exceed the limit together.
    this.#spare.length = Math.min(this.#spare.length, this.#free);
    return Buffer.allocUnsafeSlow(size);
  }
}

/** The buffers of all uploads of this process. */
export const sendBuffers = new BufferPool(MAX_BUFFERS);
