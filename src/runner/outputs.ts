/** The step's outputs. They have the same names in all three actions. */
import * as core from '@actions/core';
import type { Bucket, BucketSettings } from '../bucket/bucket.ts';
import { s3Uri } from '../bucket/names.ts';
import { plainUrl, presignedUrl } from '../bucket/url.ts';
import { type CommitPlace, indexKey, SDIST_TARGET } from '../slots/layout.ts';
import type { StoredWheel } from '../slots/stored.ts';
import { warn } from './log.ts';

/** A stored wheel with its URL. */
export interface LinkedWheel extends StoredWheel {
  /** Presigned if the input `presign` is set, so never print it. Print {@link plainUrl} instead. */
  readonly url: string;
  /** Without a signature. */
  readonly plainUrl: string;
}

/** Adds the URL of each wheel. Masks the signatures of presigned URLs in the job's log. */
export async function linkWheels(bucket: Bucket, wheels: readonly StoredWheel[]): Promise<LinkedWheel[]> {
  const { presignSeconds } = bucket.settings;
  const linked = await Promise.all(
    wheels.map(async (wheel) => {
      const plain = await plainUrl(bucket, wheel.key);
      const url =
        presignSeconds === undefined ? plain : await presignedUrl(bucket, wheel.key, presignSeconds);
      return { ...wheel, url, plainUrl: plain };
    }),
  );
  if (presignSeconds !== undefined && linked.length > 0) {
    for (const { url } of linked) maskSignature(url);
    warn(
      `The presigned wheel-url works in this job only, for ${presignSeconds} seconds: GitHub drops job outputs that contain masked text. In other jobs, use find or fetch.`,
      'Presigned URL for this job only',
    );
  }
  return linked;
}

function maskSignature(url: string): void {
  const { searchParams } = new URL(url);
  for (const name of ['X-Amz-Signature', 'X-Amz-Security-Token']) {
    const value = searchParams.get(name);
    if (value === null) continue;
    core.setSecret(value);
    core.setSecret(encodeURIComponent(value));
  }
}

/**
 * Sets the common outputs. Those for a single wheel are empty if there is no wheel, or more than one.
 *
 * @param skipBuild - whether the build can be skipped, or was
 * @param index - URL of the commit's index page; undefined if there is none
 */
export function setWheelOutputs(
  { bucket, place }: { readonly bucket: BucketSettings; readonly place: CommitPlace },
  wheels: readonly LinkedWheel[],
  skipBuild: boolean,
  index: string | undefined,
): void {
  const only = onlyWheelOf(wheels);
  core.setOutput('skip-build', skipBuild ? 'true' : 'false');
  core.setOutput('wheel-url', only?.url ?? '');
  core.setOutput('wheel-name', only?.name.filename ?? '');
  core.setOutput('wheel-key', only?.key ?? '');
  core.setOutput('s3-uri', only === undefined ? '' : s3Uri(bucket.name, only.key));
  core.setOutput('sha256', only?.sha256 ?? '');
  core.setOutput('size', only === undefined ? '' : String(only.size));
  core.setOutput('requirement', only === undefined ? '' : requirement(only));
  core.setOutput('commit', wheels.length === 0 ? '' : place.commit);
  core.setOutput('run-id', only?.run ?? '');
  core.setOutput('run-attempt', only?.attempt ?? '');
  core.setOutput('index-url', index ?? '');
  core.setOutput('wheels', JSON.stringify(wheels.map(wheelObject)));
}

/** The wheel of the outputs for a single wheel: a source distribution beside it doesn't count. */
export function onlyWheelOf<Wheel extends Pick<StoredWheel, 'target'>>(
  wheels: readonly Wheel[],
): Wheel | undefined {
  const [wheel, ...more] =
    wheels.length > 1 ? wheels.filter(({ target }) => target !== SDIST_TARGET) : wheels;
  return more.length === 0 ? wheel : undefined;
}

/** Sets the output of a failed step: if the job continues, it builds. */
export function setFailureOutputs(): void {
  core.setOutput('skip-build', 'false');
}

/** The URL of the commit's index page; undefined if it has none. */
export async function indexUrl(
  bucket: Bucket,
  place: CommitPlace,
  hasIndex: boolean,
): Promise<string | undefined> {
  return hasIndex ? plainUrl(bucket, indexKey(place)) : undefined;
}

/** The direct reference that pip and uv install and verify (PEP 508, PEP 440 "Direct references"). */
export function requirement({ name, url, sha256 }: Pick<LinkedWheel, 'name' | 'url' | 'sha256'>): string {
  return `${name.project} @ ${url}${sha256 === undefined ? '' : `#sha256=${sha256}`}`;
}

function wheelObject({ target, name, key, url, sha256, size, run, attempt }: LinkedWheel) {
  return {
    target,
    name: name.filename,
    key,
    url,
    sha256: sha256 ?? '',
    size,
    run: run ?? '',
    attempt: attempt ?? '',
  };
}
