/** The file system: readable errors, free space, creating folders. */
import { mkdir, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Socket errors carry a `syscall` too, but are not errors of the file system. */
const NETWORK_FAULTS = /^E(?:CONN|HOST|NET|PIPE|PROTO|ADDR|AI_|TIMEDOUT|NOTCONN)/;

/**
 * A short form of a file system error, such as `ENAMETOOLONG: name too long`.
 *
 * @returns undefined if the error does not come from the file system
 */
export function faultOf(error: unknown): string | undefined {
  const { code, errno, syscall, message } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof code !== 'string' || !/^E[A-Z0-9]+$/.test(code) || NETWORK_FAULTS.test(code)) return undefined;
  if (errno === undefined && syscall === undefined) return undefined;
  // The format of Node's messages is `CODE: meaning, syscall 'path'` (libuv's uv_strerror).
  const [, meaning] = /^E[A-Z0-9]+: ([^,]+)(?:,|$)/.exec(message ?? '') ?? [];
  return meaning === undefined ? code : `${code}: ${meaning}`;
}

/** Whether a file system error means that the path does not exist. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code));
}

/**
 * The free space according to `statfs`.
 *
 * @returns bytes; undefined if the figures are unusable: some FUSE mounts report no blocks at all
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
 * Checks whether a file system has too little free space.
 *
 * @param folder - any folder on that file system
 * @param bytes - how many are about to be written
 * @returns the free bytes if there are fewer than that; undefined if there is enough space, or if the file system does
 *   not report it
 */
export async function tooFewFreeBytes(folder: string, bytes: number): Promise<number | undefined> {
  const free = await statfs(folder).then(freeBytesOf, () => undefined);
  return free === undefined || free >= bytes ? undefined : free;
}

/**
 * Creates a folder and its missing parents. Node's recursive mkdir never returns in /proc, where mkdir in an existing
 * folder fails with ENOENT.
 *
 * @param folder - absolute
 * @throws the error of the file system, also if the path is a dangling link or a file
 */
export async function makeFolders(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let path = folder; !(await isFolder(path)); path = dirname(path)) {
    missing.unshift(path);
    if (dirname(path) === path) break;
  }
  for (const path of missing) {
    await mkdir(path).catch(async (error: unknown) => {
      // Another process may have created it in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !(await isFolder(path))) throw error;
    });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
