/** Checks the data of a zip archive's entries while the file goes by once, from its beginning to its end. */
import { createHash, type Hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import zlib, { crc32 } from 'node:zlib';
import { quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import { COMPRESSIONS, isReadable } from './compression.ts';
import type { ZipEntry } from './zip.ts';

/** Unpacked, a smaller entry is unpacked here and now, which takes less than a thread is asked in. */
const MAX_AT_ONCE_BYTES = 64 * 1024;
const CHUNK_BYTES = 256 * 1024;
/** So much is unpacked without a pause for signals. */
const PAUSE_BYTES = 16 * 1024 * 1024;

/** Takes an entry's data, piece by piece, and says what it unpacks to. */
interface Unpacker {
  take(bytes: Buffer): void | Promise<void>;
  /** @throws Error when the data is damaged */
  end(): void | Promise<void>;
}

/** Is told the bytes of a file in their order. */
export interface DataCheck {
  /**
   * Takes the next bytes of the file. They may be overwritten once it is done.
   *
   * @throws WheelStoreError when an entry does not unpack to the size and the checksum that the directory tells
   */
  take(bytes: Buffer): Promise<void>;
  /** SHA-256 of what the entries unpack to, base64url without padding: of those that were asked for. */
  readonly digests: ReadonlyMap<ZipEntry, string>;
  /** Entries of which neither size nor checksum was checked, because their compression cannot be read. */
  readonly unchecked: readonly ZipEntry[];
}

/**
 * Starts a check of all entries' sizes and checksums (PKWARE APPNOTE 4.4.7 to 4.4.9). Deflate is unpacked by Node's
 * thread pool, never further than the size that the directory tells, and nothing of it is kept.
 *
 * @param shift - where the archive begins in the file, in bytes
 * @param isHashed - which entries' digests are wanted
 */
export function checkData(
  entries: readonly ZipEntry[],
  shift: number,
  filename: string,
  isHashed: (entry: ZipEntry) => boolean,
): DataCheck {
  const waiting = entries.toSorted((a, b) => b.dataStart - a.dataStart);
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
    async take(bytes) {
      const end = position + bytes.length;
      for (;;) {
        const entry = current?.entry ?? waiting.at(-1);
        if (entry === undefined || entry.dataStart > end) break;
        const dataEnd = entry.dataStart + entry.compressedSize;
        try {
          current ??= begin(waiting.pop()!);
          const from = Math.max(entry.dataStart - position, 0);
          const piece = bytes.subarray(from, Math.max(from, Math.min(dataEnd, end) - position));
          if (piece.length > 0) await current.unpacker?.take(piece);
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

/** Counts, sums and hashes what an entry unpacks to, and ends it where it is more than the directory tells. */
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
  if (method === 'stored') return { take: (bytes) => output.write(bytes), end: () => undefined };
  const isSmall = Math.max(entry.size, entry.compressedSize) <= MAX_AT_ONCE_BYTES;
  if (method === 'deflate' && isSmall)
    return collecting((data) => output.write(inflateNow(data, entry.size)));
  const options = { chunkSize: CHUNK_BYTES };
  return streaming(
    method === 'deflate' ? zlib.createInflateRaw(options) : zlib.createZstdDecompress(options),
    output,
  );
}

function inflateNow(data: Buffer, size: number): Buffer {
  // Zero would be no bound.
  return zlib.inflateRawSync(data, { maxOutputLength: Math.max(size, 1) });
}

/** For entries of which all data fits into memory. */
function collecting(unpack: (data: Buffer) => void): Unpacker {
  const pieces: Buffer[] = [];
  return {
    take: (bytes) => void pieces.push(Buffer.from(bytes)),
    end: () => unpack(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)),
  };
}

function streaming(stream: zlib.InflateRaw | zlib.ZstdDecompress, output: Output): Unpacker {
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
    // What follows the end of a stream is never taken, so the end is waited for too.
    take: (bytes) =>
      hasEnded
        ? undefined
        : Promise.race([new Promise<void>((taken) => stream.write(bytes, () => taken())), ended]),
    end: () => {
      stream.end();
      return ended;
    },
  };
}
