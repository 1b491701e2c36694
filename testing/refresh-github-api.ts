/**
 * Updates github-api.json from the npm package of GitHub's description of its REST API:
 *
 *     npm run refresh-github-api [-- VERSION]
 *
 * The package contains the whole API in several forms (394 MB), so the repository contains only what the tests need.
 * VERSION is a version of @octokit/openapi; the default is the newest.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Description, type Extract, extractOf } from './github-description.ts';

const PACKAGE = '@octokit/openapi';
/** The API of github.com, and that of the oldest supported Enterprise Server. */
const NAMES = ['api.github.com', 'ghes-3.19'];
const FILE = resolve(import.meta.dirname, 'github-api.json');

const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
try {
  const extract = await download(process.argv[2] ?? 'latest', folder);
  await writeFile(FILE, `${JSON.stringify(extract, undefined, 1)}\n`);
  console.log(`testing/github-api.json was written from ${extract.source}.`);
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
