/** Reads what a wheel says of itself, from its zip's directory and a few small reads. */
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { WheelStoreError } from '../errors.ts';
import { normaliseProject, type WheelName } from './filename.ts';
import { readVersion } from './version.ts';

/** What a wheel's dist-info folder says. */
export interface WheelContents {
  /** METADATA's Name, as written. */
  readonly project: string;
  /** METADATA's Version, as written. */
  readonly version: string;
  readonly requiresPython: string | undefined;
  /** WHEEL's Tag lines, compressed sets expanded, lower case. */
  readonly tags: readonly string[];
  /** What pip takes and a reader should know all the same. */
  readonly warnings: readonly string[];
}

/** METADATA holds a project's whole description; a larger one is not read as an accident. */
const MOST_TEXT_BYTES = 16 * 1024 * 1024;

/**
 * Checks a wheel's archive against its filename (binary distribution format, "The .dist-info directory"; core
 * metadata specification).
 *
 * @throws WheelStoreError when it is no readable zip or not the wheel that its filename promises
 */
export async function inspectWheel(path: string, name: WheelName): Promise<WheelContents> {
  const zip = await openZip(path, name);
  try {
    const entries = await readDirectory(zip, name);
    const folder = distInfoFolder(entries, name);
    const text = async (file: string) => {
      const entry = entries.find(({ fileName }) => fileName === `${folder}/${file}`);
      if (entry === undefined) throw broken(name, `has no ${folder}/${file}`);
      return readText(zip, entry, name);
    };
    const metadata = readHeaders(await text('METADATA'));
    const wheel = readHeaders(await text('WHEEL'));
    return compare(name, metadata, wheel);
  } finally {
    zip.close();
  }
}

async function openZip(path: string, name: WheelName): Promise<ZipFile> {
  const { size } = await stat(path);
  if (size === 0) throw broken(name, 'is an empty file');
  try {
    return await yauzl.openPromise(path, { lazyEntries: true, autoClose: false });
  } catch (error) {
    throw broken(name, `is no zip archive, or is cut off (${(error as Error).message})`, error);
  }
}

async function readDirectory(zip: ZipFile, name: WheelName): Promise<Entry[]> {
  const entries: Entry[] = [];
  try {
    for await (const entry of zip.eachEntry()) entries.push(entry);
    for (const entry of entries) await zip.readLocalFileHeaderPromise(entry, { minimal: true });
  } catch (error) {
    throw broken(name, `has a damaged directory (${(error as Error).message})`, error);
  }
  return entries;
}

function distInfoFolder(entries: readonly Entry[], name: WheelName): string {
  const folders = new Set(
    entries.map(({ fileName }) => fileName.split('/')[0]!).filter((folder) => folder.endsWith('.dist-info')),
  );
  const [folder, ...more] = folders;
  if (folder === undefined) throw broken(name, 'has no *.dist-info folder');
  if (more.length > 0)
    throw broken(name, `has ${folders.size} *.dist-info folders: ${[...folders].map(quote).join(', ')}`);
  return folder;
}

async function readText(zip: ZipFile, entry: Entry, name: WheelName): Promise<string> {
  if (entry.uncompressedSize > MOST_TEXT_BYTES)
    throw broken(name, `has a ${quote(entry.fileName)} of ${entry.uncompressedSize} bytes`);
  try {
    const stream: Readable = await zip.openReadStreamPromise(entry);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    throw broken(
      name,
      `has a ${quote(entry.fileName)} that cannot be read (${(error as Error).message})`,
      error,
    );
  }
}

/** Header fields as in email (core metadata specification): a line that begins with white space goes on the last. */
function readHeaders(text: string): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  const [head = ''] = text.replace(/\r\n?/g, '\n').split('\n\n', 1);
  for (const line of head.replace(/\n[ \t]+/g, ' ').split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const field = line.slice(0, colon).toLowerCase();
    headers.set(field, [...(headers.get(field) ?? []), line.slice(colon + 1).trim()]);
  }
  return headers;
}

function compare(
  name: WheelName,
  metadata: Map<string, string[]>,
  wheel: Map<string, string[]>,
): WheelContents {
  const project = metadata.get('name')?.[0] ?? '';
  const versionText = metadata.get('version')?.[0] ?? '';
  const version = readVersion(versionText);
  if (normaliseProject(project) !== name.project) {
    throw broken(name, `is of the project ${quote(project)} by its METADATA`);
  }
  if (version === undefined || publicPart(version.text) !== publicPart(name.version)) {
    throw broken(name, `has the version ${quote(versionText)} by its METADATA`);
  }
  const warnings: string[] = [];
  if (version.text !== name.version) {
    warnings.push(`${name.filename} has the version ${versionText} in its METADATA; the local parts differ.`);
  }
  const tags = (wheel.get('tag') ?? []).flatMap(expandTag);
  const requiresPython = metadata.get('requires-python')?.[0];
  return { project, version: versionText, requiresPython, tags, warnings };
}

function publicPart(version: string): string {
  return version.split('+', 1)[0]!;
}

function expandTag(tag: string): string[] {
  const [pythons = '', abis = '', platforms = ''] = tag.toLowerCase().split('-');
  return pythons
    .split('.')
    .flatMap((python) =>
      abis
        .split('.')
        .flatMap((abi) => platforms.split('.').map((platform) => `${python}-${abi}-${platform}`)),
    );
}

function broken(name: WheelName, what: string, cause?: unknown): WheelStoreError {
  return new WheelStoreError(
    {
      title: 'Broken wheel',
      reason: `${quote(name.filename)} ${what}.`,
      remedy: 'Build it again, and check the step that copied or renamed it.',
    },
    cause === undefined ? undefined : { cause },
  );
}

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
