import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WheelStoreError } from '../../src/errors.ts';
import { queryInterpreter, reasonIn } from '../../src/wheel/interpreter.ts';
import { tool, toolsPython } from '../../testing/python.ts';

const IS_WINDOWS = process.platform === 'win32';

let folder: string;
let environments = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interpreters-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function refusal(python: string): Promise<WheelStoreError> {
  const error = await queryInterpreter(python).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(WheelStoreError);
  return error as WheelStoreError;
}

/** Creates a virtual environment without pip and packaging, like uv and `python -m venv --without-pip`. */
function bareEnvironment(name: string): string {
  const path = join(folder, name);
  const { status, stderr } = spawnSync(toolsPython(), ['-m', 'venv', '--without-pip', path], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return IS_WINDOWS ? join(path, 'Scripts', 'python.exe') : join(path, 'bin', 'python');
}

/** The site-packages folder of an environment. */
function packagesOf(python: string): string {
  const code = 'import sysconfig; print(sysconfig.get_path("purelib"))';
  return spawnSync(python, ['-c', code], { encoding: 'utf8' }).stdout.trim();
}

/** Creates an environment whose interpreter runs a line of Python at startup. */
async function environmentRunning(line: string): Promise<string> {
  const python = bareEnvironment(`running ${environments++}`);
  await writeFile(join(packagesOf(python), 'sitecustomize.py'), `import os, sys\n${line}\n`);
  return python;
}

/** Hides the pip that ensurepip would install, as on a system without one. */
const WITHOUT_BUNDLED_PIP = 'import glob; sys.modules["ensurepip"] = None; glob.glob = lambda *_: []';

describe('case 70: an interpreter without pip', () => {
  test('in an environment of uv is queried with the pip that ensurepip would install', async () => {
    const path = join(folder, 'made by uv');
    const { status, stderr } = spawnSync(
      tool('uv'),
      ['venv', '--quiet', '--offline', '--python', toolsPython(), path],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(stderr);
    const python = IS_WINDOWS ? join(path, 'Scripts', 'python.exe') : join(path, 'bin', 'python');
    expect(spawnSync(python, ['-c', 'import pip']).status).not.toBe(0);
    const { tags, version } = await queryInterpreter(python);
    const minor = version.split('.')[1]!;
    expect(tags[0]).toMatch(new RegExp(`^cp3${minor}-`));
    expect(tags).toContain('py3-none-any');
  });

  test('and without a bundled pip is refused', async () => {
    const error = await refusal(await environmentRunning(WITHOUT_BUNDLED_PIP));
    expect(error.reason).toContain('neither pip (20 or newer) nor packaging');
  });
});

// Windows cannot start a shell script, which is needed to set the variable for Python.
if (!IS_WINDOWS) {
  test('case 70: a wrong PYTHONHOME is reported', async () => {
    const script = join(folder, 'wrong-home');
    const lines = ['#!/bin/sh', 'export PYTHONHOME=/no/such/home', `exec '${toolsPython()}' "$@"`, ''];
    await writeFile(script, lines.join('\n'), { mode: 0o755 });
    const error = await refusal(script);
    expect(error.reason).toMatch(
      /PYTHONHOME = '\/no\/such\/home'; Fatal Python error: .*No module named 'encodings'/,
    );
    expect(error.remedy).toBe('Remove PYTHONHOME from the env of this step.');
  });
}

describe('case 70: the reason in the output of an interpreter', () => {
  test.each<[title: string, stderr: string, reason: string]>([
    ['nothing', '', ''],
    [
      'one line',
      'python: error while loading shared libraries: libz.so.1: cannot open\n',
      'python: error while loading shared libraries: libz.so.1: cannot open',
    ],
    [
      'a pyenv shim for a version that is not selected',
      "pyenv: python3.12: command not found\n\nThe `python3.12' command exists in these Python versions:\n  3.12.1\n\nNote: See 'pyenv help global' for tips on allowing both\n      python2 and python3 to be found.\n",
      'pyenv: python3.12: command not found',
    ],
    [
      'a pyenv version that is not installed',
      "pyenv: version `3.99.0' is not installed (set by PYENV_VERSION environment variable)\n",
      "pyenv: version `3.99.0' is not installed (set by PYENV_VERSION environment variable)",
    ],
    [
      'an asdf shim',
      'No version is set for command python3\nConsider adding one of the following versions in your config file at /w/.tool-versions\npython 3.12.1\n',
      'No version is set for command python3',
    ],
    [
      'PYTHONHOME, Python 3.11',
      "Python path configuration:\n  PYTHONHOME = '/nonexistent'\n  PYTHONPATH = (not set)\n  program name = 'python'\nFatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding\nPython runtime state: core initialized\nModuleNotFoundError: No module named 'encodings'\n\nCurrent thread 0x00007f (most recent call first):\n  <no Python frame>\n",
      "PYTHONHOME = '/nonexistent'; Fatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding; ModuleNotFoundError: No module named 'encodings'",
    ],
    [
      'a missing standard library, Python 3.7',
      "Could not find platform independent libraries <prefix>\nConsider setting $PYTHONHOME to <prefix>[:<exec_prefix>]\nFatal Python error: initfsencoding: unable to load the file system codec\nModuleNotFoundError: No module named 'encodings'\n\nCurrent thread 0x00007f (most recent call first):\n",
      "Fatal Python error: initfsencoding: unable to load the file system codec; ModuleNotFoundError: No module named 'encodings'",
    ],
    [
      'a traceback',
      'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nImportError: pyenv: no\r\n',
      'ImportError: pyenv: no',
    ],
  ])('%s', (_title, stderr, reason) => {
    expect(reasonIn(stderr)).toBe(reason);
  });
});

describe('an interpreter', () => {
  test('returns its version and the tags of its own pip, in order', async () => {
    const { stdout } = spawnSync(toolsPython(), ['-m', 'pip', '--isolated', 'debug', '--verbose'], {
      encoding: 'utf8',
    });
    const [, list] = /Compatible tags: \d+\n([\s\S]*)/.exec(stdout.replaceAll('\r', ''))!;
    const { tags, version, executable } = await queryInterpreter(toolsPython());
    expect(tags).toEqual(
      list!
        .trim()
        .split('\n')
        .map((line) => line.trim()),
    );
    expect(version).toMatch(/^3\.[0-9]+\.[0-9]+$/);
    expect(spawnSync(executable, ['--version'], { encoding: 'utf8' }).stdout).toContain(version);
  });

  test('without pip is queried with its packaging', async () => {
    const python = bareEnvironment('with packaging');
    const packages = packagesOf(python);
    await cp(join(packagesOf(toolsPython()), 'packaging'), join(packages, 'packaging'), { recursive: true });
    const code = 'from packaging.tags import sys_tags; print(*sys_tags())';
    const { stdout } = spawnSync(toolsPython(), ['-c', code], { encoding: 'utf8' });
    expect((await queryInterpreter(python)).tags).toEqual(stdout.trim().split(' '));
  });

  test('without either is refused with a remedy', async () => {
    const python = bareEnvironment('bare with spaces');
    await writeFile(join(packagesOf(python), 'sitecustomize.py'), `import sys\n${WITHOUT_BUNDLED_PIP}\n`);
    const error = await refusal(python);
    expect(error.reason).toMatch(
      /bare with spaces.* \(Python 3\.[0-9.]+\) has neither pip \(20 or newer\) nor packaging/,
    );
    expect(error.remedy).toContain('ensurepip');
  });

  test('ignores packages in the working directory', async () => {
    const python = await environmentRunning(WITHOUT_BUNDLED_PIP);
    const work = join(folder, 'work');
    await mkdir(join(work, 'packaging'), { recursive: true });
    await writeFile(join(work, 'packaging', '__init__.py'), '');
    await writeFile(join(work, 'packaging', 'tags.py'), 'def sys_tags(): return ["no-such-tag"]\n');
    const before = process.cwd();
    process.chdir(work);
    try {
      expect((await refusal(python)).reason).toContain('neither pip (20 or newer) nor packaging');
    } finally {
      process.chdir(before);
    }
  });

  test('that does not exist is named in the error', async () => {
    const error = await refusal('no-such-python');
    expect(error.reason).toBe('There is no Python interpreter "no-such-python".');
    expect((await refusal(join(folder, 'gone', 'python'))).reason).toContain(
      'There is no Python interpreter',
    );
  });

  test('that cannot be started is refused', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    expect((await refusal(join(file, 'python'))).reason).toContain('There is no Python interpreter');
    expect((await refusal('x'.repeat(40_000))).reason).toContain('does not run');
    const shim = join(folder, 'python.BAT');
    await writeFile(shim, '@exit /b 0\r\n');
    const error = await refusal(shim);
    expect(error.reason).toContain('does not run');
    expect(error.remedy).toContain('name the python.exe itself');
  });

  test('that is another program is refused', async () => {
    expect((await refusal(process.execPath)).reason).toMatch(/does not run|does not respond as Python does/);
    expect((await refusal(folder)).reason).toMatch(/does not run|There is no/);
  });

  test('that prints something first, fails or prints nonsense is recognised', async () => {
    const chatty = await environmentRunning(`print("Loading modules")\n${WITHOUT_BUNDLED_PIP}`);
    expect((await refusal(chatty)).reason).toContain('neither pip (20 or newer) nor packaging');
    const broken = await environmentRunning(
      'os.write(2, b"x\\n::error::no\\033[31m encodings"); os._exit(1)',
    );
    const error = await refusal(broken);
    expect(error.reason).toMatch(/does not run \(::error::no.*encodings\)\.$/);
    expect(error.message).not.toMatch(/\p{Cc}/u);
    const nonsense = await environmentRunning('os.write(1, b"{}"); os._exit(0)');
    expect((await refusal(nonsense)).reason).toContain('does not respond as Python does');
  });
});
