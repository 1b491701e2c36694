/**
 * Notes that steps leave for later steps of the same job, in a file in the runner's temporary folder. GitHub's runner
 * empties that folder before each job.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CommonInputs } from './inputs.ts';

/** Identifies the notes of one store and commit. */
export interface NotesKey {
  /** RUNNER_TEMP; undefined: there are no notes. */
  readonly temp: string | undefined;
  readonly endpoint: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly commit: string;
}

/** The key of the notes for these inputs. */
export function notesKey({ temp, bucket, place }: CommonInputs): NotesKey {
  return { temp, endpoint: bucket.endpoint ?? '', bucket: bucket.name, ...place };
}

/** The result of a find step for one target. */
export type Verdict = 'skip' | 'build';

/** The notes of earlier steps of the job. */
export interface Notes {
  /** By target. */
  readonly verdicts: Readonly<Record<string, Verdict>>;
  /** Absolute paths of the wheels that fetch steps wrote. */
  readonly fetched: readonly string[];
}

const EMPTY: Notes = { verdicts: {}, fetched: [] };
/** A limit, because any step of the job can write to the file. */
const MAX_BYTES = 1024 * 1024;

/** Notes the result of a find step. Does nothing without a temporary folder. */
export async function noteVerdicts(key: NotesKey, verdicts: Notes['verdicts']): Promise<void> {
  const before = await readNotes(key);
  await write(key, { ...before, verdicts: { ...before.verdicts, ...verdicts } });
}

/** Notes which wheels a fetch step wrote. */
export async function noteFetched(key: NotesKey, paths: readonly string[]): Promise<void> {
  const before = await readNotes(key);
  await write(key, { ...before, fetched: [...new Set([...before.fetched, ...paths])] });
}

/** Reads the notes. Missing or damaged ones are empty. */
export async function readNotes(key: NotesKey): Promise<Notes> {
  const file = fileOf(key);
  if (file === undefined) return EMPTY;
  try {
    if ((await stat(file)).size > MAX_BYTES) return EMPTY;
    const { verdicts, fetched } = JSON.parse(await readFile(file, 'utf8')) as Partial<Notes>;
    return {
      verdicts: verdicts instanceof Object ? verdicts : {},
      fetched: Array.isArray(fetched) ? fetched.map(String) : [],
    };
  } catch {
    return EMPTY;
  }
}

async function write(key: NotesKey, notes: Notes): Promise<void> {
  const file = fileOf(key);
  if (file === undefined) return;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(notes));
  } catch {
    // Without notes, a later step decides by the files that it finds.
  }
}

function fileOf({ temp, endpoint, bucket, prefix, commit }: NotesKey): string | undefined {
  if (temp === undefined) return undefined;
  const text = JSON.stringify([endpoint, bucket, prefix, commit]);
  return join(temp, 'wheel-store', `${createHash('sha256').update(text).digest('hex').slice(0, 32)}.json`);
}
