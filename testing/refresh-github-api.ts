/**
 * Writes github-api.json anew from GitHub's description of its REST API, as npm has it:
 *
 *     npm run refresh-github-api [-- VERSION]
 *
 * The package holds the whole API in every form and takes 394 MB on the disk, so what the tests need of it is kept
 * here. VERSION is a version of @octokit/openapi; without it, the newest.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Description, type Extract, extractOf } from './github-description.ts';

const PACKAGE = '@octokit/openapi';
/** github.com's API, and that of the oldest Enterprise Server that GitHub supports. */
const NAMES = ['api.github.com', 'ghes-3.19'];
const FILE = resolve(import.meta.dirname, 'github-api.json');

const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
try {
  const extract = await download(process.argv[2] ?? 'latest', folder);
  await writeFile(FILE, `${JSON.stringify(extract, undefined, 1)}\n`);
  console.log(`testing/github-api.json is that of ${extract.source}.`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function download(version: string, into: string): Promise<Extract> {
  const archive = run(
    'npm',
    ['pack', '--silent', `--pack-destination=${into}`, `${PACKAGE}@${version}`],
    into,
  );
  const files = ['package.json', ...NAMES.map((name) => `generated/${name}.json`)];
  run('tar', ['-xzf', archive.trim(), ...files.map((file) => `package/${file}`)], into);
  const [{ version: found }, ...descriptions] = (await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(into, 'package', file), 'utf8'))),
  )) as [{ version: string }, ...Description[]];
  return {
    source: `${PACKAGE} ${found}`,
    descriptions: Object.fromEntries(
      NAMES.map((name, index) => [name, extractOf(descriptions[index]!)] as const),
    ),
  };
}

function run(command: string, args: readonly string[], cwd: string): string {
  // npm is a batch file on Windows.
  const shell = process.platform === 'win32' && command === 'npm';
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', shell });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${error?.message ?? stderr}`);
  return stdout;
}
