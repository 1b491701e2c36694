/**
 * Undoes one decision at a time, in a copy of the tree, and lists those that no test detects:
 *
 *     npm run mutants [-- PATTERN]
 *
 * Some mutants are written by hand (mutants/by-hand.ts). The others are generated: for each input, its default is
 * deleted or changed, or the input is not read; for each output, it is not set. PATTERN is part of a name,
 * case-insensitive. All mutants take an hour; the exit status is 1 if any survives.
 */
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import {
  ACTION_NAMES,
  ACTIONS,
  type ActionName,
  type Manifest,
  readManifest,
} from '../../scripts/actions.ts';
import { INPUTS } from '../input-table.ts';
import { BY_HAND } from './by-hand.ts';

/** A change to one file, and the tests that must fail. */
interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly change: (text: string) => string;
  readonly tests: readonly string[];
}

const ROOT = resolve(import.meta.dirname, '../..');
const TABLE = 'contract/declared-inputs';
const MINUTES = 5;

const pattern = (process.argv[2] ?? '').toLowerCase();
const generated = (await Promise.all(ACTION_NAMES.map(mutantsOf))).flat();
const all = [...byHand(), ...generated].filter(({ name }) => name.toLowerCase().includes(pattern));
const tree = await mkdtemp(join(tmpdir(), 'mutants-'));
try {
  await copyTree();
  const survivors = await survivorsOf(all);
  console.log(`${all.length} mutants, ${survivors.length} survived${survivors.length === 0 ? '.' : ':'}`);
  for (const name of survivors) console.log(`  ${name}`);
  process.exitCode = survivors.length === 0 ? 0 : 1;
} finally {
  await rm(tree, { recursive: true, force: true });
}

function byHand(): Mutant[] {
  return BY_HAND.map(({ name, file, find, replace, tests }) => ({
    name,
    file,
    tests,
    change: (text) => {
      const count = text.split(find).length - 1;
      if (count !== 1)
        throw new Error(`The text of '${name}' is in ${file} ${count} times, not once: ${find.trim()}`);
      return text.replace(find, () => replace);
    },
  }));
}

async function mutantsOf(action: ActionName): Promise<Mutant[]> {
  const { inputs, outputs } = await readManifest(action);
  return [
    ...Object.entries(inputs).flatMap(([name, input]) => mutantsOfInput(action, name, input.default)),
    ...Object.keys(outputs).map((name) => ({
      name: `${action}: output ${name} is not set`,
      file: `dist/${action}.js`,
      change: (text: string) => withoutOutput(text, name),
      tests: [TABLE, '-t', `${action} declares the outputs`],
    })),
  ];
}

function mutantsOfInput(action: ActionName, name: string, fallback: string | undefined): Mutant[] {
  const file = ACTIONS[action].manifest;
  const tests = [TABLE, '-t', `of ${action}: ${name};`];
  const other = INPUTS[action][name]?.other;
  const changed = (value: string | undefined) => (text: string) => withDefault(text, name, value);
  return [
    {
      name: `${action}: input ${name} is not read`,
      file: `dist/${action}.js`,
      change: (text) => `process.env[${JSON.stringify(`INPUT_${name.toUpperCase()}`)}] = '';\n${text}`,
      tests,
    },
    // Without a default, an input is empty anyway.
    ...(fallback === undefined || fallback === ''
      ? []
      : [
          {
            name: `${action}: default of ${name} is deleted`,
            file,
            change: changed(undefined),
            tests: [TABLE, '-t', `${action} declares the inputs|of ${action}: ${name};`],
          },
        ]),
    // A value that is known only at run time cannot be mistaken for a default.
    ...(typeof other === 'string'
      ? [{ name: `${action}: default of ${name} is ${other}`, file, change: changed(other), tests }]
      : []),
  ];
}

