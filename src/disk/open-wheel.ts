/** Opens a wheel on the disk and reads it once, so that what was checked is what is sent. */
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { WheelStoreError } from '../errors.ts';
import { faultOf } from './disk.ts';

/** A wheel file that is open for reading, with what was read of it. */
export interface OpenWheel {
  /** Absolute. */
  readonly path: string;
  readonly filename: string;
  readonly file: FileHandle;
  /** Bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
  /** When the file was last written, milliseconds since 1970. */
  readonly modified: number;
  /** When the file was put there or last changed in any way, milliseconds since 1970; nobody can set it back. */
  readonly placed: number;
  /**
   * @throws WheelStoreError when the file is not any more what was hashed
   */
  confirmUnchanged(): Promise<void>;
}

const READ_BYTES = 1024 * 1024;

/** Is told the bytes of a file in their order; they may be overwritten once it is done. */
export type Listener = (bytes: Buffer) => Promise<void>;

/**
 * Opens a wheel and reads it once from end to end.
 *
 * @param examine - looks into the open file first, and names who listens to its bytes
 * @throws WheelStoreError when it cannot be read or changes meanwhile
 * @throws the signal's reason when it aborts
 */
export async function openWheel(
  path: string,
  signal?: AbortSignal,
  examine?: (file: FileHandle) => Promise<Listener>,
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
      if (!isSame(before, now)) throw changed(path);
    };
    const read = async () => hashFile(file, await examine?.(file), signal);
    const { sha256, size } = await read().catch(async (error: unknown) => {
      // What is still being written looks damaged.
      signal?.throwIfAborted();
      await confirmUnchanged();
      throw error;
    });
    await confirmUnchanged();
    const [modified, placed] = [Number(before.mtimeMs), Number(before.ctimeMs)];
    return { path, filename: basename(path), file, size, sha256, modified, placed, confirmUnchanged };
  } catch (error) {
    await file.close();
    throw explainRead(error, path);
  }
}

/**
 * Hashes an open file from its beginning.
 *
 * @param listen - is told the same bytes, at the same time
 * @returns lower-case hex SHA-256, and the size in bytes
 */
export async function hashFile(
  file: FileHandle,
  listen?: Listener,
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
    const heard = listen?.(bytes);
    hash.update(bytes);
    await heard;
    size += bytesRead;
  }
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.ino === b.ino;
}

function changed(path: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Wheel changed',
    reason: `${path} was written to while it was being read, so nothing was stored.`,
    remedy: 'Let the build finish before this step: no background job may still write into that folder.',
  });
}

/** Passes on what is not a fault of the disk. */
function explainRead(error: unknown, path: string): unknown {
  return faultOf(error) === undefined ? error : unreadable(path, error);
}

/** Why a file or folder at `path` cannot be read, for the error of the step. */
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
