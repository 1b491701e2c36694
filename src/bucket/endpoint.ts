/** Whether an endpoint contains the bucket name, and which region a store expects. Pure functions. */
import { codeOf, regionNamedBy } from './failures.ts';

/** A host that begins with `{bucket}.s3.` or `{bucket}.s3-…` is that of a bucket, whatever the addressing style. */
const BUCKET_HOST = /^s3[.-]/;
/** Supabase's path, the same for every project (Supabase docs, "S3 Authentication"). */
const SUPABASE_PATH = /^storage\/v1\/s3$/;

/**
 * Where an endpoint already contains the bucket name, so that each URL would contain it twice: as the first or last
 * segment of the path, or as the first label of the host.
 *
 * @param pathStyle - the user's choice, which makes clear that the host is the store's; undefined: none
 * @returns undefined if it doesn't contain the bucket name
 */
export function namesBucket(
  endpoint: string,
  bucket: string,
  pathStyle: boolean | undefined,
): 'path' | 'host' | undefined {
  const url = URL.parse(endpoint);
  if (url === null) return undefined;
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  const isBucket = (segment: string | undefined) => segment !== undefined && decode(segment) === bucket;
  if (!SUPABASE_PATH.test(segments.join('/')) && (isBucket(segments[0]) || isBucket(segments.at(-1))))
    return 'path';
  const label = `${bucket.toLowerCase()}.`;
  if (!url.hostname.startsWith(label)) return undefined;
  return pathStyle === undefined || BUCKET_HOST.test(url.hostname.slice(label.length)) ? 'host' : undefined;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * The region to sign for after a rejection. It is in a field of the response (S3 API, "Error responses") or, from
 * Scaleway, only in the message. Otherwise it is `auto`, the region of Cloudflare's R2 (R2 docs, "S3 API
 * compatibility").
 *
 * @returns undefined if the rejection is not about the region
 */
export function regionAfter(error: unknown): string | undefined {
  const named = regionNamedBy(error);
  if (named !== undefined) return named;
  const code = codeOf(error);
  if (code === 'InvalidRegionName') return 'auto';
  if (code !== 'AuthorizationHeaderMalformed') return undefined;
  return /\bexpecting '([a-z0-9-]{1,40})'/.exec((error as Error).message)?.[1];
}
