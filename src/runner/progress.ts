/** Says now and then how far a long transfer is. */
import { shortSize } from '../sizes.ts';
import { info } from './log.ts';

/** A transfer as it stands. Sizes are in bytes, times in milliseconds of one clock. */
export interface Transfer {
  readonly done: number;
  readonly total: number;
  readonly started: number;
  readonly now: number;
  /** When the last line was shown; undefined: none was yet. */
  readonly lastShown: number | undefined;
}

/** Often enough to see that something moves, seldom enough for an hour to fit on a few screens. */
const INTERVAL_MS = 10_000;

/**
 * The line that is due, if one is: the first when the transfer has lasted for {@link INTERVAL_MS}, each further
 * one that long after the one before, none when all has arrived.
 *
 * @param what - how the line begins, such as `Uploaded`
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
 * What to call with each progress of a transfer, first with no bytes done; with none again where it starts afresh.
 * There is no timer behind it, so nothing keeps the process alive, and what moves no bytes says nothing.
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

/** Seconds as people read them, never less than is left: `42 s`, `7 min`, `2 h 5 min`. */
function readableTime(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
