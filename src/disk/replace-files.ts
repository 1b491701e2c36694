/** Replaces files in a folder by new ones, which have temporary names until all are complete. */
import { randomUUID } from 'node:crypto';
import { link, lstat, opendir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { WheelStoreError } from '../errors.ts';
import { faultOf, isAbsence } from './disk.ts';

/** A complete file. */
export interface NewFile {
  /** Its present path, made by {@link temporaryPath}. */
  readonly temporary: string;
  /** Its final path, in the same folder. */
  readonly path: string;
}

/** A new path for a temporary file in `folder`. {@link removeLeftovers} finds it if the step is killed. */
export function temporaryPath(folder: string): string {
  return join(folder, `.wheel-store-${randomUUID()}.part`);
}

/**
 * Renames new files to their final names, all or none. Existing files are kept under other names until all are renamed, and
 * are restored if one can't be.
 */
export async function moveIntoPlace(arrivals: readonly NewFile[], folder: string): Promise<void> {
  const undo: (() => Promise<unknown>)[] = [];
  const kept: string[] = [];
  for (const { temporary, path } of arrivals) {
    const aside = join(folder, `.wheel-store-${randomUUID()}.old`);
    try {
      const restore = arrivals.length > 1 ? await backUp(path, aside) : undefined;
      if (restore !== undefined) {
        kept.push(aside);
        undo.push(restore);
      }
      await rename(temporary, path);
      if (restore === undefined) undo.push(() => rm(path, { force: true }));
    } catch (error) {
      for (const step of undo.reverse()) await step().catch(() => undefined);
      throw explainDisk(error, path);
    }
  }
  await Promise.allSettled(kept.map((path) => rm(path, { force: true })));
}

/**
 * Keeps the file at `path` under the name `aside` as well. Uses a hard link if the file system supports it, so that the
 * file is never missing, and otherwise renames it.
 *
 * @returns a function that restores the file; undefined if there is none
 */
async function backUp(path: string, aside: string): Promise<(() => Promise<void>) | undefined> {
  const existing = await lstat(path).catch((error: unknown) => {
    if (!isAbsence(error)) throw error;
  });
  if (existing === undefined) return undefined;
  if (existing.isDirectory()) throw folderInTheWay(path);
  // On some systems, a hard link to a symbolic link links to its target.
  if (existing.isSymbolicLink()) await rename(path, aside);
  else await link(path, aside).catch(() => rename(path, aside));
  return async () => {
    await rename(aside, path);
    // If both are names of the same file, rename does nothing (POSIX, rename).
    await rm(aside, { force: true });
  };
}

const TEMPORARY = /^\.wheel-store-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/;
const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_SCANNED_ENTRIES = 10_000;

/**
 * Removes temporary files of killed fetches. Those changed within a day may belong to a fetch that is still running.
 * Files that {@link backUp} made (`.old`) stay: each may be the only copy of a file that was to be replaced.
 */
export async function removeLeftovers(folder: string, trace?: (text: string) => void): Promise<void> {
  let entries = 0;
  try {
    for await (const entry of await opendir(folder)) {
      entries += 1;
      if (entries > MAX_SCANNED_ENTRIES) return;
      if (!TEMPORARY.test(entry.name)) continue;
      const path = join(folder, entry.name);
      const found = await lstat(path);
      if (!found.isFile() || found.mtimeMs > Date.now() - DAY_MS) continue;
      await rm(path, { force: true });
      trace?.(`Removed ${path}, which an earlier fetch left there.`);
    }
  } catch (error) {
    if (!isAbsence(error)) trace?.(`${folder} was not searched for old temporary files: ${error}`);
  }
}

/** The error for a folder that has the name of a file to write. */
export function folderInTheWay(path: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Folder not writable',
    reason: `The wheel cannot be written to ${path}: a folder with that name is there.`,
    remedy: "Remove that folder, or set the input 'path' to another one.",
  });
}

/** Explains errors of the disk and returns all others unchanged. */
export function explainDisk(error: unknown, path: string): unknown {
  const fault = faultOf(error);
  if (error instanceof WheelStoreError || fault === undefined) return error;
  const isTaken = /^E(?:EXIST|NOTDIR)\b/.test(fault);
  const what = isTaken ? ': a file, or a dangling link, is in the way' : '';
  return new WheelStoreError(
    {
      title: 'Folder not writable',
      reason: `The wheel could not be written to ${path} (${fault})${what}.`,
      remedy: "Check that the input 'path' is a folder that this job may write to, with room on its disk.",
    },
    { cause: error },
  );
}
