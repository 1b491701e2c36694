/** Asks a Python interpreter what it can install. */
import { type ExecFileException, execFile } from 'node:child_process';
import { WheelStoreError } from '../errors.ts';
import { oneLine, quote } from './quote.ts';

/** What an interpreter says of itself. */
export interface Interpreter {
  /** Absolute path, as the interpreter knows it. */
  readonly executable: string;
  /** Major, minor and micro version, such as 3.12.4. */
  readonly version: string;
  /** Compatibility tags (PEP 425) of the wheels that it can install, best first. */
  readonly tags: readonly string[];
}

const MOST_MILLISECONDS = 60_000;
const MOST_OUTPUT_BYTES = 16 * 1024 * 1024;

/**
 * Which tags an interpreter takes is for its own pip to say, then for its packaging, and for nothing of ours.
 * The folder that the step runs in must not answer for it: `-c` puts that folder first on Python's path, and
 * it may be a checkout of pip or packaging.
 */
const QUESTION = `
import sys
sys.path[:] = [p for p in sys.path if p not in ('', '.')]
import json
try:
    from pip._vendor.packaging.tags import sys_tags
except ImportError:
    try:
        from packaging.tags import sys_tags
    except ImportError:
        sys_tags = None
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
 * its pip brings along or that is installed for it.
 *
 * @param python - a command, or a path with or without spaces in it
 * @throws WheelStoreError when it does not start, fails, or has neither pip nor packaging
 */
export async function askInterpreter(python: string): Promise<Interpreter> {
  const answer = readAnswer(await run(python));
  if (answer === undefined) {
    throw fault(
      `${quote(python)} runs, but does not answer as Python does.`,
      'Name a Python interpreter, such as python3.12 or the path of one.',
    );
  }
  if (answer.tags === undefined) {
    throw fault(
      `${quote(answer.executable)} (Python ${answer.version}) has neither pip (20 or newer) nor packaging, so it cannot tell which wheels it takes.`,
      "Install one of them for it, for example by 'uv pip install pip' or 'python -m ensurepip'.",
    );
  }
  return { ...answer, tags: answer.tags };
}

function run(python: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error: ExecFileException, stderr: string) => reject(explain(python, error, stderr));
    const limits = {
      timeout: MOST_MILLISECONDS,
      killSignal: 'SIGKILL',
      maxBuffer: MOST_OUTPUT_BYTES,
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

function explain(python: string, error: ExecFileException, stderr: string): WheelStoreError {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
    return fault(
      `There is no Python interpreter ${quote(python)}.`,
      'Run actions/setup-python or uv before this step, or name an interpreter that is there.',
      error,
    );
  }
  const lastWord = stderr.trim().split('\n').at(-1) ?? '';
  const how = error.killed
    ? `did not answer within ${MOST_MILLISECONDS / 1000} seconds`
    : `does not run (${oneLine(lastWord) || oneLine(String(error.signal ?? error.code))})`;
  return fault(
    `The Python interpreter ${quote(python)} ${how}.`,
    /\.(bat|cmd)$/i.test(python)
      ? 'A batch file, such as a shim of pyenv, cannot be started: name the python.exe itself.'
      : 'Check that it starts by itself on this machine, or name another one.',
    error,
  );
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

function fault(reason: string, remedy: string, cause?: Error): WheelStoreError {
  return new WheelStoreError(
    { title: 'Python interpreter not usable', reason, remedy },
    cause === undefined ? undefined : { cause },
  );
}
