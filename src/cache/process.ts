/** Runs the process that talks to the Actions cache, and ends it when time is up or the job is cancelled. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { CacheSettings } from '../runner/inputs.ts';
import { trace } from '../runner/log.ts';
import { hideSecrets, wordsOf } from '../untrusted/foreign-text.ts';
import {
  type CacheResult,
  interpretResult,
  maskSecrets,
  type Operation,
  type OutputLine,
  parseLine,
} from './result.ts';

/** What the process is to do. */
export interface CacheRequest {
  readonly operation: Operation;
  readonly key: string;
  /** The folder that holds, or will hold, the file; the process leaves its own files there too. */
  readonly folder: string;
  /** Size of the wheel in bytes, which decides how long it may take. */
  readonly size: number;
}

/** Whatever an archive's entries are called, they end as the one file in the folder; no owner, mode or time is kept. */
const UNPACK_SAFELY = '--transform=s,.*,wheel, --no-same-owner --no-same-permissions --touch';
/** A link to the wheel is followed. */
const PACK = '--dereference';

/**
 * Does one operation in a process of its own, because `@actions/cache` cannot be aborted, unpacks where and what
 * the archive says (`tar -P`), finds its folders in the environment, and prints failures as errors of the job.
 *
 * @throws the signal's reason when it aborts; the process and all that it started have ended then
 */
export async function runCacheProcess(
  { environment }: CacheSettings,
  request: CacheRequest,
  signal: AbortSignal,
): Promise<CacheResult> {
  signal.throwIfAborted();
  const { operation, key, folder, size } = request;
  const child = spawn(process.execPath, [cacheProgram(process.argv[1]!), operation, key], {
    cwd: folder,
    env: {
      ...environment,
      GITHUB_WORKSPACE: folder,
      RUNNER_TEMP: folder,
      TAR_OPTIONS: operation === 'restore' ? UNPACK_SAFELY : PACK,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A process group of its own, which ends as one, tar included.
    detached: process.platform !== 'win32',
  });
  const seconds = timeoutSeconds(size);
  const timeout = AbortSignal.timeout(seconds * 1000);
  const either = AbortSignal.any([signal, timeout]);
  const kill = () => killGroup(child);
  either.addEventListener('abort', kill);
  try {
    const lines = collectLines(child, environment);
    const sent = await waitForResult(child);
    signal.throwIfAborted();
    if (sent === undefined && timeout.aborted) {
      return { outcome: 'fault', reason: `it was not done within ${seconds} seconds` };
    }
    return interpretResult(sent, lines);
  } finally {
    either.removeEventListener('abort', kill);
  }
}

/**
 * How long an operation may take: a minute to begin with, and then no slower than 4 MiB/s, because what is slower
 * than that is no help against the bucket.
 *
 * @param size - bytes
 */
export function timeoutSeconds(size: number): number {
  return 60 + Math.ceil(size / (4 * 1024 * 1024));
}

/** The build puts it beside the entries of the actions, one of which the runner started. */
function cacheProgram(entry: string): string {
  return join(dirname(entry), 'cache.js');
}

/** Waits until the process has ended and all that it printed is read. */
async function waitForResult(child: ChildProcess): Promise<CacheResult | undefined> {
  let result: CacheResult | undefined;
  child.on('message', (message) => {
    result = message as CacheResult;
  });
  try {
    await once(child, 'close');
  } catch (error) {
    return { outcome: 'fault', reason: wordsOf(error) };
  }
  return result;
}

/** The lines as they come, without secrets; each is shown with step debugging on. */
function collectLines(child: ChildProcess, environment: CacheSettings['environment']): readonly OutputLine[] {
  const secrets = new Set([environment.ACTIONS_RUNTIME_TOKEN ?? '']);
  const lines: OutputLine[] = [];
  const onLine = (raw: string) => {
    const { kind, text } = parseLine(raw);
    if (kind === 'secret') {
      secrets.add(text);
      hideSecrets([text]);
      return;
    }
    const clean = maskSecrets(text, secrets);
    lines.push({ kind, text: clean });
    trace(`Actions cache: ${clean}`);
  };
  for (const input of [child.stdout!, child.stderr!]) createInterface({ input }).on('line', onLine);
  return lines;
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
