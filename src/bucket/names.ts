/** How sentences name a store, an object and what a policy must allow. */
import type { Bucket, RequestPurpose } from './bucket.ts';

/** Which store this is, for a sentence: AWS's region or the endpoint, without what may be secret in it. */
export function placeOf(bucket: Pick<Bucket, 'customEndpoint' | 'address' | 'region'>): string {
  return bucket.customEndpoint === undefined
    ? `S3 in ${bucket.region.current}`
    : `the endpoint ${bucket.address || 'that is set'}`;
}

/** How the AWS CLI writes an object, or all below a key prefix: `s3://bucket/key`. */
export function s3Uri(bucket: string, key: string): string {
  return `s3://${bucket}/${key}`;
}

/** The resource of a policy's statement. */
export function resourceOf(bucket: Bucket, { permission, key }: RequestPurpose): string {
  const arn = `arn:aws:s3:::${bucket.settings.name}`;
  return permission.startsWith('s3:List') ? arn : `${arn}/${key}`;
}

export function tries(attempts: number): string {
  return attempts === 1 ? 'one try' : `${attempts} tries`;
}
