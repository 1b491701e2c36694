/** Runs the process that accesses the Actions cache, and kills it at a timeout or if the job is cancelled. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { CacheSettings } from '../runner/inputs.ts';
import { trace } from '../runner/log.ts';
import { hideSecrets, messageOf } from '../untrusted/foreign-text.ts';
import {
  type CacheResult,
  interpretResult,
  maskSecrets,
  type Operation,
  type OutputLine,
  parseLine,
} from './result.ts';

/** What the process should do. */
export interface CacheRequest {
  readonly operation: Operation;
  readonly key: string;
  /** The folder of the file to save or restore. The process puts its temporary files there too. */
  readonly folder: string;
  /** Size of the wheel in bytes. It determines the timeout. */
  readonly size: number;
}

/** Unpacks every entry of an archive to the same file in the folder, without owner, mode and time. */
const UNPACK_SAFELY = '--transform=s,.*,wheel, --no-same-owner --no-same-permissions --touch';
/** Follows the link to the wheel. */
const PACK = '--dereference';

/**
 * Performs one operation in a separate process, for several reasons: `@actions/cache` cannot be aborted, unpacks to any
 * path in the archive (`tar -P`), reads its folders from the environment, and prints failures as errors of the job.
 *
 * @throws the reason of `signal` if it is aborted; the process and its children have ended by then
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
    // A separate process group, so that its children (tar) are killed as well.
    detached: process.platform !== 'win32',
  });
  const seconds = timeoutSeconds(size);
  const timeout = AbortSignal.timeout(seconds * 1000);
  const aborted = AbortSignal.any([signal, timeout]);
  const kill = () => killGroup(child);
  aborted.addEventListener('abort', kill);
  try {
    const lines = collectLines(child, environment);
    const sent = await waitForResult(child);
    signal.throwIfAborted();
    if (sent === undefined && timeout.aborted) {
      return { outcome: 'fault', reason: `it took longer than ${seconds} seconds` };
    }
    return interpretResult(sent, lines);
  } finally {
    aborted.removeEventListener('abort', kill);
  }
}

/**
 * The timeout of an operation, in seconds: one minute, plus the time for the wheel at 4 MiB/s. A slower cache would
 * have no advantage over the bucket.
 *
 * @param size - of the wheel, in bytes
 */
export function timeoutSeconds(size: number): number {
  return 60 + Math.ceil(size / (4 * 1024 * 1024));
}

/** The build puts cache.js next to the entry points of the actions. */
function cacheProgram(entry: string): string {
  return join(dirname(entry), 'cache.js');
}

/**
 * Waits until the process has ended and its output has been read.
 *
 * @returns undefined if the process ended without a result
 */
async function waitForResult(child: ChildProcess): Promise<CacheResult | undefined> {
  let result: CacheResult | undefined;
  child.on('message', (message) => {
    result = message as CacheResult;
  });
  try {
    await once(child, 'close');
  } catch (error) {
    return { outcome: 'fault', reason: messageOf(error) };
  }
  return result;
}

/** Collects the output lines without secrets, and shows them if step debugging is on. */
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
    // It has already ended.
  }
}
