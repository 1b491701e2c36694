/** Runs the process that talks to the Actions cache, and ends it when time is up or the job is cancelled. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { CacheSettings } from '../runner/inputs.ts';
import { trace } from '../runner/log.ts';
import { hideSecrets, messageOf } from '../untrusted/foreign-text.ts';
import { type Answer, judge, type Line, type Operation, readLine, withoutMasked } from './answer.ts';

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
): Promise<Answer> {
  signal.throwIfAborted();
  const { operation, key, folder, size } = request;
  const child = spawn(process.execPath, [programBeside(process.argv[1]!), operation, key], {
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
  const seconds = secondsFor(size);
  const timeUp = AbortSignal.timeout(seconds * 1000);
  const either = AbortSignal.any([signal, timeUp]);
  const end = () => endGroup(child);
  either.addEventListener('abort', end);
  try {
    const lines = linesOf(child, environment);
    const sent = await answerOf(child);
    signal.throwIfAborted();
    if (sent === undefined && timeUp.aborted) {
      return { outcome: 'fault', reason: `it was not done within ${seconds} seconds` };
    }
    return judge(sent, lines);
  } finally {
    either.removeEventListener('abort', end);
  }
}

/**
 * How long an operation may take: a minute to begin with, and then no slower than 4 MiB/s, because what is slower
 * than that is no help against the bucket.
 *
 * @param size - bytes
 */
export function secondsFor(size: number): number {
  return 60 + Math.ceil(size / (4 * 1024 * 1024));
}

/** The build puts it beside the entries of the actions, one of which the runner started. */
function programBeside(entry: string): string {
  return join(dirname(entry), 'cache.js');
}

/** Waits until the process has ended and all that it printed is read. */
async function answerOf(child: ChildProcess): Promise<Answer | undefined> {
  let answer: Answer | undefined;
  child.on('message', (message) => {
    answer = message as Answer;
  });
  try {
    await once(child, 'close');
  } catch (error) {
    return { outcome: 'fault', reason: messageOf(error) };
  }
  return answer;
}

/** The lines as they come, without secrets; each is shown with step debugging on. */
function linesOf(child: ChildProcess, environment: CacheSettings['environment']): readonly Line[] {
  const secrets = new Set([environment.ACTIONS_RUNTIME_TOKEN ?? '']);
  const lines: Line[] = [];
  const take = (raw: string) => {
    const { kind, text } = readLine(raw);
    if (kind === 'secret') {
      secrets.add(text);
      hideSecrets([text]);
      return;
    }
    const clean = withoutMasked(text, secrets);
    lines.push({ kind, text: clean });
    trace(`Actions cache: ${clean}`);
  };
  for (const input of [child.stdout!, child.stderr!]) createInterface({ input }).on('line', take);
  return lines;
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
