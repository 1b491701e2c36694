/**
 * What the steps of this action tell later steps of the same job, in a file of the runner's temporary folder, which
 * GitHub's runner empties before each job.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CommonInputs } from './inputs.ts';

/** What is looked up, and where the notes are kept. */
export interface NotesKey {
  /** RUNNER_TEMP; undefined: there are no notes. */
  readonly temp: string | undefined;
  readonly endpoint: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly commit: string;
}

/** Where the notes on what these inputs are about are kept. */
export function notesKey({ temp, bucket, place }: CommonInputs): NotesKey {
  return { temp, endpoint: bucket.endpoint ?? '', bucket: bucket.name, ...place };
}

/** What a find step said of one target. */
export type Verdict = 'skip' | 'build';

/** What earlier steps of the job noted. */
export interface Notes {
  /** By target. */
  readonly verdicts: Readonly<Record<string, Verdict>>;
  /** Absolute paths of the wheels that fetch steps wrote. */
  readonly fetched: readonly string[];
}

const NONE: Notes = { verdicts: {}, fetched: [] };
/** Any step of the job can write there. */
const MAX_BYTES = 1024 * 1024;

/** Notes what a find step said. Without a folder for it nothing is noted. */
export async function noteVerdicts(key: NotesKey, verdicts: Notes['verdicts']): Promise<void> {
  const before = await readNotes(key);
  await write(key, { ...before, verdicts: { ...before.verdicts, ...verdicts } });
}

/** Notes which wheels a fetch step wrote. */
export async function noteFetched(key: NotesKey, paths: readonly string[]): Promise<void> {
  const before = await readNotes(key);
  await write(key, { ...before, fetched: [...new Set([...before.fetched, ...paths])] });
}

/** Reads the notes; what is missing or damaged says nothing. */
export async function readNotes(key: NotesKey): Promise<Notes> {
  const file = fileOf(key);
  if (file === undefined) return NONE;
  try {
    if ((await stat(file)).size > MAX_BYTES) return NONE;
    const { verdicts, fetched } = JSON.parse(await readFile(file, 'utf8')) as Partial<Notes>;
    return {
      verdicts: verdicts instanceof Object ? verdicts : {},
      fetched: Array.isArray(fetched) ? fetched.map(String) : [],
    };
  } catch {
    return NONE;
  }
}

async function write(key: NotesKey, notes: Notes): Promise<void> {
  const file = fileOf(key);
  if (file === undefined) return;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(notes));
  } catch {
    // Without a note a later step decides by what it sees.
  }
}

function fileOf({ temp, endpoint, bucket, prefix, commit }: NotesKey): string | undefined {
  if (temp === undefined) return undefined;
  const text = JSON.stringify([endpoint, bucket, prefix, commit]);
  return join(temp, 'wheel-store', `${createHash('sha256').update(text).digest('hex').slice(0, 32)}.json`);
}
