/** How sentences name a store, an object and what a policy must allow. */
import { plainAddress } from '../untrusted/foreign-text.ts';
import type { Bucket, RequestPurpose } from './bucket.ts';

/** Which store this is, for a sentence: AWS's region or the endpoint, without what may be secret in it. */
export function placeOf(bucket: Pick<Bucket, 'customEndpoint' | 'region'>): string {
  return bucket.customEndpoint === undefined
    ? `S3 in ${bucket.region.current}`
    : `the endpoint ${plainAddress(bucket.customEndpoint) ?? 'that is set'}`;
}

export function objectName(bucket: Bucket, { key }: RequestPurpose): string {
  return `s3://${bucket.settings.name}/${key}`;
}

/** The resource of a policy's statement. */
export function resourceOf(bucket: Bucket, { permission, key }: RequestPurpose): string {
  const arn = `arn:aws:s3:::${bucket.settings.name}`;
  return permission.startsWith('s3:List') ? arn : `${arn}/${key}`;
}

export function tries(attempts: number): string {
  return attempts === 1 ? 'one try' : `${attempts} tries`;
}
