/** Whether the tar that `@actions/cache` will take is GNU's: only that one obeys TAR_OPTIONS, and unpacks safely. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Looks where `@actions/cache` looks (its internal/tar.ts): Git's own on Windows, `gtar` on macOS, else `tar`. */
export function hasGnuTar(): boolean {
  if (process.platform === 'win32' && existsSync(`${process.env.PROGRAMFILES}\\Git\\usr\\bin\\tar.exe`))
    return true;
  const program = process.platform === 'darwin' ? 'gtar' : 'tar';
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return (stdout ?? '').toLowerCase().includes('gnu tar');
}
