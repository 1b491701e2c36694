/** Checks that a wheel is stored, or looked up, under the commit that it is built from. */
import type { CommonInputs, StoreInputs } from '../runner/inputs.ts';
import { info, warn } from '../runner/log.ts';
import { shortCommit } from '../slots/layout.ts';
import { isSameVersion, readVersion } from '../wheel/version.ts';
import { checkedOutCommit } from './checkout.ts';
import { refuseStale } from './stale.ts';

/** For store: warns if the commit that is checked out differs from the one that the wheel is stored under. */
export async function warnOfOtherCommit({ place, workspace }: CommonInputs): Promise<void> {
  info(`Commit ${place.commit}.`);
  const head = await checkedOutCommit(workspace);
  if (head === undefined || !areComparable(head, place.commit) || head === place.commit) return;
  warn(
    `The wheel is stored under commit ${shortCommit(place.commit)}, but ${head} is checked out in the workspace. On a pull request, github.sha is a merge commit: set 'commit' to the commit that was built, here and in find and fetch.`,
    'Different commit checked out',
  );
}

/**
 * For find: warns if the commit that is checked out differs from the one that is looked up. Only for the run's own
 * commit, because any other was chosen on purpose.
 */
export async function warnOfOtherHead({ place, workspace, runCommit }: CommonInputs): Promise<void> {
  info(`Commit ${place.commit}.`);
  if (place.commit !== runCommit) return;
  const head = await checkedOutCommit(workspace);
  if (head === undefined || !areComparable(head, place.commit) || head === place.commit) return;
  warn(
    `Looking for the wheel of commit ${shortCommit(place.commit)}, but ${head} is checked out in the workspace. On a pull request, github.sha is a merge commit: set 'commit' to the commit that is built.`,
    'Different commit checked out',
  );
}

/**
 * A version made from git (setuptools-scm, versioneer: `+g1234567`) names the commit that the wheel was built from.
 * If that is the one that is checked out, the wheel is new, and {@link warnOfOtherCommit} warns of the mismatch.
 *
 * @throws WheelStoreError if it names another commit, unless `allowStale` turns that into a warning
 */
export async function checkVersion(
  version: string,
  { place: { commit }, workspace }: CommonInputs,
  allowStale: boolean,
): Promise<void> {
  const named = commitInVersion(version);
  if (named === undefined || commit.length !== 40 || commit.startsWith(named)) return;
  const isCheckedOut = (await checkedOutCommit(workspace))?.startsWith(named) === true;
  refuseStale(
    {
      title: 'Wheel from another commit',
      reason: `The wheel's version ${version} names commit ${named}, but it would be stored under ${commit}.`,
      remedy:
        "On a runner that is reused, clear the folder before the build. If the build checks out another commit than github.sha, set the input 'commit' to it. If the wheel is right, set allow-stale-wheel: true.",
    },
    allowStale || isCheckedOut,
  );
}

/**
 * For store: warns if the run is for a version tag, and the wheel has another version. A release that looks for the
 * tag's version won't find it.
 */
export function warnOfOtherTag(version: string, { tag, place, runCommit }: StoreInputs): void {
  const tagged = tag === undefined || place.commit !== runCommit ? undefined : readVersion(tag);
  const built = readVersion(version);
  if (tagged === undefined || built === undefined || isSameVersion(built, tagged)) return;
  warn(
    `The wheel has version ${built.text}, but the run is for the tag ${tag}. If the version comes from git, let the checkout fetch all tags (fetch-depth: 0).`,
    'Version differs from the tag',
  );
}

/**
 * The abbreviated commit in the local part of a version.
 *
 * @returns lower-case hex digits, at least 7; undefined if it contains no commit
 */
export function commitInVersion(version: string): string | undefined {
  return /[+.]g([0-9a-f]{7,40})(?=[.]|$)/.exec(version.toLowerCase())?.[1];
}

/** The input may be a SHA-256 of sources (`hashFiles`), which cannot be compared with a SHA-1 commit. */
function areComparable(head: string, commit: string): boolean {
  return head.length === commit.length;
}
