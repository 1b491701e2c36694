/** What the local disk answers, in words: errors, free room, folders that are made. */
import { mkdir, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A socket's errors come with a system call as well. */
const NETWORK_FAULTS = /^E(?:CONN|HOST|NET|PIPE|PROTO|ADDR|AI_|TIMEDOUT|NOTCONN)/;

/**
 * What an error of the file system says, such as `ENAMETOOLONG: name too long`.
 *
 * @returns undefined when the error is not one of the file system
 */
export function faultOf(error: unknown): string | undefined {
  const { code, errno, syscall, message } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof code !== 'string' || !/^E[A-Z0-9]+$/.test(code) || NETWORK_FAULTS.test(code)) return undefined;
  if (errno === undefined && syscall === undefined) return undefined;
  // Node writes `CODE: what it means, syscall 'path'` (libuv's uv_strerror).
  const [, meaning] = /^E[A-Z0-9]+: ([^,]+)(?:,|$)/.exec(message ?? '') ?? [];
  return meaning === undefined ? code : `${code}: ${meaning}`;
}

/** Whether an error of the file system means that nothing is at a path. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code));
}

/**
 * How much room a file system's own figures leave.
 *
 * @returns bytes; undefined when the figures say nothing: some FUSE mounts report no blocks at all
 */
export function freeBytesOf({
  blocks,
  bavail,
  bsize,
}: {
  readonly blocks: number;
  readonly bavail: number;
  readonly bsize: number;
}): number | undefined {
  const free = bavail * bsize;
  return blocks > 0 && bsize > 0 && Number.isFinite(free) && bavail >= 0 ? free : undefined;
}

/**
 * Whether a file system has too little room.
 *
 * @param folder - anywhere on it
 * @param bytes - that are to be written there
 * @returns the bytes that are free, if those are fewer; undefined also when the file system does not say
 */
export async function tooFewFreeBytes(folder: string, bytes: number): Promise<number | undefined> {
  const free = await statfs(folder).then(freeBytesOf, () => undefined);
  return free === undefined || free >= bytes ? undefined : free;
}

/**
 * Makes a folder and those above it that are missing. Node's own recursive mkdir does not end in /proc, where a folder
 * that can be seen refuses every new name with ENOENT.
 *
 * @param folder - absolute
 * @throws the error of the file system, also when a dangling link or a file is there
 */
export async function makeFolders(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let path = folder; !(await isFolder(path)); path = dirname(path)) {
    missing.unshift(path);
    if (dirname(path) === path) break;
  }
  for (const path of missing) {
    await mkdir(path).catch(async (error: unknown) => {
      // Another process may have made it since.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !(await isFolder(path))) throw error;
    });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
