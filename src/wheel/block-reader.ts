/** Small random-access reads. */
import { Readable } from 'node:stream';
import yauzl from 'yauzl';
import type { ByteSource } from './byte-source.ts';

const BLOCK_BYTES = 64 * 1024;

/**
 * Lets yauzl read the archive in a file. Headers are small and close together, so they are served from a buffered
 * block.
 */
export class BlockReader extends yauzl.RandomAccessReader {
  readonly #file: ByteSource;
  readonly #shift: number;
  #block: Buffer = Buffer.alloc(0);
  #blockStart = 0;

  /**
   * @param shift - where the archive begins in the file, in bytes
   */
  constructor(file: ByteSource, shift: number) {
    super();
    this.#file = file;
    this.#shift = shift;
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytes?: number) => void,
  ): void {
    this.#copy(target, offset, length, position + this.#shift).then(
      (bytes) => callback(null, bytes),
      (error: Error) => callback(error),
    );
  }

  override _readStreamForRange(): Readable {
    // Unused: readEntry reads the data, since it supports more compression methods.
    return Readable.from([]);
  }

  async #copy(target: Buffer, offset: number, length: number, position: number): Promise<number> {
    if (length > BLOCK_BYTES) return (await this.#file.read(target, offset, length, position)).bytesRead;
    if (position < this.#blockStart || position + length > this.#blockStart + this.#block.length) {
      const block = Buffer.allocUnsafe(BLOCK_BYTES);
      const { bytesRead } = await this.#file.read(block, 0, BLOCK_BYTES, position);
      this.#block = block.subarray(0, bytesRead);
      this.#blockStart = position;
    }
    const start = position - this.#blockStart;
    return this.#block.copy(target, offset, start, start + length);
  }
}
