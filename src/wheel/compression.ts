/** The compressions of a zip that Python reads, and those of them that are read here. */
import { promisify } from 'node:util';
import zlib from 'node:zlib';

/** Methods that Python's zipfile reads, by their numbers in a zip (PKWARE APPNOTE 4.4.5). */
export const COMPRESSIONS: ReadonlyMap<number, string> = new Map([
  [0, 'stored'],
  [8, 'deflate'],
  [12, 'bzip2'],
  [14, 'LZMA'],
  [93, 'zstd'],
]);

/**
 * Whether {@link decompress} reads a method. Node has no decoder of bzip2 and LZMA; no build backend
 * writes them, and uv refuses them.
 */
export function isReadable(method: number): boolean {
  return ['stored', 'deflate', 'zstd'].includes(COMPRESSIONS.get(method) ?? '');
}

const inflateRaw = promisify(zlib.inflateRaw) as (data: Buffer, options: zlib.ZlibOptions) => Promise<Buffer>;
const zstdDecompress = promisify(zlib.zstdDecompress) as (
  data: Buffer,
  options: zlib.ZstdOptions,
) => Promise<Buffer>;

/**
 * Decompresses one entry of a zip.
 *
 * @param size - of the result, in bytes; a stream that holds more is not decompressed any further
 * @throws Error when the method is not {@link isReadable}, the data is damaged, or makes more or fewer than `size` bytes
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
    case 93:
      return zstdDecompress(data, bound);
    default:
      throw new Error(`compression method ${method} cannot be read`);
  }
}
