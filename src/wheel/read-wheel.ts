/** Opens a wheel that is about to be stored, and checks all of it while hashing it. */

import { type OpenWheel, openWheel } from '../disk/open-wheel.ts';
import { firstOf, quote } from '../untrusted/quote.ts';
import { type Inspection, inspectFile, type WheelContents } from './archive.ts';
import { checkData, type DataCheck } from './entry-data.ts';
import type { WheelName } from './filename.ts';
import { compareRecord, MAX_HASHED_BYTES } from './record.ts';

const MAX_NAMED = 3;

/** A wheel that has passed all checks. */
export interface CheckedWheel {
  readonly wheel: OpenWheel;
  readonly contents: WheelContents;
}

/**
 * Opens a wheel, checks it as pip does before and during installation, and hashes it. Apart from its directory, the
 * file is read only once: entries are unpacked and compared with their size and checksum while the file is hashed.
 *
 * @param path - absolute
 * @throws WheelStoreError if it cannot be read, changes in the meantime, or pip would not install it
 * @throws the signal's reason if it aborts
 */
export async function readWheel(path: string, name: WheelName, signal: AbortSignal): Promise<CheckedWheel> {
  let found: { inspection: Inspection; data: DataCheck } | undefined;
  const wheel = await openWheel(path, signal, async (file) => {
    const inspection = await inspectFile(file, name);
    const { archive, record } = inspection;
    const isHashed = ({ name: entry, size }: { name: string; size: number }) =>
      size <= MAX_HASHED_BYTES && record.rows.get(entry)?.algorithm === 'sha256';
    const data = checkData(archive.entries, archive.around.before, name.filename, isHashed);
    found = { inspection, data };
    return data.write;
  });
  const { inspection, data } = found!;
  const { contents, archive, record } = inspection;
  const dataWarnings = [
    ...compareRecord(record, archive.entries, data.digests, name),
    ...warnUnchecked(data, name),
  ];
  return { wheel, contents: { ...contents, warnings: [...contents.warnings, ...dataWarnings] } };
}

function warnUnchecked({ unchecked }: DataCheck, { filename }: WheelName): string[] {
  if (unchecked.length === 0) return [];
  const names = unchecked.map(({ name }) => quote(name));
  return [
    `${quote(filename)} holds ${firstOf(names, MAX_NAMED)} in bzip2 or LZMA, which were not unpacked and so not checked: pip accepts it, uv does not.`,
  ];
}
