/**
 * Makes a fresh clone ready, then runs a script of ours on Node 24:
 *
 *     node scripts/bootstrap.mjs scripts/test.ts [arguments]
 *
 * It needs nothing but the machine's own Node (20 or newer), npm and Python (3.9 or newer), and does nothing
 * where all is there already. What it installs lies in node_modules and .tools, both ignored by git.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const TOOLS = join(ROOT, '.tools');
const IS_WINDOWS = process.platform === 'win32';
const NODE = join(ROOT, 'node_modules', 'node', 'bin', IS_WINDOWS ? 'node.exe' : 'node');
const VENV = join(TOOLS, 'python');
const VENV_PYTHON = join(VENV, ...(IS_WINDOWS ? ['Scripts', 'python.exe'] : ['bin', 'python']));

const [script, ...scriptArguments] = process.argv.slice(2);
if (script === undefined) fail('Usage: node scripts/bootstrap.mjs SCRIPT [ARGUMENTS]');
mkdirSync(TOOLS, { recursive: true });
await withLock(() => {
  installPackages();
  installPythonTools();
});
run(script, scriptArguments);

function installPackages() {
  const stamp = join(ROOT, 'node_modules', '.installed-from');
  const wanted = hash('package-lock.json');
  if (isStamped(stamp, wanted) && existsSync(NODE)) return;
  console.log('Installing npm packages (first run: about half a minute) …');
  mustRun(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--loglevel=error'],
    'npm could not install the packages.',
  );
  if (!existsSync(NODE)) {
    fail(
      'The npm package "node" brought no Node 24: allow its install script (npm config set ignore-scripts false).',
    );
  }
  writeFileSync(stamp, wanted);
}

function installPythonTools() {
  const stamp = join(VENV, '.installed-from');
  const wanted = hash('scripts/requirements.txt');
  if (isStamped(stamp, wanted) && existsSync(VENV_PYTHON)) return;
  console.log('Installing Python tools (first run: about a minute) …');
  const python = findPython();
  rmSync(VENV, { recursive: true, force: true });
  makeVenv(python);
  const requirements = join(ROOT, 'scripts', 'requirements.txt');
  mustRun(
    VENV_PYTHON,
    [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--only-binary=:all:',
      '--requirement',
      requirements,
    ],
    'pip could not install the tools of scripts/requirements.txt.',
  );
  writeFileSync(stamp, wanted);
}

/** Debian keeps ensurepip, which venv needs, in a package of its own; virtualenv brings its pip along. */
function makeVenv(python) {
  if (spawnSync(python, ['-m', 'venv', VENV], { stdio: 'ignore' }).status === 0) return;
  rmSync(VENV, { recursive: true, force: true });
  const library = join(TOOLS, 'virtualenv');
  const remedy = `Python cannot make a virtual environment: install its venv module (on Debian and Ubuntu: apt-get install python3-venv).`;
  mustRun(
    python,
    ['-m', 'pip', 'install', '--quiet', '--upgrade', '--target', library, 'virtualenv'],
    remedy,
  );
  mustRun(python, ['-m', 'virtualenv', '--quiet', VENV], remedy, { PYTHONPATH: library });
}

function findPython() {
  const check = 'import sys; sys.exit(sys.version_info < (3, 9))';
  const candidates = [process.env.PYTHON, 'python3', 'python', 'py'].filter(Boolean);
  const python = candidates.find((name) => spawnSync(name, ['-c', check], { stdio: 'ignore' }).status === 0);
  return (
    python ??
    fail(
      `Python 3.9 or newer is needed; none of ${candidates.join(', ')} is one. Install it, or name it in PYTHON.`,
    )
  );
}

/** Two set-ups at once (npm test in two terminals) would undo each other. */
async function withLock(work) {
  const lock = join(TOOLS, 'setup.lock');
  const holder = join(lock, 'pid');
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch {
      if (!isAlive(readIfThere(holder))) rmSync(lock, { recursive: true, force: true });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  writeFileSync(holder, String(process.pid));
  try {
    work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** A lock whose holder has not written its number yet counts as held. */
function isAlive(pid) {
  if (pid === '') return true;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch {
    return false;
  }
}

function run(file, args) {
  const child = spawn(NODE, [join(ROOT, file), ...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`Node 24 does not start: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
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

function isStamped(stamp, wanted) {
  return readIfThere(stamp) === wanted;
}

function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
