/**
 * The main use case from end to end on this machine: find, build a wheel with a compiled module, store, find again,
 * fetch, publish, install with pip and uv. The built actions run as processes, like on GitHub's runner, against a real S3 server
 * that this script starts and stops. `--verbose` prints all outputs and summaries.
 */
import { spawn, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { tool } from '../testing/python.ts';
import { type ActionName, ROOT, runStep, type StepResult } from '../testing/runner.ts';
import { createBucket, type S3Server, startS3Server } from '../testing/s3-server.ts';
import { startStaticServer } from '../testing/static-server.ts';
import { describeCompiler } from './compiler.ts';
import { type Important, openScreen } from './screen.ts';

const BUCKET = 'my-wheels';
const IS_WINDOWS = process.platform === 'win32';

let venvs = 0;
const isVerbose = process.argv.includes('--verbose');
const folder = await mkdtemp(join(tmpdir(), 'wheel-store-demo-'));
const workspace = join(folder, 'workspace');
const screen = openScreen(isVerbose, workspace);
const clean = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
process.on('exit', clean);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

screen.title('An S3 server starts on this machine');
const server = await startS3Server();
try {
  await createBucket(server, BUCKET, true);
  screen.line(`${server.endpoint}, bucket ${BUCKET}`);
  await demo(server);
  if (!isVerbose) screen.line('All outputs and job summaries: npm run demo -- --verbose');
  screen.title('Done: one wheel, built once; the same bytes were found, fetched and installed');
} finally {
  await server.stop();
}

async function demo(s3: S3Server): Promise<void> {
  await cp(join(ROOT, 'demo/project'), workspace, { recursive: true });
  const commit = await commitOf(workspace);
  const step = (action: ActionName, important: Important, inputs = {}, attempt = '1') =>
    runAction(s3, action, { commit, ...inputs }, attempt, important);

  screen.title('1. find: is the wheel of this commit stored?');
  const missing = await step('find', { outputs: ['skip-build'] });
  expect(missing.outputs['skip-build'] === 'false', 'nothing is stored yet, so the build is needed');

  screen.title('2. build: a wheel with a compiled module');
  await build();

  screen.title('3. store: put it into this run’s slot');
  const stored = await step(
    'store',
    { outputs: ['skip-build', 'wheel-name', 'sha256'], summary: true },
    { path: 'dist' },
  );
  expect(stored.outputs['skip-build'] === 'false', 'this step stored the wheel');

  screen.title('4. find again');
  const found = await step('find', { outputs: ['skip-build', 'wheel-url'] });
  expect(found.outputs['skip-build'] === 'true', 'the next job of this commit skips the build');

  screen.title('5. find in a second attempt (“Re-run failed jobs”)');
  const again = await step('find', { outputs: ['skip-build', 'run-attempt'] }, {}, '2');
  expect(again.outputs['run-attempt'] === '1', 'attempt 2 finds what attempt 1 stored');

  screen.title('6. fetch into a new folder');
  const fetched = await step('fetch', { outputs: ['wheel-path'] }, { path: 'fetched' });
  const [wheel] = await readdir(join(workspace, 'dist'));
  const [built, arrived] = await Promise.all(
    [join(workspace, 'dist', wheel!), fetched.outputs['wheel-path']!].map((path) => readFile(path)),
  );
  expect(built!.equals(arrived!), `${arrived!.length} bytes, identical to those that were built`);

  screen.title('7. pip installs from the URL, and the compiled function runs');
  await install('pip', [stored.outputs['wheel-url']!]);

  screen.title('8. publish to a channel, from which pip and uv install by name');
  // This engine doesn't serve folders: see docs/engines.md. The static server stands for a CDN.
  await using cdn = await startStaticServer(`${s3.endpoint}/${BUCKET}`);
  const inputs = { channel: 'nightly', 'public-url': cdn.url };
  const published = await step('publish', { outputs: ['channel-url'] }, inputs);
  const { project, version } = JSON.parse(published.outputs.published!)[0];
  const index = published.outputs['channel-url']!;
  await install('pip', ['--index-url', index, `${project}==${version}`]);
  await install('uv', ['--default-index', index, `${project}==${version}`]);
}

async function commitOf(project: string): Promise<string> {
  const git = (...args: string[]) =>
    spawnSync('git', ['-C', project, '-c', 'user.name=demo', '-c', 'user.email=demo@example.com', ...args], {
      encoding: 'utf8',
    });
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'The demo project');
  const { stdout, status } = git('rev-parse', 'HEAD');
  if (status !== 0) throw new Error('The demo needs git, for a commit to store the wheel under.');
  return stdout.trim();
}

async function runAction(
  s3: S3Server,
  action: ActionName,
  given: Record<string, string>,
  attempt: string,
  important: Important,
): Promise<StepResult> {
  const inputs = { bucket: BUCKET, 'endpoint-url': s3.endpoint, ...given };
  if (attempt !== '1') screen.line(`GITHUB_RUN_ATTEMPT=${attempt}`);
  screen.step(action, isVerbose ? inputs : { bucket: BUCKET, ...given });
  const env = {
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    GITHUB_SHA: given.commit,
    GITHUB_RUN_ATTEMPT: attempt,
  };
  const result = await runStep({ action, workspace, inputs, env });
  screen.result(result, important);
  if (result.code !== 0) throw new Error(`${action} ended with exit status ${result.code}.`);
  return result;
}

async function build(): Promise<void> {
  const compiler = await describeCompiler(tool('python'));
  screen.line(`$ pip wheel . --no-deps -w dist   (${compiler.name}) …`);
  const isolation = ['--no-build-isolation', '--no-deps', '--no-index'];
  await run(
    tool('python'),
    ['-m', 'pip', '--quiet', 'wheel', '.', ...isolation, '-w', 'dist'],
    workspace,
    compiler.env,
  );
  screen.line(`built dist/${(await readdir(join(workspace, 'dist'))).join(', ')}`);
}

async function install(name: 'pip' | 'uv', what: readonly string[]): Promise<void> {
  const venv = join(folder, `venv-${venvs++}`);
  const python = join(venv, ...(IS_WINDOWS ? ['Scripts', 'python.exe'] : ['bin', 'python']));
  await run(tool('uv'), ['venv', '--quiet', '--no-config', '--python', tool('python'), venv], folder);
  const [program, args]: [string, string[]] =
    name === 'pip'
      ? [
          tool('python'),
          ['-m', 'pip', '--python', python, '--quiet', '--disable-pip-version-check', 'install', ...what],
        ]
      : [tool('uv'), ['pip', 'install', '--quiet', '--no-config', '--python', python, ...what]];
  screen.line(
    `$ ${name === 'pip' ? 'pip install' : 'uv pip install'} ${what.map((word) => (word.includes(':') ? `"${word}"` : word)).join(' ')}`,
  );
  await run(program, args, folder);
  const code = 'import primes; print(primes.below(100_000))';
  screen.line(`$ python -c "${code}"`);
  const output = await run(python, ['-c', `${code}; print(primes._count.__file__)`], folder);
  const [count, compiled] = output.trim().split(/\r?\n/);
  screen.line(`${count}  (${isVerbose ? compiled : basename(compiled!)})`);
  expect(count === '9592', 'the compiled function counts the 9592 primes below 100,000');
}

async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((done, fail) => child.on('error', fail).on('close', done));
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${output}`);
  return output;
}

function expect(condition: boolean, statement: string): void {
  if (!condition) throw new Error(`This should be true, but is not: ${statement}.`);
  screen.line(`✓ ${statement}`);
}
