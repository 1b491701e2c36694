/** Reads small parts of an object. */
import type { Bucket } from './bucket.ts';
import { readRange } from './copy-through-memory.ts';
import type { ListedObject } from './objects.ts';

/** An object that is open for reading. */
export interface OpenObject {
  /** Reads as `FileHandle.read` of Node does. */
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
}

/** Bytes that were fetched, and where they begin. */
interface Chunk {
  readonly start: number;
  readonly bytes: Buffer;
}

const FIRST_BYTES = 64 * 1024;
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Opens an object for reads at any position (S3 API, GetObject with `Range` and `If-Match`). Sends nothing. Each request
 * fetches more than was asked for, the next one twice as much, so a long row of small reads takes few requests. The last
 * two chunks are kept.
 *
 * @returns `read` throws WheelStoreError if the object was deleted or replaced, or the connection broke too often
 */
export function openObject(from: Bucket, source: ListedObject, signal: AbortSignal): OpenObject {
  let chunks: readonly Chunk[] = [];
  let ahead = FIRST_BYTES;
  const fetch = async (start: number, length: number): Promise<Chunk> => {
    const size = Math.min(source.size - start, Math.max(length, ahead));
    ahead = Math.min(ahead * 2, MAX_BYTES);
    const bytes = Buffer.allocUnsafe(size);
    await readRange({ from, source }, bytes, start, signal);
    const chunk = { start, bytes };
    chunks = [chunk, ...chunks.slice(0, 1)];
    return chunk;
  };
  return {
    async read(buffer, offset, length, position) {
      const wanted = Math.max(0, Math.min(length, source.size - position));
      if (wanted === 0) return { bytesRead: 0 };
      const has = ({ start, bytes }: Chunk) => position >= start && position + wanted <= start + bytes.length;
      const { start, bytes } = chunks.find(has) ?? (await fetch(position, wanted));
      bytes.copy(buffer, offset, position - start, position - start + wanted);
      return { bytesRead: wanted };
    },
  };
}
