/** Opens a wheel on disk and reads it once, so that the bytes that are uploaded are those that were checked. */
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { WheelStoreError } from '../errors.ts';
import { faultOf } from './disk.ts';

/** A wheel file that is open for reading, with its size, hash and times. */
export interface OpenWheel {
  /** Absolute. */
  readonly path: string;
  readonly filename: string;
  readonly file: FileHandle;
  /** Bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
  /** When the file was last written (mtime), milliseconds since 1970. */
  readonly modified: number;
  /**
   * When the file was created or last changed in any way (ctime, which cannot be set back), milliseconds since 1970.
   */
  readonly changed: number;
  /**
   * @throws WheelStoreError if the file has changed since it was hashed
   */
  confirmUnchanged(): Promise<void>;
}

const READ_BYTES = 1024 * 1024;

/** Called with a file's bytes in order. The buffer is reused once the promise settles. */
export type BytesHandler = (bytes: Buffer) => Promise<void>;

/**
 * Opens a wheel and reads it once from end to end.
 *
 * @param examine - called with the open file first; returns a handler for its bytes
 * @throws WheelStoreError if the file cannot be read, or changes in the meantime
 * @throws the signal's reason if it aborts
 */
export async function openWheel(
  path: string,
  signal?: AbortSignal,
  examine?: (file: FileHandle) => Promise<BytesHandler>,
): Promise<OpenWheel> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, error);
  });
  try {
    const before = await file.stat({ bigint: true });
    const confirmUnchanged = async () => {
      const now = await file.stat({ bigint: true }).catch((error: unknown) => {
        throw explainRead(error, path);
      });
      if (!isSame(before, now)) throw fileChanged(path);
    };
    const read = async () => hashFile(file, await examine?.(file), signal);
    const { sha256, size } = await read().catch(async (error: unknown) => {
      // A file that is still being written looks damaged.
      signal?.throwIfAborted();
      await confirmUnchanged();
      throw error;
    });
    await confirmUnchanged();
    const [modified, changed] = [Number(before.mtimeMs), Number(before.ctimeMs)];
    return { path, filename: basename(path), file, size, sha256, modified, changed, confirmUnchanged };
  } catch (error) {
    await file.close();
    throw explainRead(error, path);
  }
}

/**
 * Hashes an open file from its beginning.
 *
 * @param onBytes - called with each chunk while it is hashed
 * @returns lower-case hex SHA-256, and the size in bytes
 */
export async function hashFile(
  file: FileHandle,
  onBytes?: BytesHandler,
  signal?: AbortSignal,
): Promise<{ sha256: string; size: number }> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  let size = 0;
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, buffer.length, size);
    if (bytesRead === 0) return { sha256: hash.digest('hex'), size };
    const bytes = buffer.subarray(0, bytesRead);
    const handled = onBytes?.(bytes);
    hash.update(bytes);
    await handled;
    size += bytesRead;
  }
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.ino === b.ino;
}

function fileChanged(path: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Wheel changed',
    reason: `${path} was written to while it was being read, so nothing was stored.`,
    remedy: 'Let the build finish before this step: no background job may still write into that folder.',
  });
}

/** Leaves errors that do not come from the file system as they are. */
function explainRead(error: unknown, path: string): unknown {
  return faultOf(error) === undefined ? error : unreadable(path, error);
}

/** The error for a file or folder that cannot be read. */
export function unreadable(what: string, error: unknown): WheelStoreError {
  return new WheelStoreError(
    {
      title: 'Wheel unreadable',
      reason: `${what} cannot be read (${faultOf(error) ?? (error as Error).message}).`,
      remedy:
        'Check the owner and mode of the file and its folders; builds in containers often leave files owned by root.',
    },
    { cause: error },
  );
}
