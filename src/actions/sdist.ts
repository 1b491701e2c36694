/** Which source distribution a store step stores. */
import { basename } from 'node:path';
import type { Search } from '../disk/find-wheels.ts';
import { WheelStoreError } from '../errors.ts';
import type { StoreInputs } from '../runner/inputs.ts';
import { SDIST_TARGET } from '../slots/layout.ts';
import type { TargetedWheel } from '../slots/own-targets.ts';
import { firstOf, oneLine, quote } from '../untrusted/quote.ts';
import { readSdistFilename } from '../wheel/sdist-filename.ts';

/** How many files one error lists. */
const MAX_LISTED = 10;

/**
 * The only sdist at `path`.
 *
 * @returns nothing if there is neither an sdist nor a wheel, because the build was skipped
 * @throws WheelStoreError if there are several, only wheels, or a name that is not that of an sdist
 */
export function onlySdist({ sdists, wheels }: Search, { path }: StoreInputs): TargetedWheel[] {
  const [first, ...more] = sdists;
  if (first === undefined) {
    if (wheels.length === 0) return [];
    throw new WheelStoreError({
      title: 'No sdist',
      reason: `There are wheels at 'path' (${oneLine(path)}), but no source distribution (*.tar.gz), although 'sdist' is true.`,
      remedy: "Build it, for example with python -m build, let 'path' match it, or leave 'sdist' unset.",
    });
  }
  if (more.length > 0) {
    throw new WheelStoreError({
      title: 'More than one sdist',
      reason: `There are ${sdists.length} files that end in .tar.gz at 'path': ${firstOf(sdists.map(oneLine), MAX_LISTED)}.`,
      remedy:
        "A commit has one source distribution: clear the folder before the build, or exclude the others with ! in 'path'.",
    });
  }
  const name = readSdistFilename(basename(first));
  if (name !== undefined) return [{ path: first, name, target: SDIST_TARGET }];
  throw new WheelStoreError({
    title: 'Not an sdist filename',
    reason: `${quote(basename(first))} is not the filename of a source distribution.`,
    remedy: 'The form is {project}-{version}.tar.gz, such as foo-1.0.tar.gz (PEP 625).',
  });
}
