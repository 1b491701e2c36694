/** Asks a Python interpreter what it can install. */
import { type ExecFileException, execFile } from 'node:child_process';
import { WheelStoreError } from '../errors.ts';
import { oneLine, quote } from '../untrusted/quote.ts';

/** What an interpreter says of itself. */
export interface Interpreter {
  /** Absolute path, as the interpreter knows it. */
  readonly executable: string;
  /** Major, minor and micro version, such as 3.12.4. */
  readonly version: string;
  /** Compatibility tags (PEP 425) of the wheels that it can install, best first. */
  readonly tags: readonly string[];
}

const MAX_MILLISECONDS = 60_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/**
 * Which tags an interpreter takes is for its own pip to say, then for its packaging, and for nothing of ours.
 * The folder that the step runs in must not answer for it: `-c` puts that folder first on Python's path, and
 * it may be a checkout of pip or packaging. An environment without either, as uv makes it, is asked by the pip that
 * ensurepip would install: its wheel is in ensurepip's folder, or where the distribution keeps it
 * (WHEEL_PKG_DIR; Debian's python-wheels, which ensurepip itself may not be installed beside).
 */
const QUESTION = `
import sys
sys.path[:] = [p for p in sys.path if p not in ('', '.')]
import json
def bundled():
    import glob, os
    folders = ['/usr/share/python-wheels']
    try:
        import ensurepip
        inside = os.path.join(os.path.dirname(ensurepip.__file__), '_bundled')
        folders[:0] = [f for f in (inside, getattr(ensurepip, '_WHEEL_PKG_DIR', None)) if f]
    except Exception:
        pass
    for wheel in [w for f in folders for w in sorted(glob.glob(os.path.join(f, 'pip-*.whl')))]:
        sys.path.insert(0, wheel)
        try:
            from pip._vendor.packaging.tags import sys_tags
            return sys_tags
        except Exception:
            sys.path.remove(wheel)
            for name in [n for n in sys.modules if n.split('.')[0] == 'pip']:
                del sys.modules[name]
    return None
try:
    from pip._vendor.packaging.tags import sys_tags
except ImportError:
    try:
        from packaging.tags import sys_tags
    except ImportError:
        sys_tags = bundled()
answer = {
    'executable': sys.executable,
    'version': '%d.%d.%d' % tuple(sys.version_info[:3]),
    'tags': None if sys_tags is None else [str(tag) for tag in sys_tags()],
}
print('')
print(json.dumps(answer))
`;

/**
 * Runs an interpreter to learn its compatibility tags in its own order (PEP 425), from the `packaging.tags` that
 * its pip brings along, that is installed for it, or that is in the pip which ensurepip would install.
 *
 * @param python - a command, or a path with or without spaces in it
 * @throws WheelStoreError when it does not start, fails, or has neither pip nor packaging
 */
export async function askInterpreter(python: string): Promise<Interpreter> {
  const answer = readAnswer(await run(python));
  if (answer === undefined) {
    throw unusable(
      `${quote(python)} runs, but does not respond as Python does.`,
      'Name a Python interpreter, such as python3.12 or the path of one.',
    );
  }
  if (answer.tags === undefined) {
    throw unusable(
      `${quote(answer.executable)} (Python ${answer.version}) has neither pip (20 or newer) nor packaging, nor the pip of ensurepip, so it cannot say which wheels it can install.`,
      "Install one of them for it, for example by 'uv pip install pip' or 'python -m ensurepip'.",
    );
  }
  return { ...answer, tags: answer.tags };
}

function run(python: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error: ExecFileException, stderr: string) => reject(startFailure(python, error, stderr));
    const limits = {
      timeout: MAX_MILLISECONDS,
      killSignal: 'SIGKILL',
      maxBuffer: MAX_OUTPUT_BYTES,
    } as const;
    try {
      execFile(python, ['-c', QUESTION], { ...limits, windowsHide: true }, (error, stdout, stderr) =>
        error === null ? resolve(stdout) : fail(error, stderr),
      ).stdin?.end();
    } catch (error) {
      // Node throws some of what keeps a program from starting: a file for a folder, Windows' batch files.
      fail(error as ExecFileException, '');
    }
  });
}

function startFailure(python: string, error: ExecFileException, stderr: string): WheelStoreError {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
    return unusable(
      `There is no Python interpreter ${quote(python)}.`,
      'Run actions/setup-python or uv before this step, or name an interpreter that exists.',
      error,
    );
  }
  const reason = reasonIn(stderr);
  const how = error.killed
    ? `did not answer within ${MAX_MILLISECONDS / 1000} seconds`
    : `does not run (${oneLine(reason) || oneLine(String(error.signal ?? error.code))})`;
  return unusable(`The Python interpreter ${quote(python)} ${how}.`, remedyFor(python, reason), error);
}

function remedyFor(python: string, reason: string): string {
  if (/\.(bat|cmd)$/i.test(python)) {
    return 'A batch file, such as a shim of pyenv, cannot be started: name the python.exe itself.';
  }
  if (VERSION_MANAGER.test(reason)) {
    return 'This is the shim of a version manager: choose a version for it (such as PYENV_VERSION), or name the path of the interpreter itself.';
  }
  if (reason.includes('PYTHONHOME')) return 'Remove PYTHONHOME from the env of this step.';
  return 'Check that it starts by itself on this machine, or name another one.';
}

/** How the shims of version managers begin what they say; lists of versions and hints follow. */
const VERSION_MANAGER =
  /^(?:pyenv: |asdf: |mise |No version is set for command |No preset version installed )/;
const MAX_STDERR_CHARACTERS = 64 * 1024;

/**
 * The line of an interpreter's stderr that says why it does not run: what a version manager's shim says first, the
 * fatal error of Python's own start (with the module that it lacks, and PYTHONHOME if that is set), else the last line,
 * which is where a traceback has its error.
 *
 * @returns one line; empty when nothing is said
 */
export function reasonIn(stderr: string): string {
  const lines = stderr
    .slice(-MAX_STDERR_CHARACTERS)
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const shim = lines.find((line) => VERSION_MANAGER.test(line));
  if (shim !== undefined) return shim;
  const fatal = lines.find((line) => line.startsWith('Fatal Python error: '));
  if (fatal === undefined) return lines.at(-1) ?? '';
  const error = lines.find((line) => /^\w*(?:Error|Exception): /.test(line));
  const home = lines.find((line) => /^PYTHONHOME = '/.test(line));
  return [home, fatal, error].filter((line) => line !== undefined).join('; ');
}

/** The last line: what a sitecustomize prints comes before it. */
function readAnswer(
  stdout: string,
): { executable: string; version: string; tags: string[] | undefined } | undefined {
  try {
    const answer: unknown = JSON.parse(stdout.trimEnd().split('\n').at(-1)!);
    if (typeof answer !== 'object' || answer === null) return undefined;
    const { executable, version, tags } = answer as Record<string, unknown>;
    if (typeof executable !== 'string' || typeof version !== 'string') return undefined;
    return { executable, version, tags: Array.isArray(tags) ? tags.map(String) : undefined };
  } catch {
    return undefined;
  }
}

function unusable(reason: string, remedy: string, cause?: Error): WheelStoreError {
  return new WheelStoreError(
    { title: 'Python interpreter not usable', reason, remedy },
    cause === undefined ? undefined : { cause },
  );
}
