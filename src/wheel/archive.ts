/** Checks a wheel file against its filename and reads its metadata. */
import { isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import { COMPRESSIONS } from './compression.ts';
import { findDistInfo } from './dist-info.ts';
import { checkEntryNames } from './entry-names.ts';
import { checkEntryPoints } from './entry-points.ts';
import type { WheelName } from './filename.ts';
import { readHeaders } from './headers.ts';
import { type Inventory, takeInventory } from './largest.ts';
import { checkMetadata, checkWheelFile, type Finding } from './metadata.ts';
import { type RecordRows, readRecord } from './record.ts';
import { type Archive, readArchive, type ZipEntry } from './zip.ts';

/** A wheel's metadata and an inventory of its files. */
export interface WheelContents {
  /** METADATA's Name, as written. */
  readonly project: string;
  /** METADATA's Version, as written, without surrounding white space. */
  readonly version: string;
  readonly requiresPython: string | undefined;
  /** WHEEL's Tag lines, compressed sets expanded, lower case. */
  readonly tags: readonly string[];
  readonly inventory: Inventory;
  /** Problems that do not keep pip from installing the wheel: sentences, each on one line. */
  readonly warnings: readonly string[];
}

/** For METADATA, WHEEL and the other files that are read. METADATA contains the project's whole description. */
const MAX_BYTES = 16 * 1024 * 1024;
/** How many of the largest files are listed. */
const MAX_NAMED = 10;

/** A wheel's contents, and what the later check of its entries' data needs. */
export interface Inspection {
  readonly contents: WheelContents;
  readonly archive: Archive;
  readonly record: RecordRows;
}

/**
 * Checks a wheel file like {@link inspectFile}.
 *
 * @param path - the file, absolute or relative to the working directory
 */
export async function inspectWheel(path: string, name: WheelName): Promise<WheelContents> {
  const file = await open(path);
  try {
    return (await inspectFile(file, name)).contents;
  } finally {
    await file.close();
  }
}

/**
 * Checks a wheel file (binary distribution format, "File contents" and "The .dist-info directory"; core metadata
 * specification) as pip does before it installs one, and compares it with its filename. Reads only the zip's directory,
 * the entries' headers and a few files of the dist-info folder.
 *
 * @param file - stays open
 * @param name - the parsed filename
 * @throws WheelStoreError if it is not a readable zip, if pip would not install it, or if it does not match its
 *   filename
 */
export async function inspectFile(file: FileHandle, name: WheelName): Promise<Inspection> {
  const archive = await readArchive(file, name.filename);
  const warnings = [...zipWarnings(archive, name), ...checkEntryNames(archive.entries, name)];
  const distInfo = findDistInfo(archive.entries, name);
  const text = async (entry: ZipEntry): Promise<string> => {
    const content = await archive.read(entry, MAX_BYTES);
    if (!isUtf8(content)) throw broken(name.filename, `has a ${quote(entry.name)} that is not UTF-8`);
    return content.toString('utf8');
  };
  const metadata = checkMetadata(readHeaders(await text(distInfo.entry('METADATA'))), name);
  const wheel = checkWheelFile(readHeaders(await text(distInfo.entry('WHEEL'))), name);
  const entryPoints = distInfo.find('entry_points.txt');
  const scripts = checkEntryPoints(entryPoints === undefined ? '' : await text(entryPoints), name);
  const record = readRecord(await text(distInfo.entry('RECORD')), name);
  const { project, version, requiresPython } = metadata;
  const found: Finding[] = [distInfo, metadata, wheel, scripts, record];
  const contents = {
    project,
    version,
    requiresPython,
    tags: wheel.tags,
    inventory: takeInventory(archive.entries, MAX_NAMED),
    warnings: [...warnings, ...found.flatMap((finding) => finding.warnings)],
  };
  return { contents, archive, record };
}

/** Warns of archives that pip accepts, but other tools or PyPI do not. */
function zipWarnings({ entries, around }: Archive, { filename }: WheelName): string[] {
  const warnings: string[] = [];
  const { before, after } = around;
  if (before > 0 || after > 0) {
    warnings.push(
      `${quote(filename)} holds ${before} bytes before and ${after} bytes after its zip archive: pip accepts it, uv and PyPI do not.`,
    );
  }
  const faulty = entries.find(({ hasFaultyZip64 }) => hasFaultyZip64);
  if (faulty !== undefined) {
    warnings.push(
      `${quote(filename)} has a zip64 field of the wrong length at ${quote(faulty.name)}, as wheel tags writes before wheel 0.48: pip accepts it, uv and PyPI do not.`,
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
