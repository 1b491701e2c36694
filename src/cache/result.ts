/** What the process that talks to the Actions cache says, and what of it follows. */
import { foreignText, withoutSecrets } from '../untrusted/foreign-text.ts';

/** What it is asked to do. */
export type Operation = 'restore' | 'save';

/** The one file that an entry holds, whatever the wheel is called: entries are shared by SHA-256, not by name. */
export const CACHED_FILE = 'wheel';

/** How an operation ended. */
export interface CacheResult {
  /**
   * `done`: restored or kept. `none`: nothing is kept under the key. `declined`: the service did not keep it, and
   * that is nobody's fault, as when another job keeps it at the same moment. `unavailable`: no cache here at all.
   * `broken-entry`: what is kept cannot be unpacked. `fault`: the service or the line to it.
   */
  readonly outcome: 'done' | 'none' | 'declined' | 'unavailable' | 'broken-entry' | 'fault';
  /** The end of a sentence, without secrets; empty when there is nothing to explain. */
  readonly reason: string;
}

/** A line that the process printed. */
export interface OutputLine {
  readonly kind: 'text' | 'detail' | 'secret' | 'fault';
  readonly text: string;
}

/**
 * Reads a line: `@actions/cache` prints workflow commands, and its errors and warnings would be annotations of the
 * job if they reached its log.
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
 * Removes secrets from a text, and the query of each URL, where services sign.
 *
 * @param secrets - as they may stand in the text, short ones included
 */
export function maskSecrets(text: string, secrets: Iterable<string>): string {
  let clean = withoutSecrets(text);
  for (const secret of secrets) if (secret !== '') clean = clean.replaceAll(secret, '***');
  return clean;
}

/**
 * What became of an operation, from what the process sent and printed. `@actions/cache` answers a failure like a
 * miss and only prints it; its sentences (its cache.ts) are the one place to tell them apart.
 *
 * @param sent - undefined when the process ended without an answer
 * @param lines - without secrets
 */
export function interpretResult(sent: CacheResult | undefined, lines: readonly OutputLine[]): CacheResult {
  const said = lines.filter(({ kind }) => kind === 'text' || kind === 'fault').map(({ text }) => text);
  const fault = lines.findLast(({ kind }) => kind === 'fault')?.text ?? thrown(sent);
  const refusal = said.find((text) => DECLINED.test(text));
  if (refusal !== undefined) return { outcome: 'declined', reason: shortReason(refusal) };
  if (fault === undefined) return sent ?? { outcome: 'fault', reason: 'its process ended without an answer' };
  const hasArchive = said.some((text) => text.startsWith('Cache Size: '));
  if (hasArchive && fault.startsWith('Failed to restore: ')) {
    return { outcome: 'broken-entry', reason: 'it cannot be unpacked' };
  }
  return { outcome: 'fault', reason: shortReason(fault) };
}

/** Policies, contention, and (in the second version of the protocol) a quota that is used up: no fault of a job. */
const DECLINED =
  /cache (read|write) denied: |^Cache (restore|save) skipped: |: Unable to reserve cache with key /;

function thrown(sent: CacheResult | undefined): string | undefined {
  return sent?.outcome === 'fault' ? sent.reason : undefined;
}

/** So much of a reason is shown. */
const MAX_CHARACTERS = 1_000;

/** The first line, without what names functions and keys, as the end of a sentence. */
function shortReason(message: string): string {
  const [first = ''] = message.split(/[\r\n]/);
  const denied = /cache (read|write) denied: .*/.exec(first)?.[0];
  if (denied === undefined && first.includes('Unable to reserve cache')) {
    return 'the service did not reserve the entry, which another job may be keeping; or the quota is used up';
  }
  return foreignText((denied ?? first).slice(0, MAX_CHARACTERS))
    .replace(/^(Failed to (save|restore)|Cache (restore|save) skipped): /, '')
    .replace(/^(\w+ failed|Failed to \w+|Received non-retryable error): /g, '')
    .replace(/[\s.]+$/, '');
}
