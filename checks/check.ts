/** Everything that is checked besides the tests. Each check prints one line; the last line counts them. */
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

/** Nothing when all is well, else what is wrong and how to mend it. */
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
  'what several action.yml files declare reads alike, and scripts/actions.ts lists them all': async () =>
    (await manifestFaults()).join('\n') || undefined,
  'the lock file holds no addresses': async () => {
    const lock = await readFile(join(ROOT, 'package-lock.json'), 'utf8');
    return /"resolved": "http|https?:\/\/(?!.*(funding|github|opencollective))/.test(
      lock.replace(/"url": ".*"/g, ''),
    )
      ? 'package-lock.json names a registry.'
      : undefined;
  },
  'docs/errors.md explains each heading of an error, and no other; each is raised': areErrorsListed,
  'links between documents': areLinksWhole,
  ...(existsSync(tool('zizmor'))
    ? { 'workflows and examples have no known weakness (zizmor)': auditWorkflows }
    : {}),
  'workflows pin what they use, and their last job needs every other': async () =>
    (await workflowFaults()).join('\n') || undefined,
  'examples keep outputs out of scripts, and pull requests out of what releases read': async () =>
    (await exampleFaults()).join('\n') || undefined,
  'workflows, examples and the tests’ workflows (actionlint)': lintWorkflows,
};

const results: boolean[] = [];
for (const [name, check] of Object.entries(checks)) {
  const fault = await check();
  results.push(fault === undefined);
  console.log(`${fault === undefined ? '✓' : '✗'} ${name}${fault === undefined ? '' : `\n${fault}`}`);
}
if (!existsSync(tool('zizmor')))
  console.log('– zizmor has no build for this machine: CI looks over the workflows');
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
  const files = (await Promise.all(['.github/workflows', 'examples'].map(workflowsIn))).flat();
  // The tests' workflows name each other and the actions by where they are when they run.
  await using repository = await makeRepository();
  const faults = [actionlint(ROOT, files), actionlint(repository.folder, [])];
  return faults.find((fault) => fault !== undefined);
}

/** The workflows of a folder, by their paths from the root. */
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
  const examples = ['--config', '.github/zizmor-examples.yml', ...(await workflowsIn('examples'))];
  return [['.'], examples].map(zizmor).find((fault) => fault !== undefined);
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
    ...titles.filter((title) => !explained.includes(title)).map((title) => `docs/errors.md lacks '${title}'`),
    ...explained
      .filter((title) => !titles.includes(title))
      .map((title) => `docs/errors.md has '${title}', which ERROR_TITLES in src/errors.ts does not`),
    ...titles
      .filter((title) => !code.includes(`'${title}'`))
      .map((title) => `nothing in src/ raises '${title}'`),
  ];
  return faults.join('\n') || undefined;
}

async function areLinksWhole(): Promise<string | undefined> {
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
      if (!existsSync(file)) faults.push(`${name} links to ${target}, which is not there`);
      else if (anchor !== undefined && !(await anchorsOf(file)).has(anchor))
        faults.push(`${name} links to ${target}#${anchor}, and there is no such heading`);
    }
  }
  return faults.length === 0 ? undefined : faults.join('\n');
}

/** The anchors that GitHub makes of a document's headings. */
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
