/** Creates wheels for tests: valid by default, broken on request. */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { strToU8, zipSync } from 'fflate';

/** Contents of a wheel that override what follows from its filename. */
export interface WheelRecipe {
  /** METADATA's `Name`. */
  readonly project?: string;
  /** METADATA's `Version`. */
  readonly version?: string;
  /** Additional lines of METADATA. */
  readonly metadata?: readonly string[];
  /** WHEEL's `Tag` lines. */
  readonly tags?: readonly string[];
  /** Files besides the dist-info folder. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** RECORD; by default, it lists all files. */
  readonly record?: string | Uint8Array;
  /** Compression level; 0 means stored. */
  readonly level?: 0 | 6;
}

/** The bytes of a wheel that matches `filename`; the same arguments return the same bytes. */
export function wheelBytes(filename: string, recipe: WheelRecipe = {}): Uint8Array {
  const segments = filename.replace(/\.whl$/i, '').split('-');
  const [project = '', version = ''] = segments;
  const [python = '', abi = '', platform = ''] = segments.slice(-3);
  const info = `${project}-${version}.dist-info`;
  const tags = recipe.tags ?? expand(python, abi, platform);
  const files: Record<string, Uint8Array> = {
    [`${project}/__init__.py`]: strToU8(`VERSION = '${version}'\n`),
    ...recipe.files,
    [`${info}/METADATA`]: lines([
      'Metadata-Version: 2.1',
      `Name: ${recipe.project ?? project}`,
      `Version: ${recipe.version ?? version}`,
      ...(recipe.metadata ?? []),
    ]),
    [`${info}/WHEEL`]: lines([
      'Wheel-Version: 1.0',
      'Generator: tests',
      `Root-Is-Purelib: ${platform === 'any'}`,
      ...(segments.length === 6 ? [`Build: ${segments[2]}`] : []),
      ...tags.map((tag) => `Tag: ${tag}`),
    ]),
  };
  const { record: own } = recipe;
  files[`${info}/RECORD`] = typeof own === 'string' ? strToU8(own) : (own ?? record(files, `${info}/RECORD`));
  return zipSync(files, { level: recipe.level ?? 6, mtime: new Date('2024-01-01T00:00:00Z') });
}

/** Writes a wheel below `folder`, creates missing folders, and returns its absolute path. */
export async function makeWheel(folder: string, filename: string, recipe: WheelRecipe = {}): Promise<string> {
  const path = join(folder, filename);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, wheelBytes(basename(path), recipe));
  return path;
}

/** SHA-256 in lower-case hex. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function expand(python: string, abi: string, platform: string): string[] {
  return python
    .split('.')
    .flatMap((p) => abi.split('.').flatMap((a) => platform.split('.').map((q) => `${p}-${a}-${q}`)));
}

function record(files: Record<string, Uint8Array>, self: string): Uint8Array {
  const rows = Object.entries(files).map(([name, bytes]) => {
    const digest = createHash('sha256').update(bytes).digest('base64url');
    return `${name},sha256=${digest},${bytes.length}`;
  });
  return lines([...rows, `${self},,`]);
}

function lines(text: readonly string[]): Uint8Array {
  return strToU8(`${text.join('\n')}\n`);
}
