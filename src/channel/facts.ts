/** What a channel's page needs to know of a file, besides what a listing shows. Pure functions. */
import { createHash } from 'node:crypto';
import { isDecimal } from '../slots/layout.ts';
import type { WheelName } from '../wheel/filename.ts';

/** Facts about a published file. They are in its object metadata, and on the page, so that they need no request. */
export interface Facts {
  /** Lower-case hex. */
  readonly sha256: string;
  /** SHA-256 of the core metadata; undefined for an sdist, which has none. */
  readonly metadataSha256: string | undefined;
  readonly requiresPython: string | undefined;
  /** The run that built it. */
  readonly run: string;
  readonly attempt: string;
  /** `owner/name`; undefined if unknown. */
  readonly repository: string | undefined;
  /** See {@link setOf}. */
  readonly set: string;
}

const SHA256 = /^[0-9a-f]{64}$/;
const SET = /^([1-9][0-9]{0,4})-[0-9a-f]{32}$/;
const REPOSITORY = /^[\w.-]{1,100}\/[\w.-]{1,100}$/;
const PRINTABLE = /^[\x21-\x7e][\x20-\x7e]{0,255}$/;

/**
 * Names the set of a project's files that one step publishes. It begins with their number, so that a reader of the
 * channel can tell whether a set is complete.
 *
 * @param files - key and SHA-256 of each
 */
export function setOf(files: readonly { readonly key: string; readonly sha256: string }[]): string {
  const lines = files.map(({ key, sha256 }) => `${key} ${sha256}`).sort();
  return `${lines.length}-${createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 32)}`;
}

/** The number of files in a set. */
export function sizeOfSet(set: string): number {
  return Number(SET.exec(set)?.[1]);
}

/**
 * The object metadata of a published file (S3 API, CopyObject: `x-amz-meta-*`). It is sent in headers, so values that are
 * not printable ASCII are left out.
 */
export function metadataOf(
  facts: Facts,
  commit: string,
  { project, version }: WheelName,
): Record<string, string> {
  const metadata: Record<string, string> = {
    sha256: facts.sha256,
    'metadata-sha256': facts.metadataSha256 ?? '',
    'requires-python': facts.requiresPython ?? '',
    run: facts.run,
    attempt: facts.attempt,
    repository: facts.repository ?? '',
    set: facts.set,
    commit,
    project,
    version: version.text,
  };
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => PRINTABLE.test(value)));
}

/**
 * Reads facts from object metadata, or from a page, which has the same names.
 *
 * @returns undefined if one is missing or malformed: the object was not put there by this action
 */
export function factsOf(metadata: Readonly<Record<string, string | undefined>>): Facts | undefined {
  const { sha256 = '', run = '', attempt = '', set = '', repository = '' } = metadata;
  const metadataSha256 = metadata['metadata-sha256'] ?? '';
  if (!SHA256.test(sha256) || !isDecimal(run) || !isDecimal(attempt) || !SET.test(set)) return undefined;
  return {
    sha256,
    metadataSha256: SHA256.test(metadataSha256) ? metadataSha256 : undefined,
    requiresPython: metadata['requires-python'] || undefined,
    run,
    attempt,
    repository: REPOSITORY.test(repository) ? repository : undefined,
    set,
  };
}
