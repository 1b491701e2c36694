/** What is wrong with an endpoint, and which region a store that is not AWS asks for. Values in, values out. */
import { codeOf, regionNamedBy } from './failures.ts';

/** A host that begins with `{bucket}.s3.` or `{bucket}.s3-…` is a bucket's own, whatever the addressing style. */
const BUCKET_HOST = /^s3[.-]/;
/** Supabase's path, the same for every project (Supabase docs, "S3 Authentication"). */
const SUPABASE_PATH = /^storage\/v1\/s3$/;

/**
 * Whether an endpoint names the bucket already, so that it would be in each address twice: as the first or last
 * segment of the path, or as the first label of the host.
 *
 * @param pathStyle - what the user chose; who chooses says how the host is meant. undefined: nothing
 */
export function namesBucket(
  endpoint: string,
  bucket: string,
  pathStyle: boolean | undefined,
): 'path' | 'host' | undefined {
  const url = URL.parse(endpoint);
  if (url === null) return undefined;
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  const isOurs = (segment: string | undefined) => segment !== undefined && decode(segment) === bucket;
  if (!SUPABASE_PATH.test(segments.join('/')) && (isOurs(segments[0]) || isOurs(segments.at(-1))))
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
 * The region to sign for after a refusal: the one that the answer names (S3 API, "Error responses"), also in words
 * alone, as Scaleway does; else `auto`, as Cloudflare's R2 calls its own (R2 docs, "S3 API compatibility").
 *
 * @returns undefined when the refusal is not about the region
 */
export function regionAfter(error: unknown): string | undefined {
  const named = regionNamedBy(error);
  if (named !== undefined) return named;
  const code = codeOf(error);
  if (code === 'InvalidRegionName') return 'auto';
  if (code !== 'AuthorizationHeaderMalformed') return undefined;
  return /\bexpecting '([a-z0-9-]{1,40})'/.exec((error as Error).message)?.[1];
}
