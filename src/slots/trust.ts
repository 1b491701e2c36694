/** Checks that a stored wheel's metadata matches its key and the look-up. Pure functions. */
import type { WheelContents } from '../wheel/archive.ts';
import { normaliseProject } from '../wheel/filename.ts';
import { comparePublic, readVersion, type Version } from '../wheel/version.ts';
import type { PlacedWheel, Slot } from './layout.ts';

/** The conditions for using a stored wheel. */
export interface Trust {
  /** `owner/name` of the repository that stored it; undefined: any. */
  readonly repository: string | undefined;
  /** Accepted SHA-256, lower-case hex; empty: any. */
  readonly sha256: readonly string[];
  /** Whether to ignore a wheel that was stored without a SHA-256. */
  readonly requireSha256: boolean;
}

/** Accepts any wheel that this repository stored; undefined: any wheel at all. */
export function trustRepository(repository: string | undefined): Trust {
  return { repository, sha256: [], requireSha256: false };
}

/** The object metadata that a store step writes (S3 API, PutObject: `x-amz-meta-*`). */
export type StoredMetadata = Readonly<Record<string, string | undefined>>;

/**
 * The metadata that a store step writes in addition to the wheel's SHA-256. It is sent in HTTP headers, so values that
 * are not printable ASCII are left out.
 *
 * @param ref - `GITHUB_REF`
 */
export function objectMetadata(
  { commit, run, attempt }: Slot,
  { repository, ref }: { readonly repository: string | undefined; readonly ref: string | undefined },
  contents: Pick<WheelContents, 'project' | 'version' | 'requiresPython'>,
): Record<string, string> {
  const metadata: Record<string, string> = {
    commit,
    run,
    attempt,
    repository: repository ?? '',
    ref: ref ?? '',
    project: contents.project,
    version: contents.version,
    'requires-python': contents.requiresPython ?? '',
  };
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => /^[\x21-\x7e][\x20-\x7e]{0,255}$/.test(value)),
  );
}

/** The SHA-256 that was stored with a wheel; undefined if it is missing or malformed. */
export function storedSha256({ sha256 }: StoredMetadata): string | undefined {
  return sha256 !== undefined && /^[0-9a-f]{64}$/.test(sha256) ? sha256 : undefined;
}

/**
 * Why a stored wheel must not be used: its metadata doesn't match its key, or the wheel isn't one of those requested.
 * Missing metadata is not a mismatch.
 *
 * @param sha256 - of the object, lower-case hex; undefined if unknown
 * @returns the end of a sentence whose subject is the object; undefined if the wheel may be used
 */
export function reasonToIgnore(
  { name, run, attempt }: PlacedWheel,
  commit: string,
  metadata: StoredMetadata,
  sha256: string | undefined,
  trust: Trust,
): string | undefined {
  const key = run === undefined ? { commit } : { commit, run, attempt };
  for (const [what, expected] of Object.entries(key)) {
    const stored = metadata[what];
    if (stored !== undefined && stored !== expected) return `its metadata names ${what} ${stored}`;
  }
  const { project, version, repository } = metadata;
  if (project !== undefined && normaliseProject(project) !== name.project)
    return `its metadata names the project ${project}`;
  if (version !== undefined && !isVersion(version, name.version))
    return `its metadata names version ${version}`;
  if (repository !== undefined && !isSameRepository(repository, trust.repository))
    return `it was stored by ${repository}, not by ${trust.repository}`;
  if (sha256 === undefined) return trust.requireSha256 ? 'it was stored without a SHA-256' : undefined;
  if (trust.sha256.length === 0 || trust.sha256.includes(sha256)) return undefined;
  return `its SHA-256 is ${sha256}`;
}

/** Ignores local versions, in which METADATA and filename may differ. */
function isVersion(stored: string, wanted: Version): boolean {
  const read = readVersion(stored);
  return read !== undefined && comparePublic(read, wanted) === 0;
}

/** GitHub's names are case-insensitive. */
function isSameRepository(stored: string, wanted: string | undefined): boolean {
  return wanted === undefined || stored.toLowerCase() === wanted.toLowerCase();
}
