/** Brings a stored wheel onto this machine's disk, whole and verified or not at all. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bucket } from './bucket/client.ts';
import { downloadObject } from './bucket/download.ts';
import { WheelStoreError } from './errors.ts';
import type { StoredWheel } from './lookup.ts';
import { inspectWheel } from './wheel/archive.ts';
import { hashFile } from './wheel/local.ts';

/** A wheel on disk, and whether it had to be downloaded. */
export interface SavedWheel {
  /** Absolute. */
  readonly path: string;
  readonly how: 'downloaded' | 'was-there';
}

/**
 * Downloads a wheel into `folder`, which is made where it is missing. A file of that name with the same
 * SHA-256 is kept; one with other bytes is replaced once the new one is verified.
 *
 * @throws WheelStoreError; the folder then holds what it held before
 */
export async function saveWheel(
  bucket: Bucket,
  wheel: StoredWheel,
  folder: string,
  signal: AbortSignal,
  onProgress?: (bytes: number) => void,
): Promise<SavedWheel> {
  const path = join(folder, wheel.name.filename);
  if (await hasBytes(path, wheel)) return { path, how: 'was-there' };
  await makeFolder(folder);
  await checkFreeSpace(folder, wheel);
  const temporary = join(folder, `.wheel-store-${randomUUID()}.part`);
  try {
    const file = await openNew(temporary, folder);
    try {
      const sha256 = await downloadObject(bucket, {
        object: wheel,
        file,
        signal,
        ...(onProgress === undefined ? {} : { onProgress }),
      });
      await verify(temporary, file, wheel, sha256);
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw explainDisk(error, folder);
  }
  return { path, how: 'downloaded' };
}

async function hasBytes(path: string, { size, sha256 }: StoredWheel): Promise<boolean> {
  if (sha256 === '' || (await stat(path).catch(() => undefined))?.size !== size) return false;
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return false;
  try {
    return (await hashFile(file)).sha256 === sha256;
  } finally {
    await file.close();
  }
}

async function verify(path: string, file: FileHandle, wheel: StoredWheel, sha256: string): Promise<void> {
  const { size } = await file.stat();
  if (size !== wheel.size || (wheel.sha256 !== '' && sha256 !== wheel.sha256)) {
    throw new WheelStoreError({
      title: 'Wheel is not what was stored',
      reason: `${wheel.key} arrived with ${size} bytes and SHA-256 ${sha256}; ${wheel.size} bytes and SHA-256 ${wheel.sha256} were stored.`,
      remedy:
        'Do not use it: somebody changed the object, or a proxy on the way does. Delete the object, find out who can write to the prefix, and build again.',
    });
  }
  if (wheel.sha256 === '') await inspectWheel(path, wheel.name);
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw explainDisk(error, folder);
  }
}

async function checkFreeSpace(folder: string, { size, name }: StoredWheel): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= size) return;
  throw new WheelStoreError({
    title: 'Disk too full',
    reason: `${name.filename} needs ${size} bytes, and the disk of ${folder} has ${free} bytes free.`,
    remedy: 'Free some room before this step, or fetch into a folder on another disk.',
  });
}

async function openNew(path: string, folder: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx+');
  } catch (error) {
    throw explainDisk(error, folder);
  }
}

/** Passes on what is no fault of the disk. */
function explainDisk(error: unknown, folder: string): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (error instanceof WheelStoreError || code === undefined || !DISK_FAULTS.has(code)) return error;
  return new WheelStoreError(
    {
      title: 'Folder not writable',
      reason: `The wheel could not be written to ${folder} (${code}).`,
      remedy: "Check that the input 'path' is a folder that this job may write to, with room on its disk.",
    },
    { cause: error },
  );
}

const DISK_FAULTS = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
  'EDQUOT',
  'ENOTDIR',
  'EEXIST',
  'EISDIR',
  'EFBIG',
  'EIO',
  'ENOTEMPTY',
  'EBUSY',
]);
