/** Logs the progress of a long transfer from time to time. */
import { shortSize } from '../sizes.ts';
import { info } from './log.ts';

/** The state of a transfer. Sizes are in bytes, times in milliseconds of the same clock. */
export interface Transfer {
  readonly done: number;
  readonly total: number;
  readonly started: number;
  readonly now: number;
  /** When the last line was logged; undefined if none was. */
  readonly lastShown: number | undefined;
}

/** Short enough to show that the transfer continues, long enough for an hour to fit on a few screens. */
const INTERVAL_MS = 10_000;

/**
 * The line to log now. The first is due {@link INTERVAL_MS} after the start, each further one {@link INTERVAL_MS} after
 * the last.
 *
 * @param what - the beginning of the line, such as `Uploaded`
 * @returns undefined if no line is due, or the transfer is complete
 */
export function progressLine(what: string, transfer: Transfer): string | undefined {
  const { done, total, started, now, lastShown } = transfer;
  if (done >= total || now - (lastShown ?? started) < INTERVAL_MS) return undefined;
  const perSecond = (done / (now - started)) * 1000;
  const percent = Math.floor((done / total) * 100);
  const left = perSecond > 0 ? `, ${readableTime((total - done) / perSecond)} left` : '';
  return `${what} ${percent}%: ${shortSize(done)} of ${shortSize(total)}, ${shortSize(perSecond)}/s${left}.`;
}

/**
 * A callback for the progress of a transfer. Call it with 0 bytes at the beginning, and again if the transfer starts
 * over. It uses no timer, so it doesn't keep the process alive, and logs nothing while no bytes arrive.
 *
 * @param what - the beginning of each line, such as `Uploaded`
 */
export function progressLogger(what: string): (done: number, total: number) => void {
  let started = 0;
  let lastShown: number | undefined;
  return (done, total) => {
    const now = process.uptime() * 1000;
    if (done === 0) [started, lastShown] = [now, undefined];
    const line = progressLine(what, { done, total, started, now, lastShown });
    if (line === undefined) return;
    lastShown = now;
    info(line);
  };
}

/** Formats seconds, rounded up: `42 s`, `7 min`, `2 h 5 min`. */
function readableTime(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
