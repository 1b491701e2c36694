/** Looks for wheels that a build wrote somewhere other than `path`. */
import { opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { looksLikeWheel } from './find-wheels.ts';

/** A wheel that was found but not opened. */
export interface NearbyWheel {
  /** Absolute. */
  readonly path: string;
  /** When the file was last written (mtime), milliseconds since 1970. */
  readonly modified: number;
  /** When the file was created or last changed in any way (ctime), milliseconds since 1970. */
  readonly changed: number;
}

/** Where build tools write wheels: pip, uv and build; cibuildwheel; maturin; setuptools and CMake. */
const USUAL_FOLDERS = ['dist', 'wheelhouse', 'target/wheels', 'build'];
/** The same below the home folder, for jobs that keep the output out of the workspace, as with CARGO_TARGET_DIR. */
const HOME_FOLDERS = ['wheels', 'wheelhouse', 'target/wheels', 'dist'];
/** Large folders of third-party files. Virtual environments with other names are recognised by their pyvenv.cfg. */
const SKIPPED_FOLDERS = new Set(['node_modules', 'site-packages', '__pycache__', 'venv']);
const MAX_ENTRIES = 20_000;
/** Keeps one large data folder from using up MAX_ENTRIES. */
const MAX_ENTRIES_PER_FOLDER = 5_000;
const MAX_DEPTH = 6;
const MAX_CANDIDATES = 1_000;
const MAX_WHEELS = 10;

interface Folder {
  readonly path: string;
  /** Levels below the folder where the search began. */
  readonly depth: number;
}

/**
 * Looks for wheels in the workspace, starting with the usual output folders, and in those of the home folder. The search is limited
 * to 20,000 entries, 5,000 entries per folder and six levels. Links to folders, hidden folders, node_modules, virtual
 * environments and unreadable folders are skipped.
 *
 * @param workspace - absolute
 * @param home - the home folder, absolute; if undefined, it is not searched
 * @returns the ten most recently changed at most, sorted by path
 * @throws the signal's reason if it aborts, and nothing else
 */
export async function wheelsNearby(
  workspace: string,
  signal: AbortSignal,
  home?: string,
): Promise<NearbyWheel[]> {
  const starts = USUAL_FOLDERS.map((name) => join(workspace, name));
  if (home !== undefined) starts.push(...HOME_FOLDERS.map((name) => join(home, name)));
  const queue: Folder[] = [...starts, workspace].map((path) => ({ path, depth: 0 }));
  const seen = new Set(queue.map(({ path }) => path));
  const candidates: string[] = [];
  let entries = 0;
  // Breadth first, so that wheels near the top are found before the limit is reached.
  for (let folder = queue.shift(); folder !== undefined; folder = queue.shift()) {
    if (entries >= MAX_ENTRIES || candidates.length >= MAX_CANDIDATES) break;
    const found = await readFolder(folder.path, MAX_ENTRIES - entries, signal);
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

/** Reads one folder, up to the limits. */
async function readFolder(
  folder: string,
  maxEntries: number,
  signal: AbortSignal,
): Promise<{ entries: number; wheels: string[]; folders: string[] }> {
  const limit = Math.min(maxEntries, MAX_ENTRIES_PER_FOLDER);
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
      if (found.entries >= limit) break;
    }
  } catch {
    // If the folder cannot be read (any more), keep what was found so far.
    signal.throwIfAborted();
  }
  return found;
}

function isSearched(name: string): boolean {
  return !name.startsWith('.') && !SKIPPED_FOLDERS.has(name);
}

/** Also drops dangling links and folders named like a wheel. */
async function latest(candidates: readonly string[], signal: AbortSignal): Promise<NearbyWheel[]> {
  const wheels: NearbyWheel[] = [];
  for (const path of new Set(candidates)) {
    signal.throwIfAborted();
    const stats = await stat(path).catch(() => undefined);
    if (stats?.isFile()) wheels.push({ path, modified: stats.mtimeMs, changed: stats.ctimeMs });
  }
  return wheels
    .sort((a, b) => b.changed - a.changed)
    .slice(0, MAX_WHEELS)
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
