/** Decides which files of a project a channel's page shows. Pure functions. */
import { byCodeUnit } from '../slots/html.ts';
import { compareDecimals } from '../slots/layout.ts';
import { compareVersions } from '../wheel/version.ts';
import type { ListedFile } from './content.ts';
import { type Facts, sizeOfSet } from './facts.ts';

/** A file of a channel, with all that its page shows. */
export type PublishedFile = ListedFile & Facts;

/** What decides about a project's files. */
export interface Choice {
  /** Keys of the files that this step publishes. */
  readonly own: ReadonlySet<string>;
  /** Keys of the files that a complete set brought onto the page earlier. */
  readonly known: ReadonlySet<string>;
  /** How many versions stay; undefined: all. */
  readonly keep: number | undefined;
}

/** A project's files. */
export interface Selected {
  /** The newest of each filename, newest version first. */
  readonly shown: readonly PublishedFile[];
  /** Replaced by a newer one of the same filename, or beyond the versions to keep. */
  readonly hidden: readonly PublishedFile[];
  /** A step was stopped before it had copied its set, or is copying it. */
  readonly incomplete: readonly PublishedFile[];
}

/**
 * Selects what to show.
 *
 * - A set that isn't complete is not shown: an installer would take another version for the missing platforms.
 * - Of several files with the same name, the one that was built last is shown.
 * - Of more than `keep` versions (PEP 440), the newest are shown, and what this step publishes.
 *
 * @param files - of one project
 */
export function select(files: readonly PublishedFile[], { own, known, keep }: Choice): Selected {
  const sets = Map.groupBy(files, ({ set }) => set);
  const isWhole = ({ key, set }: PublishedFile) =>
    own.has(key) || known.has(key) || sets.get(set)!.length >= sizeOfSet(set);
  const whole = files.filter(isWhole).toSorted(newestFirst);
  const names = new Set<string>();
  const kept = newestVersions(whole, keep);
  const [shown, hidden]: [PublishedFile[], PublishedFile[]] = [[], []];
  for (const file of whole) {
    const { filename, version } = file.name;
    const isShown = !names.has(filename) && (own.has(file.key) || kept.has(version.text));
    names.add(filename);
    (isShown ? shown : hidden).push(file);
  }
  return { shown, hidden, incomplete: files.filter((file) => !isWhole(file)) };
}

/** By version, then by name, then the one that was built last. */
function newestFirst(a: PublishedFile, b: PublishedFile): number {
  return (
    compareVersions(b.name.version, a.name.version) ||
    byCodeUnit(a.name.filename, b.name.filename) ||
    compareDecimals(b.run, a.run) ||
    compareDecimals(b.attempt, a.attempt) ||
    // A run that builds several commits.
    (b.lastModified?.getTime() ?? 0) - (a.lastModified?.getTime() ?? 0) ||
    byCodeUnit(a.commit, b.commit)
  );
}

function newestVersions(sorted: readonly PublishedFile[], keep = Number.POSITIVE_INFINITY): Set<string> {
  return new Set([...new Set(sorted.map(({ name }) => name.version.text))].slice(0, keep));
}
