/** Which commit is checked out in the workspace, without a git process. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/**
 * Reads HEAD as gitrepository-layout(5) describes it: a branch as a loose or packed ref, a detached HEAD, a
 * worktree's or submodule's `.git` file.
 *
 * @returns the full hash; undefined if the workspace is not a checkout
 */
export async function checkedOutCommit(workspace: string): Promise<string | undefined> {
  try {
    const folder = await gitFolder(workspace);
    const head = (await readFile(join(folder, 'HEAD'), 'utf8')).trim();
    if (!head.startsWith('ref: ')) return head;
    return await resolveRef(folder, head.slice('ref: '.length));
  } catch {
    return undefined;
  }
}

async function gitFolder(workspace: string): Promise<string> {
  const path = join(workspace, '.git');
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.startsWith('gitdir: ') ? resolve(workspace, text.slice('gitdir: '.length).trim()) : path;
}

async function resolveRef(folder: string, ref: string): Promise<string | undefined> {
  const common = await readFile(join(folder, 'commondir'), 'utf8').then(
    (text) => resolve(folder, text.trim()),
    () => folder,
  );
  const loose = await readFile(join(common, ref), 'utf8').catch(() => undefined);
  if (loose !== undefined) return loose.trim();
  const packed = await readFile(join(common, 'packed-refs'), 'utf8');
  return packed
    .split('\n')
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(' ')[0];
}
