/** Checks a wheel file against its filename and reads what it says of itself. */
import { isUtf8 } from 'node:buffer';
import { broken } from './broken.ts';
import { COMPRESSIONS } from './compression.ts';
import { findDistInfo } from './dist-info.ts';
import { checkEntryNames } from './entry-names.ts';
import type { WheelName } from './filename.ts';
import { type Headers, readHeaders } from './headers.ts';
import { type Inventory, takeInventory } from './largest.ts';
import { checkMetadata, checkWheelFile, type Finding } from './metadata.ts';
import { quote } from './quote.ts';
import { type Archive, withArchive } from './zip.ts';

/** What a wheel's dist-info folder says, and what it holds. */
export interface WheelContents {
  /** METADATA's Name, as written. */
  readonly project: string;
  /** METADATA's Version, as written but for white space around it. */
  readonly version: string;
  readonly requiresPython: string | undefined;
  /** WHEEL's Tag lines, compressed sets expanded, lower case. */
  readonly tags: readonly string[];
  readonly inventory: Inventory;
  /** Sentences on what pip takes and a reader should know all the same, each on one line. */
  readonly warnings: readonly string[];
}

/** METADATA holds a project's whole description; a larger one than this is not read as an accident. */
const MOST_BYTES = 16 * 1024 * 1024;
/** So many of the largest files are named. */
const MOST_NAMED = 10;

/**
 * Checks a wheel file (binary distribution format, "File contents" and "The .dist-info directory"; core metadata
 * specification) as pip does before it installs one, and that it is the wheel that its filename promises. Only
 * the zip's directory, the entries' headers and three files of the dist-info folder are read.
 *
 * @param path - of the file, absolute or relative to the process's folder
 * @param name - what its filename says
 * @throws WheelStoreError when it is no readable zip, or pip would not install it, or it is another wheel
 */
export async function inspectWheel(path: string, name: WheelName): Promise<WheelContents> {
  return withArchive(path, name.filename, async (archive) => {
    const warnings = [...oddities(archive, name), ...checkEntryNames(archive.entries, name)];
    const distInfo = findDistInfo(archive.entries, name);
    const headers = async (file: string): Promise<Headers> => {
      const entry = distInfo.entry(file);
      const content = await archive.read(entry, MOST_BYTES);
      if (!isUtf8(content)) throw broken(name.filename, `has a ${quote(entry.name)} that is not UTF-8`);
      return readHeaders(content.toString('utf8'));
    };
    const metadata = checkMetadata(await headers('METADATA'), name);
    const wheel = checkWheelFile(await headers('WHEEL'), name);
    const record = distInfo.entry('RECORD');
    if (record.size <= MOST_BYTES) await archive.read(record, MOST_BYTES);
    const { project, version, requiresPython } = metadata;
    const found: Finding[] = [distInfo, metadata, wheel];
    return {
      project,
      version,
      requiresPython,
      tags: wheel.tags,
      inventory: takeInventory(archive.entries, MOST_NAMED),
      warnings: [...warnings, ...found.flatMap((finding) => finding.warnings)],
    };
  });
}

/** What pip's own zip reader takes, and other tools and PyPI do not. */
function oddities({ entries, around }: Archive, { filename }: WheelName): string[] {
  const warnings: string[] = [];
  const { before, after } = around;
  if (before > 0 || after > 0) {
    warnings.push(
      `${quote(filename)} holds ${before} bytes before and ${after} bytes after its zip archive: pip takes it, uv and PyPI do not.`,
    );
  }
  const newer = entries.find(({ method }) => COMPRESSIONS.get(method) === 'zstd');
  if (newer !== undefined) {
    warnings.push(
      `${quote(filename)} holds ${quote(newer.name)} compressed with zstd, which Python reads from 3.14 on.`,
    );
  }
  return warnings;
}
