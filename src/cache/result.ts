/** The result of a cache operation, from the message and the output of the process. */
import { foreignText, withoutSecrets } from '../untrusted/foreign-text.ts';

/** What the process should do. */
export type Operation = 'restore' | 'save';

/** The name of the only file in an entry. It is always the same, because entries are identified by SHA-256. */
export const CACHED_FILE = 'wheel';

/** How an operation ended. */
export interface CacheResult {
  /**
   * - `done`: restored or saved
   * - `none`: no entry with this key
   * - `declined`: not saved or not restored, but not because of a fault; for example, another job saves the same entry
   * - `unavailable`: the runner has no cache
   * - `broken-entry`: the entry cannot be unpacked
   * - `fault`: the service or the connection failed
   */
  readonly outcome: 'done' | 'none' | 'declined' | 'unavailable' | 'broken-entry' | 'fault';
  /** The end of a sentence, without secrets; empty if there is nothing to explain. */
  readonly reason: string;
}

/** A line that the process printed. */
export interface OutputLine {
  readonly kind: 'text' | 'detail' | 'secret' | 'fault';
  readonly text: string;
}

/**
 * Parses a line. `@actions/cache` prints workflow commands. In the job's log, its errors and warnings would become
 * annotations.
 */
export function parseLine(line: string): OutputLine {
  const [, command = '', message = ''] = /^::([a-z-]+)(?: .*?)?::(.*)$/s.exec(line) ?? [];
  const text = message.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%25', '%');
  switch (command) {
    case 'add-mask':
      return { kind: 'secret', text };
    case 'warning':
    case 'error':
      return { kind: 'fault', text };
    case '':
      return { kind: 'text', text: line };
    default:
      return { kind: 'detail', text };
  }
}

/**
 * Removes secrets from a text, and the query of each URL, which may contain a signature.
 *
 * @param secrets - in the form in which they may appear; short ones are removed too
 */
export function maskSecrets(text: string, secrets: Iterable<string>): string {
  let clean = withoutSecrets(text);
  for (const secret of secrets) if (secret !== '') clean = clean.replaceAll(secret, '***');
  return clean;
}

/**
 * Determines the result of an operation from the message and the output of the process. `@actions/cache` returns the
 * same value for a failure as for a miss, and only prints the failure. So the messages of its cache.ts are compared.
 *
 * @param sent - undefined if the process ended without a result
 * @param lines - without secrets
 */
export function interpretResult(sent: CacheResult | undefined, lines: readonly OutputLine[]): CacheResult {
  const messages = lines.filter(({ kind }) => kind === 'text' || kind === 'fault').map(({ text }) => text);
  const fault = lines.findLast(({ kind }) => kind === 'fault')?.text ?? thrown(sent);
  const decline = messages.find((text) => DECLINED.test(text));
  if (decline !== undefined) return { outcome: 'declined', reason: shortReason(decline) };
  if (fault === undefined) return sent ?? { outcome: 'fault', reason: 'its process ended without a result' };
  const hasArchive = messages.some((text) => text.startsWith('Cache Size: '));
  if (hasArchive && fault.startsWith('Failed to restore: ')) {
    return { outcome: 'broken-entry', reason: 'it cannot be unpacked' };
  }
  return { outcome: 'fault', reason: shortReason(fault) };
}

/** Messages about policies, contention and (since version 2 of the protocol) a used-up quota, which are not faults. */
const DECLINED =
  /cache (read|write) denied: |^Cache (restore|save) skipped: |: Unable to reserve cache with key /;

function thrown(sent: CacheResult | undefined): string | undefined {
  return sent?.outcome === 'fault' ? sent.reason : undefined;
}

/** The most characters of a reason that are shown. */
const MAX_CHARACTERS = 1_000;

/** The first line, without names of functions and keys, as the end of a sentence. */
function shortReason(message: string): string {
  const [first = ''] = message.split(/[\r\n]/);
  const denied = /cache (read|write) denied: .*/.exec(first)?.[0];
  if (denied === undefined && first.includes('Unable to reserve cache')) {
    return 'the service did not reserve the entry: another job may be saving it, or the quota is used up';
  }
  return foreignText((denied ?? first).slice(0, MAX_CHARACTERS))
    .replace(/^(Failed to (save|restore)|Cache (restore|save) skipped): /, '')
    .replace(/^(\w+ failed|Failed to \w+|Received non-retryable error): /g, '')
    .replace(/[\s.]+$/, '');
}
