/** Checks the data of a zip archive's entries in a single pass over the file. */
import { createHash, type Hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import zlib, { crc32 } from 'node:zlib';
import { quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import { COMPRESSIONS, isReadable } from './compression.ts';
import type { ZipEntry } from './zip.ts';

/** Up to this size, decompressing on the main thread is faster than handing the data to the thread pool. */
const MAX_SYNC_BYTES = 64 * 1024;
const CHUNK_BYTES = 256 * 1024;
/** How much is unpacked before the event loop gets a turn, so that signals are handled. */
const PAUSE_BYTES = 16 * 1024 * 1024;

/** Unpacks an entry's data, chunk by chunk, into an {@link Output}. */
interface Unpacker {
  write(bytes: Buffer): void | Promise<void>;
  /** @throws Error if the data is damaged */
  end(): void | Promise<void>;
}

/** A running check, to be fed with the bytes of the file in order. */
export interface DataCheck {
  /**
   * Processes the next bytes of the file. The buffer may be reused once the promise settles.
   *
   * @throws WheelStoreError if an entry does not unpack to the size and checksum in the directory
   */
  write(bytes: Buffer): Promise<void>;
  /** SHA-256 of the unpacked entries that `isHashed` selects, base64url without padding. */
  readonly digests: ReadonlyMap<ZipEntry, string>;
  /** Entries whose size and checksum were not checked, because their compression method is not supported. */
  readonly unchecked: readonly ZipEntry[];
}

/**
 * Starts a check of all entries' sizes and checksums (PKWARE APPNOTE 4.4.7 to 4.4.9). Large entries are unpacked in
 * Node's thread pool, never beyond the size in the directory, and the output is not kept.
 *
 * @param shift - where the archive begins in the file, in bytes
 * @param isHashed - selects the entries to compute digests of
 */
export function checkData(
  entries: readonly ZipEntry[],
  shift: number,
  filename: string,
  isHashed: (entry: ZipEntry) => boolean,
): DataCheck {
  const pending = entries.toSorted((a, b) => b.dataStart - a.dataStart);
  const digests = new Map<ZipEntry, string>();
  const unchecked: ZipEntry[] = [];
  let current:
    | { readonly entry: ZipEntry; readonly output: Output; readonly unpacker: Unpacker | undefined }
    | undefined;
  let [position, unpacked] = [-shift, 0];

  const begin = (entry: ZipEntry) => {
    const output = new Output(entry, isHashed(entry) ? createHash('sha256') : undefined);
    const unpacker = unpackerOf(entry, output);
    if (unpacker === undefined) unchecked.push(entry);
    return { entry, output, unpacker };
  };
  const finish = async ({ entry, output, unpacker }: NonNullable<typeof current>) => {
    unpacked += entry.size;
    if (unpacker !== undefined) {
      await unpacker.end();
      output.confirm();
      if (output.digest !== undefined) digests.set(entry, output.digest);
    }
    if (unpacked > PAUSE_BYTES) {
      unpacked = 0;
      await nextTurn();
    }
  };

  return {
    digests,
    unchecked,
    async write(bytes) {
      const end = position + bytes.length;
      for (;;) {
        const entry = current?.entry ?? pending.at(-1);
        if (entry === undefined || entry.dataStart > end) break;
        const dataEnd = entry.dataStart + entry.compressedSize;
        try {
          current ??= begin(pending.pop()!);
          const from = Math.max(entry.dataStart - position, 0);
          const chunk = bytes.subarray(from, Math.max(from, Math.min(dataEnd, end) - position));
          if (chunk.length > 0) await current.unpacker?.write(chunk);
          if (dataEnd > end) break;
          await finish(current);
          current = undefined;
        } catch (error) {
          throw broken(filename, `has a damaged ${quote(entry.name)} (${(error as Error).message})`, error);
        }
      }
      position = end;
    },
  };
}

/** Computes size, checksum and hash of an unpacked entry, and fails once it exceeds the size in the directory. */
class Output {
  readonly #entry: ZipEntry;
  readonly #hash: Hash | undefined;
  #size = 0;
  #crc = 0;

  constructor(entry: ZipEntry, hash: Hash | undefined) {
    this.#entry = entry;
    this.#hash = hash;
  }

  write(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size > this.#entry.size) throw new Error(`more than ${this.#entry.size} bytes`);
    this.#crc = crc32(bytes, this.#crc);
    this.#hash?.update(bytes);
  }

  confirm(): void {
    if (this.#size !== this.#entry.size)
      throw new Error(`${this.#size} bytes instead of ${this.#entry.size}`);
    if (this.#crc !== this.#entry.crc32) throw new Error('its checksum differs');
  }

  get digest(): string | undefined {
    return this.#hash?.copy().digest('base64url');
  }
}

function unpackerOf(entry: ZipEntry, output: Output): Unpacker | undefined {
  if (!isReadable(entry.method)) return undefined;
  const method = COMPRESSIONS.get(entry.method);
  if (method === 'stored') return { write: (bytes) => output.write(bytes), end: () => undefined };
  const isSmall = Math.max(entry.size, entry.compressedSize) <= MAX_SYNC_BYTES;
  if (method === 'deflate' && isSmall)
    return bufferedUnpacker((data) => output.write(inflateNow(data, entry.size)));
  const options = { chunkSize: CHUNK_BYTES };
  return streamingUnpacker(
    method === 'deflate' ? zlib.createInflateRaw(options) : zlib.createZstdDecompress(options),
    output,
  );
}

function inflateNow(data: Buffer, size: number): Buffer {
  // Node does not accept a limit of zero.
  return zlib.inflateRawSync(data, { maxOutputLength: Math.max(size, 1) });
}

/** For small entries, which are collected in memory. */
function bufferedUnpacker(unpack: (data: Buffer) => void): Unpacker {
  const chunks: Buffer[] = [];
  return {
    write: (bytes) => void chunks.push(Buffer.from(bytes)),
    end: () => unpack(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
  };
}

function streamingUnpacker(stream: zlib.InflateRaw | zlib.ZstdDecompress, output: Output): Unpacker {
  let hasEnded = false;
  const ended = new Promise<void>((resolve, reject) => {
    stream.on('data', (bytes: Buffer) => {
      try {
        output.write(bytes);
      } catch (error) {
        stream.destroy(error as Error);
      }
    });
    stream.on('error', reject);
    stream.on('end', () => {
      hasEnded = true;
      resolve();
    });
  });
  ended.catch(() => undefined);
  return {
    // zlib never consumes bytes after the end of the compressed data, so this also waits for that end.
    write: (bytes) =>
      hasEnded
        ? undefined
        : Promise.race([new Promise<void>((written) => stream.write(bytes, () => written())), ended]),
    end: () => {
      stream.end();
      return ended;
    },
  };
}
