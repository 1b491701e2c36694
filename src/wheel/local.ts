/** Finds the one wheel that a build left, and reads it once. */
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { type FileHandle, glob, open, readdir, stat } from 'node:fs/promises';
import nodePath, { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { WheelStoreError } from '../errors.ts';

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

/** What was looked for, where, and what was found. */
export interface Search {
  /** Absolute paths of wheels, sorted. */
  readonly wheels: readonly string[];
  /** The folder that was looked into, absolute. */
  readonly folder: string;
  /** Names of what else lies there, sorted. */
  readonly others: readonly string[];
}

const READ_BYTES = 1024 * 1024;

/**
 * Looks for wheels at `path`: a file, a folder (its own files, not those of folders in it) or a glob. What
 * exists wins over reading it as a glob. Folders, dotfiles and dangling links are no wheels.
 *
 * @param path - as given by the user, absolute or relative to `workspace`
 */
export async function findWheels(path: string, workspace: string): Promise<Search> {
  const absolute = resolve(workspace, path);
  const there = await stat(absolute).catch(() => undefined);
  if (there?.isFile()) {
    const isWheel = looksLikeWheel(absolute);
    const name = basename(absolute);
    return { wheels: isWheel ? [absolute] : [], folder: dirname(absolute), others: isWheel ? [] : [name] };
  }
  if (there?.isDirectory())
    return sortOut(
      absolute,
      (await readdir(absolute)).map((name) => join(absolute, name)),
    );
  const matches = await Array.fromAsync(glob(path, { cwd: workspace }));
  const folder = folderOfGlob(path, workspace);
  return sortOut(
    folder,
    matches.map((match) => (isAbsolute(match) ? match : join(workspace, match))),
  );
}

/**
 * The folder that a glob starts from: everything before its first wildcard.
 *
 * @param workspace - absolute; no pattern itself, whatever characters its name has
 * @param system - the path rules of the runner's system
 */
export function folderOfGlob(
  pattern: string,
  workspace: string,
  system: Pick<typeof nodePath, 'dirname' | 'resolve'> = nodePath,
): string {
  const wildcard = pattern.search(/[*?[{]/);
  const fixed = wildcard === -1 ? pattern : `${pattern.slice(0, wildcard)}x`;
  return system.resolve(workspace, system.dirname(fixed));
}

/**
 * The one wheel of a search.
 *
 * @returns undefined when there is none
 * @throws WheelStoreError when there are several: which of them is meant cannot be guessed
 */
export function onlyWheel({ wheels, folder }: Search): string | undefined {
  if (wheels.length <= 1) return wheels[0];
  throw new WheelStoreError({
    title: 'More than one wheel',
    reason: `There are ${wheels.length} wheels in ${folder}: ${wheels.map((path) => basename(path)).join(', ')}.`,
    remedy:
      "A slot holds one wheel: clear the folder before the build, point 'path' at one of them, or store each in a step of its own with its own 'target'.",
  });
}

/** What a search that found no wheel found instead, as the end of a sentence. */
export function describeSearch(path: string, { folder, others }: Search): string {
  const shown = others.slice(0, 10).map((name) => JSON.stringify(name).slice(1, -1));
  const more = others.length > shown.length ? ` and ${others.length - shown.length} more` : '';
  const there =
    shown.length === 0 ? 'nothing that counts is there' : `what is there: ${shown.join(', ')}${more}`;
  return `no wheel at '${path}', looked for in ${folder} (${there})`;
}

/**
 * Opens a wheel and reads it once from end to end.
 *
 * @throws WheelStoreError when it cannot be read or changes meanwhile
 */
export async function openWheel(path: string): Promise<OpenWheel> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, error);
  });
  try {
    const before = await file.stat({ bigint: true });
    const { sha256, size } = await hashFile(file);
    const confirmUnchanged = async () => {
      if (!isSame(before, await file.stat({ bigint: true }))) throw changed(path);
    };
    await confirmUnchanged();
    const [modified, placed] = [Number(before.mtimeMs), Number(before.ctimeMs)];
    return { path, filename: basename(path), file, size, sha256, modified, placed, confirmUnchanged };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Hashes an open file from its beginning.
 *
 * @returns lower-case hex SHA-256, and the size in bytes
 */
export async function hashFile(file: FileHandle): Promise<{ sha256: string; size: number }> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  let size = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, size);
    if (bytesRead === 0) return { sha256: hash.digest('hex'), size };
    hash.update(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
}

async function sortOut(folder: string, paths: readonly string[]): Promise<Search> {
  const kinds = await Promise.all(
    paths.map(async (path) => ({ path, file: (await stat(path).catch(() => undefined))?.isFile() === true })),
  );
  const wheels = kinds.filter(({ path, file }) => file && looksLikeWheel(path)).map(({ path }) => path);
  const others = paths.length > 0 ? paths : await readdir(folder).catch(() => []);
  return {
    wheels: [...new Set(wheels)].sort(),
    folder,
    others: others
      .map((path) => basename(path))
      .filter((name) => !wheels.some((wheel) => basename(wheel) === name))
      .sort(),
  };
}

/**
 * Whether a file of this name is taken for a wheel: it is not hidden, and ends in `.whl`. Another case of the suffix
 * counts here, so that the check of the filename can say what is wrong with it.
 */
export function looksLikeWheel(path: string): boolean {
  return /\.whl$/i.test(path) && !basename(path).startsWith('.');
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

function unreadable(path: string, error: unknown): WheelStoreError {
  return new WheelStoreError(
    {
      title: 'Wheel not readable',
      reason: `${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? (error as Error).message}).`,
      remedy: 'Check the owner and mode of the file; builds in containers often leave files of root.',
    },
    { cause: error },
  );
}
