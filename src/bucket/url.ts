/** URLs of objects, for readers, pip and uv. */
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { getEndpointFromInstructions } from '@smithy/core/endpoints';
import type { Bucket } from './bucket.ts';
import { send } from './client.ts';

/**
 * Percent-encodes a key for a URL, segment by segment (RFC 3986, section 2.3: all but the unreserved
 * characters). A `+` becomes `%2B`, because S3 decodes an unencoded one as a space.
 */
export function encodeKey(key: string): string {
  return key.split('/').map(encodeSegment).join('/');
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * The plain URL of a key: below the public URL if one is set, otherwise at the bucket's URL according to the SDK's own
 * endpoint rules (including other partitions, dual stack and FIPS). Sends nothing.
 */
export async function plainUrl(bucket: Bucket, key: string): Promise<string> {
  const base = bucket.settings.publicUrl ?? (await bucketUrl(bucket));
  return `${base.replace(/\/+$/, '')}/${encodeKey(key)}`;
}

/**
 * A URL that lets anyone who has it read the object for `seconds`. The caller must mask the signature.
 *
 * @throws WheelStoreError if there are no credentials to sign with
 */
export async function presignedUrl(bucket: Bucket, key: string, seconds: number): Promise<string> {
  const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
  return send(bucket, { permission: 's3:GetObject', key, signal: undefined }, (client) =>
    getSignedUrl(client, new GetObjectCommand({ Bucket: bucket.settings.name, Key: key }), {
      expiresIn: seconds,
    }),
  );
}

async function bucketUrl(bucket: Bucket): Promise<string> {
  const { url } = await getEndpointFromInstructions(
    { Bucket: bucket.settings.name, Key: 'key' },
    GetObjectCommand,
    bucket.client.config as unknown as Parameters<typeof getEndpointFromInstructions>[2],
  );
  return url.href;
}
