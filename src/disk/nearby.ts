/** Looks for wheels that a build left somewhere else than at `path`. */
import { opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { looksLikeWheel } from './find-wheels.ts';

/** A wheel that was seen, not opened. */
export interface NearbyWheel {
  /** Absolute. */
  readonly path: string;
  /** When the file was last written, milliseconds since 1970. */
  readonly modified: number;
  /** When the file was put there or last changed in any way, milliseconds since 1970. */
  readonly placed: number;
}

/** Where build tools leave wheels: pip, uv and build; cibuildwheel; maturin; setuptools and CMake. */
const USUAL_FOLDERS = ['dist', 'wheelhouse', 'target/wheels', 'build'];
/** Other people's files, in numbers. Virtual environments are told by their pyvenv.cfg, whatever their name. */
const SKIPPED_FOLDERS = new Set(['node_modules', 'site-packages', '__pycache__', 'venv']);
const MAX_ENTRIES = 20_000;
/** So that one folder of data does not use up what all have together. */
const MAX_ENTRIES_PER_FOLDER = 5_000;
const MAX_DEPTH = 6;
const MAX_CANDIDATES = 1_000;
const MAX_WHEELS = 10;

interface Folder {
  readonly path: string;
  /** Folders below the one that the search began with. */
  readonly depth: number;
}

/**
 * Looks for wheels in the workspace, the usual output folders first, and in `~/wheels`. The search is bounded:
 * 20,000 entries, six folders deep, 5,000 entries of one folder. Links to folders, hidden folders, node_modules
 * and virtual environments are left out, and what cannot be read is passed over.
 *
 * @param workspace - absolute
 * @param home - the home folder, absolute; undefined: do not look there
 * @returns at most ten, those that were put there last, sorted by path
 * @throws the signal's reason when it aborts, and nothing else
 */
export async function wheelsNearby(
  workspace: string,
  signal: AbortSignal,
  home?: string,
): Promise<NearbyWheel[]> {
  const starts = USUAL_FOLDERS.map((name) => join(workspace, name));
  if (home !== undefined) starts.push(join(home, 'wheels'));
  const queue: Folder[] = [...starts, workspace].map((path) => ({ path, depth: 0 }));
  const seen = new Set(queue.map(({ path }) => path));
  const candidates: string[] = [];
  let entries = 0;
  // Breadth first: what lies near the top is found before the bound is reached.
  for (let folder = queue.shift(); folder !== undefined; folder = queue.shift()) {
    if (entries >= MAX_ENTRIES || candidates.length >= MAX_CANDIDATES) break;
    const found = await look(folder.path, MAX_ENTRIES - entries, signal);
    entries += found.entries;
    candidates.push(...found.wheels);
    for (const path of found.folders) {
      if (folder.depth >= MAX_DEPTH || seen.has(path)) continue;
      seen.add(path);
      queue.push({ path, depth: folder.depth + 1 });
    }
  }
  return latest(candidates, signal);
}

/** What one folder holds, as far as it may be read. */
async function look(
  folder: string,
  room: number,
  signal: AbortSignal,
): Promise<{ entries: number; wheels: string[]; folders: string[] }> {
  const most = Math.min(room, MAX_ENTRIES_PER_FOLDER);
  const found = { entries: 0, wheels: [] as string[], folders: [] as string[] };
  signal.throwIfAborted();
  try {
    for await (const entry of await opendir(folder, { bufferSize: 256 })) {
      signal.throwIfAborted();
      found.entries += 1;
      if (entry.name === 'pyvenv.cfg') return { ...found, wheels: [], folders: [] };
      const path = join(folder, entry.name);
      if (entry.isDirectory() && isSearched(entry.name)) found.folders.push(path);
      else if (!entry.isDirectory() && looksLikeWheel(path)) found.wheels.push(path);
      if (found.entries >= most) break;
    }
  } catch {
    // A folder that cannot be read, or is gone by now, shows what was seen of it.
    signal.throwIfAborted();
  }
  return found;
}

function isSearched(name: string): boolean {
  return !name.startsWith('.') && !SKIPPED_FOLDERS.has(name);
}

/** Dangling links and what is no file fall out here. */
async function latest(candidates: readonly string[], signal: AbortSignal): Promise<NearbyWheel[]> {
  const wheels: NearbyWheel[] = [];
  for (const path of new Set(candidates)) {
    signal.throwIfAborted();
    const there = await stat(path).catch(() => undefined);
    if (there?.isFile()) wheels.push({ path, modified: there.mtimeMs, placed: there.ctimeMs });
  }
  return wheels
    .sort((a, b) => b.placed - a.placed)
    .slice(0, MAX_WHEELS)
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
