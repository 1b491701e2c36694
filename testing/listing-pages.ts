/** Listings that are made up: what ListObjectsV2 answers of more objects than a test should have to put. */

/** Of one page, as S3 has it. */
const MAX_KEYS = 1000;

/** What is listed. */
export interface Listing {
  readonly count: number;
  /** The key of an object by its place, counted from 0. */
  readonly keyOf: (index: number) => string;
  /** Bytes of each object. */
  readonly size: number;
}

/**
 * The page that a request asks for, as an answer's body. The continuation token is the number of objects before it.
 *
 * @param url - path and query of the request
 * @throws Error when the token is not one of this listing
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
