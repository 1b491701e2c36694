/** Detects GNU tar. Only GNU tar reads TAR_OPTIONS, which make it unpack safely. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Whether the tar that `@actions/cache` uses is GNU tar. That is Git's on Windows, `gtar` on macOS, else `tar`
 * (`@actions/cache`, internal/tar.ts).
 */
export function hasGnuTar(): boolean {
  if (process.platform === 'win32' && existsSync(`${process.env.PROGRAMFILES}\\Git\\usr\\bin\\tar.exe`))
    return true;
  const program = process.platform === 'darwin' ? 'gtar' : 'tar';
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return (stdout ?? '').toLowerCase().includes('gnu tar');
}
