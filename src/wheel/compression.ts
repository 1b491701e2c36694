/** The compression methods that Python reads in a zip, and those of them that Node can decompress. */
import { promisify } from 'node:util';
import zlib from 'node:zlib';

/** The methods that Python's zipfile supports, by number (PKWARE APPNOTE 4.4.5). */
export const COMPRESSIONS: ReadonlyMap<number, string> = new Map([
  [0, 'stored'],
  [8, 'deflate'],
  [12, 'bzip2'],
  [14, 'LZMA'],
  [93, 'zstd'],
]);

/**
 * Whether {@link decompress} supports a method. Node has no decoder for bzip2 and LZMA; build backends do not write
 * them, and uv refuses them.
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
 * @param size - the expected size of the result, in bytes; decompression stops beyond it
 * @throws Error if the method is not {@link isReadable}, or if the data is damaged or does not decompress to exactly
 *   `size` bytes
 */
export async function decompress(method: number, data: Buffer, size: number): Promise<Buffer> {
  const result = await decode(method, data, size);
  if (result.length !== size) throw new Error(`${result.length} bytes instead of ${size}`);
  return result;
}

async function decode(method: number, data: Buffer, size: number): Promise<Buffer> {
  // Node does not accept a limit of zero.
  const limit = { maxOutputLength: Math.max(size, 1) };
  switch (method) {
    case 0:
      return data;
    case 8:
      return inflateRaw(data, limit);
    case 93:
      return zstdDecompress(data, limit);
    default:
      throw new Error(`compression method ${method} cannot be read`);
  }
}
