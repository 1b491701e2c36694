/** Names of stores, objects and policy resources in messages. */
import type { Bucket, RequestPurpose } from './bucket.ts';

/** Names the store in a sentence: AWS's region, or the endpoint without secrets. */
export function describeStore(bucket: Pick<Bucket, 'customEndpoint' | 'address' | 'region'>): string {
  return bucket.customEndpoint === undefined
    ? `S3 in ${bucket.region.current}`
    : `the endpoint ${bucket.address || 'that is set'}`;
}

/** An object or a key prefix as the AWS CLI writes it: `s3://bucket/key`. */
export function s3Uri(bucket: string, key: string): string {
  return `s3://${bucket}/${key}`;
}

/** The ARN for the `Resource` of a policy statement. */
export function resourceOf(bucket: Bucket, { permission, key }: RequestPurpose): string {
  const arn = `arn:aws:s3:::${bucket.settings.name}`;
  return permission.startsWith('s3:List') ? arn : `${arn}/${key}`;
}

/** The number of tries, as part of a sentence. */
export function tries(attempts: number): string {
  return attempts === 1 ? 'one try' : `${attempts} tries`;
}
