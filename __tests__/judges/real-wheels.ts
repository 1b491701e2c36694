/** Downloads the real wheels for the tests. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { toolsPython } from '../../testing/python.ts';

interface Group {
  readonly what: string;
  /** Arguments of pip download that make it pick these files on every machine. */
  readonly pip: readonly string[];
  /** SHA-256 by filename. */
  readonly wheels: Readonly<Record<string, string>>;
}

const FOLDER = join(import.meta.dirname, '..', '..', '.tools', 'wheels');
const LIST = join(import.meta.dirname, 'real-wheels.json');

/**
 * Downloads the missing wheels of the list with pip; they are kept for later runs.
 *
 * @param project - only wheels whose filename begins with this name and a dash; undefined: all
 * @returns the absolute paths of the wheels, sorted
 * @throws Error if a wheel cannot be downloaded, or has another hash than in the list
 */
export async function realWheels(project?: string): Promise<string[]> {
  await mkdir(FOLDER, { recursive: true });
  const all = JSON.parse(await readFile(LIST, 'utf8')) as Group[];
  const groups = project === undefined ? all : all.map((group) => onlyOf(group, project));
  for (const { what, pip, wheels } of groups) {
    const missing: Record<string, string> = {};
    for (const [filename, sha256] of Object.entries(wheels)) {
      if ((await sha256Of(join(FOLDER, filename))) !== sha256) missing[filename] = sha256;
    }
    const count = Object.keys(missing).length;
    if (count === 0) continue;
    process.stdout.write(`Downloading ${count} real wheels (once, 440 MB in all): ${what} …\n`);
    await download(what, pip, missing);
  }
  return groups
    .flatMap(({ wheels }) => Object.keys(wheels))
    .sort()
    .map((filename) => join(FOLDER, filename));
}

function onlyOf(group: Group, project: string): Group {
  const wheels = Object.entries(group.wheels).filter(([filename]) => filename.startsWith(`${project}-`));
  return { ...group, wheels: Object.fromEntries(wheels) };
}

async function download(what: string, pip: readonly string[], wheels: Group['wheels']): Promise<void> {
  const into = await mkdtemp(join(tmpdir(), 'real-wheels-'));
  try {
    const requirements = join(into, 'requirements.txt');
    const lines = Object.entries(wheels).map(([filename, sha256]) => {
      const [project, version] = filename.split('-');
      return `${project}==${version} --hash=sha256:${sha256}`;
    });
    await writeFile(requirements, `${lines.join('\n')}\n`);
    // Otherwise a folder in the machine's configuration could provide other wheels.
    const { PIP_FIND_LINKS: _, ...env } = process.env;
    const { status, stderr } = spawnSync(
      toolsPython(),
      ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:']
        .concat(['--require-hashes', '--dest', into, ...pip])
        .concat(['--requirement', requirements]),
      { env, encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`pip cannot download the wheels of ${what}: ${stderr}`);
    for (const filename of Object.keys(wheels)) await move(join(into, filename), join(FOLDER, filename));
  } finally {
    await rm(into, { recursive: true });
  }
}

/** A plain rename would fail if the temporary folder is on another disk. */
async function move(from: string, to: string): Promise<void> {
  const partial = `${to}.${process.pid}`;
  await copyFile(from, partial);
  await rename(partial, to);
}

async function sha256Of(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  } catch {
    return undefined;
  }
  return hash.digest('hex');
}
