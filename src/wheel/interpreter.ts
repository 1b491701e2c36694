/** Queries a Python interpreter for the wheels that it can install. */
import { type ExecFileException, execFile } from 'node:child_process';
import { WheelStoreError } from '../errors.ts';
import { oneLine, quote } from '../untrusted/quote.ts';

/** A Python interpreter. */
export interface Interpreter {
  /** Absolute path (`sys.executable`). */
  readonly executable: string;
  /** Major, minor and micro version, such as 3.12.4. */
  readonly version: string;
  /** Compatibility tags (PEP 425) of the wheels that it can install, best first. */
  readonly tags: readonly string[];
}

const MAX_MILLISECONDS = 60_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/**
 * The tags come from the interpreter's own pip, or else from its packaging. The working directory is removed from
 * `sys.path`, where `-c` puts it first, because it may be a checkout of pip or packaging.
 *
 * Environments that uv creates contain neither, so the last resort is the pip wheel that ensurepip would install. It is
 * in ensurepip's folder or where the distribution keeps it (WHEEL_PKG_DIR; Debian's python-wheels, which may be
 * installed without ensurepip).
 */
const TAGS_SCRIPT = `
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
result = {
    'executable': sys.executable,
    'version': '%d.%d.%d' % tuple(sys.version_info[:3]),
    'tags': None if sys_tags is None else [str(tag) for tag in sys_tags()],
}
print('')
print(json.dumps(result))
`;

/**
 * Runs an interpreter to get its compatibility tags in its own order (PEP 425). They come from `packaging.tags`: in its
 * pip, as an installed package, or in the pip that ensurepip would install.
 *
 * @param python - a command or a path, which may contain spaces
 * @throws WheelStoreError if it does not start, fails, or has neither pip nor packaging
 */
export async function queryInterpreter(python: string): Promise<Interpreter> {
  const result = parseResult(await run(python));
  if (result === undefined) {
    throw unusable(
      `${quote(python)} runs, but does not respond as Python does.`,
      'Name a Python interpreter, such as python3.12 or the path of one.',
    );
  }
  if (result.tags === undefined) {
    throw unusable(
      `${quote(result.executable)} (Python ${result.version}) has neither pip (20 or newer) nor packaging, nor the pip of ensurepip, so it cannot say which wheels it can install.`,
      "Install one of them for it, for example by 'uv pip install pip' or 'python -m ensurepip'.",
    );
  }
  return { ...result, tags: result.tags };
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
      execFile(python, ['-c', TAGS_SCRIPT], { ...limits, windowsHide: true }, (error, stdout, stderr) =>
        error === null ? resolve(stdout) : fail(error, stderr),
      ).stdin?.end();
    } catch (error) {
      // Some failures to start are thrown: a file used as a folder, or a batch file on Windows.
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
    ? `did not respond within ${MAX_MILLISECONDS / 1000} seconds`
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

/** The first line of the errors of version managers; lists of versions and hints follow. */
const VERSION_MANAGER =
  /^(?:pyenv: |asdf: |mise |No version is set for command |No preset version installed )/;
const MAX_STDERR_CHARACTERS = 64 * 1024;

/**
 * Finds the reason for a failed start in stderr, in this order:
 *
 * - the first line from a version manager's shim
 * - Python's fatal error, with the missing module and the value of PYTHONHOME, if set
 * - the last line, which is where a traceback has its error
 *
 * @returns one line; empty if there is no output
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

/** Parses the last line, since a sitecustomize may print something before it. */
function parseResult(
  stdout: string,
): { executable: string; version: string; tags: string[] | undefined } | undefined {
  try {
    const result: unknown = JSON.parse(stdout.trimEnd().split('\n').at(-1)!);
    if (typeof result !== 'object' || result === null) return undefined;
    const { executable, version, tags } = result as Record<string, unknown>;
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
