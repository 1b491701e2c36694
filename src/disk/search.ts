/** Searches a folder for what a glob matches. */
import type { Dirent } from 'node:fs';
import { opendir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsence } from './disk.ts';
import { advance, type Glob, startStates } from './glob.ts';

/** A file or folder that matches a glob. */
export interface Match {
  /** Absolute. */
  readonly path: string;
  readonly isFolder: boolean;
}

/**
 * Finds the files and folders that a glob matches. Links to folders are followed, but no folder is searched twice.
 * Unreadable folders below the root are skipped.
 *
 * @param spend - called for each entry that is read; throws to end the search
 * @throws whatever `spend` throws, and the error of the file system if the root exists but cannot be read
 */
export async function* search(glob: Glob, spend: () => void): AsyncGenerator<Match> {
  const last = glob.segments.length;
  const found = await stat(glob.root).catch(undefinedIfAbsent);
  if (found === undefined) return;
  const start = startStates(glob);
  const isMatch = (isFolder: boolean) => isFolder || !glob.onlyFolders;
  if (start.has(last) && isMatch(found.isDirectory()))
    yield { path: glob.root, isFolder: found.isDirectory() };
  if (!found.isDirectory() || last === 0) return;
  const seen = new Set<string>();
  const stack = [{ path: glob.root, real: await realpath(glob.root), states: start }];
  for (let folder = stack.pop(); folder !== undefined; folder = stack.pop()) {
    const { path, real, states } = folder;
    const id = `${[...states].join()} ${real}`;
    if (seen.has(id)) continue;
    seen.add(id);
    for await (const entry of entriesOf(path, path === glob.root, spend)) {
      const next = advance(glob, states, entry.name, false);
      if (next.size === 0) continue;
      const child = join(path, entry.name);
      const isFolder = await leadsToFolder(entry, child);
      if (next.has(last) && isMatch(isFolder)) yield { path: child, isFolder };
      if (!isFolder || (next.size === 1 && next.has(last))) continue;
      const childReal = entry.isSymbolicLink()
        ? await realpath(child).catch(() => child)
        : join(real, entry.name);
      stack.push({ path: child, real: childReal, states: next });
    }
  }
}

async function leadsToFolder(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

async function* entriesOf(folder: string, isFirst: boolean, spend: () => void): AsyncGenerator<Dirent> {
  const open = await opendir(folder, { bufferSize: 256 }).catch((error: unknown) => {
    if (isFirst) throw error;
  });
  if (open === undefined) return;
  try {
    for (let entry = await next(open, isFirst); entry !== null; entry = await next(open, isFirst)) {
      spend();
      yield entry;
    }
  } finally {
    await open.close();
  }
}

async function next(open: { read(): Promise<Dirent | null> }, isFirst: boolean): Promise<Dirent | null> {
  return open.read().catch((error: unknown) => {
    if (isFirst) throw error;
    return null;
  });
}

function undefinedIfAbsent(error: unknown): undefined {
  if (!isAbsence(error)) throw error;
}
