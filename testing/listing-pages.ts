/** Generates ListObjectsV2 responses for more objects than a test could create. */

/** Per page, as in S3. */
const MAX_KEYS = 1000;

/** The objects to list. */
export interface Listing {
  readonly count: number;
  /** The key of an object by its index, from 0. */
  readonly keyOf: (index: number) => string;
  /** Of each object, in bytes. */
  readonly size: number;
}

/**
 * The body of the response to a list request. The continuation token is the number of objects before the page.
 *
 * @param url - path and query of the request
 * @throws Error if the token does not belong to this listing
 */
export function listingPage(url: string, { count, keyOf, size }: Listing): string {
  const token = new URL(url, 'http://localhost').searchParams.get('continuation-token');
  const start = Number(token ?? 0);
  if (!(start >= 0 && start < count && start % MAX_KEYS === 0)) throw new Error(`No such page: ${token}`);
  const end = Math.min(start + MAX_KEYS, count);
  const contents = Array.from(
    { length: end - start },
    (_, index) =>
      `<Contents><Key>${encodeURIComponent(keyOf(start + index))}</Key><Size>${size}</Size><ETag>&quot;e${index}&quot;</ETag></Contents>`,
  );
  const isTruncated = end < count;
  const next = isTruncated ? `<NextContinuationToken>${end}</NextContinuationToken>` : '';
  return `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`;
}
