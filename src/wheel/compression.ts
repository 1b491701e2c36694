/** The compressions that Python's zipfile writes. */
import { promisify } from 'node:util';
import zlib from 'node:zlib';

/** Methods by their numbers in a zip (PKWARE APPNOTE 4.4.5). */
export const COMPRESSIONS: ReadonlyMap<number, string> = new Map([
  [0, 'stored'],
  [8, 'deflate'],
  [12, 'bzip2'],
  [14, 'lzma'],
  [93, 'zstd'],
]);

const inflateRaw = promisify(zlib.inflateRaw) as (data: Buffer, options: zlib.ZlibOptions) => Promise<Buffer>;
const zstdDecompress = promisify(zlib.zstdDecompress) as (
  data: Buffer,
  options: zlib.ZstdOptions,
) => Promise<Buffer>;

/**
 * Decompresses one entry of a zip. The decoders of rare methods are loaded when one is met.
 *
 * @param size - of the result, in bytes; a stream that holds more is not decompressed any further
 * @throws Error when the data is damaged, or makes more or fewer than `size` bytes
 */
export async function decompress(method: number, data: Buffer, size: number): Promise<Buffer> {
  const result = await decode(method, data, size);
  if (result.length !== size) throw new Error(`${result.length} bytes instead of ${size}`);
  return result;
}

async function decode(method: number, data: Buffer, size: number): Promise<Buffer> {
  // Zero would be no bound.
  const bound = { maxOutputLength: Math.max(size, 1) };
  switch (method) {
    case 0:
      return data;
    case 8:
      return inflateRaw(data, bound);
    case 12:
      return bunzip(data, size);
    case 14:
      return unlzma(data, size);
    case 93:
      return zstdDecompress(data, bound);
    default:
      throw new Error(`compression method ${method} is unknown`);
  }
}

async function bunzip(data: Buffer, size: number): Promise<Buffer> {
  const { default: bzip } = await import('seek-bzip');
  const sink = new Sink(size);
  bzip.decode(data, sink);
  return sink.written();
}

/** APPNOTE 5.8: two bytes of version, two with the length of the properties, the properties, and the stream. */
async function unlzma(data: Buffer, size: number): Promise<Buffer> {
  const { default: lzma } = await import('js-lzma');
  const source = new Source(data);
  const sink = new Sink(size);
  for (let skipped = 0; skipped < 4; skipped += 1) source.readByte();
  try {
    lzma.decompress(source, source, sink, size);
  } catch (error) {
    // This decoder throws texts.
    throw error instanceof Error ? error : new Error(String(error));
  }
  return sink.written();
}

class Source {
  readonly #data: Buffer;
  #position = 0;

  constructor(data: Buffer) {
    this.#data = data;
  }

  get size(): number {
    return this.#data.length - this.#position;
  }

  readByte(): number {
    const byte = this.#data[this.#position];
    if (byte === undefined) throw new Error('the data ends too early');
    this.#position += 1;
    return byte;
  }
}

/** Ends a stream that makes more bytes than it says, before it makes them. */
class Sink {
  readonly #data: Buffer;
  #position = 0;

  constructor(size: number) {
    this.#data = Buffer.alloc(size);
  }

  writeByte(byte: number): void {
    if (this.#position === this.#data.length) throw new Error(`more than ${this.#data.length} bytes`);
    this.#data[this.#position] = byte;
    this.#position += 1;
  }

  written(): Buffer {
    return this.#data.subarray(0, this.#position);
  }
}