function withDefault(manifest: string, name: string, value: string | undefined): string {
  const whole: Manifest = parse(manifest);
  const { default: _, ...input } = whole.inputs[name]!;
  const changed = value === undefined ? input : { ...input, default: value };
  return stringify({ ...whole, inputs: { ...whole.inputs, [name]: changed } });
}

/** Removes an output from GITHUB_OUTPUT when the process exits. */
function withoutOutput(program: string, name: string): string {
  const written = `^${name}<<(.+)\\n[^]*?\\n\\1\\n`;
  return `import { readFileSync as readOutput, writeFileSync as writeOutput } from 'node:fs';
process.on('exit', () => {
  const file = process.env.GITHUB_OUTPUT;
  writeOutput(file, readOutput(file, 'utf8').replace(new RegExp(${JSON.stringify(written)}, 'gm'), ''));
});
${program}`;
}

/** Copies the tree and builds its sources; packages and tools are shared through links. */
async function copyTree(): Promise<void> {
  const isExcluded = (path: string) => /^(\.git|\.tools|node_modules|dist)$/.test(relative(ROOT, path));
  await cp(ROOT, tree, { recursive: true, filter: (path) => !isExcluded(path) });
  for (const name of ['node_modules', '.tools']) await symlink(join(ROOT, name), join(tree, name));
  if ((await run(['scripts/build.ts'])).code !== 0) throw new Error('The sources do not build.');
  await cp(join(tree, 'dist'), join(tree, 'dist.whole'), { recursive: true });
}

async function survivorsOf(mutants: readonly Mutant[]): Promise<string[]> {
  const survivors: string[] = [];
  const passing = new Set<string>();
  for (const mutant of mutants) {
    // A test that fails without the mutant would prove nothing.
    if (!passing.has(String(mutant.tests))) await mustPass(mutant.tests);
    passing.add(String(mutant.tests));
    const fate = await fateOf(mutant);
    console.log(`${fate.padEnd(10)} ${mutant.name}`);
    if (fate === 'survived') survivors.push(mutant.name);
  }
  return survivors;
}

async function mustPass(tests: readonly string[]): Promise<void> {
  const { code, output } = await jest(tests);
  const how = code === null ? `takes more than ${MINUTES} minutes` : 'fails';
  if (code !== 0) throw new Error(`'${tests.join(' ')}' ${how} without a mutant:\n${output}`);
}

async function fateOf({ name, file, change, tests }: Mutant): Promise<'killed' | 'survived' | 'timed out'> {
  const path = join(tree, file);
  const original = await readFile(path, 'utf8');
  await writeFile(path, change(original));
  try {
    if (file.startsWith('src/') && (await run(['scripts/build.ts'])).code !== 0) {
      throw new Error(`'${name}' does not build.`);
    }
    const { code, output } = await jest(tests);
    if (/^Tests: +\d+ skipped, \d+ total$/m.test(output) || output.includes('No tests found')) {
      throw new Error(`'${name}' names tests that do not exist: ${tests.join(' ')}`);
    }
    return code === null ? 'timed out' : code === 0 ? 'survived' : 'killed';
  } finally {
    await writeFile(path, original);
    await rm(join(tree, 'dist'), { recursive: true, force: true });
    await cp(join(tree, 'dist.whole'), join(tree, 'dist'), { recursive: true });
  }
}

/** Each run starts its own S3 server: a shared one would be full after about seventy buckets, and kill every mutant. */
function jest(tests: readonly string[]): ReturnType<typeof run> {
  const flags = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
  return run([...flags, '--bail', '--forceExit', ...tests]);
}

/** Runs Node in the copy; the code is null if it was killed, with all its children, after the time limit. */
async function run(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, args, {
    cwd: tree,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const end = () => (process.platform === 'win32' ? child.kill() : process.kill(-child.pid!, 'SIGKILL'));
  const timer = setTimeout(end, MINUTES * 60_000);
  const code = await new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
  clearTimeout(timer);
  return { code, output: Buffer.concat(chunks).toString('utf8') };
}
