/** Runs all checks besides the tests. Each check prints one line; the last line is a summary. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ERROR_TITLES } from '../src/errors.ts';
import { makeRepository } from '../testing/act.ts';
import { tool } from '../testing/python.ts';
import { exampleFaults } from './example-rules.ts';
import { manifestFaults } from './manifest-rules.ts';
import { referenceWithTables } from './manifest-tables.ts';
import { workflowFaults } from './workflow-rules.ts';

const ROOT = resolve(import.meta.dirname, '..');
const EXAMPLES = ['examples', 'examples/from'];

/** Returns undefined if it passes, or else what is wrong and how to fix it. */
type Check = () => Promise<string | undefined> | string | undefined;

const checks: Record<string, Check> = {
  'formatting and lint (npm run format)': () =>
    program('node_modules/@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '.']),
  'types (npx tsc)': () => program('node_modules/typescript/bin/tsc', []),
  'dist is what the source builds (npm run build)': isDistCurrent,
  'the tables in docs/reference.md match the action.yml files (npm run docs)': async () => {
    const { is, shouldBe } = await referenceWithTables();
    return is === shouldBe ? undefined : 'docs/reference.md is not up to date.';
  },
  'shared inputs and outputs have the same declaration in all action.yml files, and scripts/actions.ts lists all files':
    async () => (await manifestFaults()).join('\n') || undefined,
  'the lock file contains no registry URLs': async () => {
    const lock = await readFile(join(ROOT, 'package-lock.json'), 'utf8');
    return /"resolved": "http|https?:\/\/(?!.*(funding|github|opencollective))/.test(
      lock.replace(/"url": ".*"/g, ''),
    )
      ? 'package-lock.json contains the URL of a registry.'
      : undefined;
  },
  'docs/errors.md explains exactly the error titles of src/errors.ts, and each is used': areErrorsListed,
  'links between documents are valid': areLinksValid,
  ...(existsSync(tool('zizmor'))
    ? { 'workflows and examples have no known security problems (zizmor)': auditWorkflows }
    : {}),
  'workflows pin all actions, and their last job needs all others': async () =>
    (await workflowFaults()).join('\n') || undefined,
  'examples do not use outputs in scripts, and keep pull requests away from the wheels of releases':
    async () => (await exampleFaults()).join('\n') || undefined,
  'workflows, examples and the tests’ workflows (actionlint)': lintWorkflows,
};

const results: boolean[] = [];
for (const [name, check] of Object.entries(checks)) {
  const fault = await check();
  results.push(fault === undefined);
  console.log(`${fault === undefined ? '✓' : '✗'} ${name}${fault === undefined ? '' : `\n${fault}`}`);
}
if (!existsSync(tool('zizmor')))
  console.log('– zizmor is not available for this machine: skipped, CI runs it');
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
  const files = (await Promise.all(['.github/workflows', ...EXAMPLES].map(workflowsIn))).flat();
  // The workflows of the tests refer to the actions and to each other by their paths in that repository.
  await using repository = await makeRepository();
  const faults = [actionlint(ROOT, files), actionlint(repository.folder, [])];
  return faults.find((fault) => fault !== undefined);
}

/** The workflows in a folder, as paths from the root. */
async function workflowsIn(folder: string): Promise<string[]> {
  const names = await readdir(join(ROOT, folder));
  return names.filter((name) => name.endsWith('.yml')).map((name) => join(folder, name));
}

function actionlint(folder: string, files: readonly string[]): string | undefined {
  const { status, stdout, stderr, error } = spawnSync(tool('actionlint'), files, {
    cwd: folder,
    encoding: 'utf8',
  });
  return status === 0 ? undefined : `${stdout}${stderr}${error?.message ?? ''}`;
}

async function auditWorkflows(): Promise<string | undefined> {
  const examples = (await Promise.all(EXAMPLES.map(workflowsIn))).flat();
  return [['.'], ['--config', '.github/zizmor-examples.yml', ...examples]]
    .map(zizmor)
    .find((fault) => fault !== undefined);
}

function zizmor(inputs: readonly string[]): string | undefined {
  const args = ['--offline', '--no-progress', '--quiet', '--persona=pedantic', '--strict-collection'];
  const { status, stdout, stderr } = spawnSync(tool('zizmor'), [...args, ...inputs], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}

async function areErrorsListed(): Promise<string | undefined> {
  const page = await readFile(join(ROOT, 'docs/errors.md'), 'utf8');
  const explained = [...page.matchAll(/^\| (?!You see|---)([^|]+) \|/gm)].map(([, title]) => title!);
  const titles: readonly string[] = ERROR_TITLES;
  const sources = await contents(join(ROOT, 'src'));
  sources.delete(join('/errors.ts'));
  const code = [...sources.values()].join('\n');
  const faults = [
    ...titles
      .filter((title) => !explained.includes(title))
      .map((title) => `docs/errors.md does not explain '${title}'`),
    ...explained
      .filter((title) => !titles.includes(title))
      .map((title) => `docs/errors.md explains '${title}', which is not in ERROR_TITLES of src/errors.ts`),
    ...titles
      .filter((title) => !code.includes(`'${title}'`))
      .map((title) => `no code in src/ uses '${title}'`),
  ];
  return faults.join('\n') || undefined;
}

async function areLinksValid(): Promise<string | undefined> {
  const entries = await readdir(ROOT, { recursive: true, withFileTypes: true });
  const isOurs = ({ parentPath }: { parentPath: string }) =>
    !/node_modules|\.tools|\.git(?!hub)/.test(parentPath);
  const documents = entries.filter((entry) => entry.name.endsWith('.md') && isOurs(entry));
  const faults: string[] = [];
  for (const { parentPath, name } of documents) {
    const path = join(parentPath, name);
    for (const [, target, anchor] of (await readFile(path, 'utf8')).matchAll(
      /\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g,
    )) {
      const file = target === '' ? path : join(parentPath, target!);
      if (!existsSync(file)) faults.push(`${name} links to ${target}, which does not exist`);
      else if (anchor !== undefined && !(await anchorsOf(file)).has(anchor))
        faults.push(`${name} links to ${target}#${anchor}, but there is no such heading`);
    }
  }
  return faults.length === 0 ? undefined : faults.join('\n');
}

/** The anchors that GitHub generates for the headings of a document. */
async function anchorsOf(file: string): Promise<Set<string>> {
  const headings = [...(await readFile(file, 'utf8')).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
