/** Reads the core metadata of a wheel without the rest of it (PEP 658). */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { broken } from './broken.ts';
import type { ByteSource } from './byte-source.ts';
import { findDistInfo } from './dist-info.ts';
import type { WheelName } from './filename.ts';
import { readHeaders } from './headers.ts';
import { checkMetadata } from './metadata.ts';
import { readDirectoryOnly } from './zip.ts';

/** The METADATA file of a wheel. */
export interface CoreMetadata {
  /** As it is in the wheel, valid UTF-8. */
  readonly content: Buffer;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly requiresPython: string | undefined;
}

/** METADATA contains the project's whole description. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads the METADATA file of a wheel: the end of the archive, its directory, and this one entry.
 *
 * @param size - of the wheel, in bytes
 * @param name - the parsed filename
 * @throws WheelStoreError if the archive is damaged, or METADATA is missing, damaged or of another project or version
 */
export async function readCoreMetadata(
  source: ByteSource,
  size: number,
  name: WheelName,
): Promise<CoreMetadata> {
  const directory = await readDirectoryOnly(source, size, name.filename);
  const content = await directory.read(findDistInfo(directory.entries, name).entry('METADATA'), MAX_BYTES);
  if (!isUtf8(content)) throw broken(name.filename, 'has a METADATA that is not UTF-8');
  const { requiresPython } = checkMetadata(readHeaders(content.toString('utf8')), name);
  return { content, sha256: createHash('sha256').update(content).digest('hex'), requiresPython };
}
