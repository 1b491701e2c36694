/** A wheel as index pages list it. */
import type { PageEntry } from '../src/slots/index-page.ts';
import { parseWheelFilename } from '../src/wheel/filename.ts';
import { COMMIT } from './job.ts';

/** The only wheel of run 7, attempt 1, except for the changes in `more`. */
export function pageEntry(more: Partial<PageEntry> = {}): PageEntry {
  const name = parseWheelFilename('foo-1.0-py3-none-any.whl');
  return {
    key: `builds/${COMMIT}/7_1/${name.filename}`,
    name,
    target: '',
    run: '7',
    attempt: '1',
    size: 1,
    sha256: undefined,
    requiresPython: undefined,
    lastModified: undefined,
    ref: undefined,
    ...more,
  };
}
