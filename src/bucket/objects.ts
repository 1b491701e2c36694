/** Small requests on objects: list, head, delete, hash. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { WheelStoreError } from '../errors.ts';
import { type Bucket, send } from './client.ts';
import { isAbsent, placeOf } from './failures.ts';

/** An object as a listing shows it. */
export interface ListedObject {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly etag: string;
}

/** An object as its head shows it. */
export interface ObjectHead extends ListedObject {
  /** The `x-amz-meta-*` headers, names in lower case. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A store may pass over deleted keys in pages that show nothing, but not for ever. */
const MOST_EMPTY_PAGES = 100;
/** A million objects. A commit has as many wheels as its matrix has jobs; what lists more goes on for ever. */
const MOST_PAGES = 1_000;

/**
 * Lists every object whose key begins with `prefix`, page by page (S3 API, ListObjectsV2).
 *
 * @param options.directly - only objects of this folder, none of folders below it; `prefix` ends in a slash
 * @throws WheelStoreError when S3 refuses, when a page does not lead any further, or after a million objects.
 */
export async function listObjects(
  bucket: Bucket,
  prefix: string,
  options: { readonly directly?: boolean; readonly signal?: AbortSignal } = {},
): Promise<ListedObject[]> {
  const found = new Map<string, ListedObject>();
  const tokens = new Set<string>();
  let token: string | undefined;
  let emptyPages = 0;
  let pages = 0;
  do {
    const page = await listPage(bucket, prefix, token, options);
    const before = found.size;
    for (const object of page.objects) found.set(object.key, object);
    emptyPages = page.objects.length === 0 ? emptyPages + 1 : 0;
    pages += 1;
    const isStuck = tokens.has(page.next ?? '') || (emptyPages === 0 && found.size === before);
    const isTooLong = emptyPages > MOST_EMPTY_PAGES || pages >= MOST_PAGES;
    if (page.next !== undefined && (isStuck || isTooLong)) throw endlessListing(bucket, prefix);
    token = page.next;
    tokens.add(token ?? '');
  } while (token !== undefined);
  return [...found.values()];
}

async function listPage(
  bucket: Bucket,
  prefix: string,
  token: string | undefined,
  { directly = false, signal }: { readonly directly?: boolean; readonly signal?: AbortSignal },
): Promise<{ objects: ListedObject[]; next: string | undefined }> {
  const answer = await send(bucket, { permission: 's3:ListBucket', key: prefix }, (client) =>
    client.send(
      new ListObjectsV2Command({
        Bucket: bucket.settings.name,
        Prefix: prefix,
        // Keys may hold characters that XML 1.0 cannot carry.
        EncodingType: 'url',
        ...(directly ? { Delimiter: '/' } : {}),
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }),
      signal === undefined ? {} : { abortSignal: signal },
    ),
  );
  // The SDK reads any 200 as an answer; a sign-in page or an empty body would pass for 'nothing stored'. Every
  // listing says whether it is cut (S3 API, ListObjectsV2: IsTruncated).
  if (answer.IsTruncated === undefined) throw noListing(bucket);
  const decode = answer.EncodingType === 'url' ? decodeListedKey : (key: string) => key;
  const objects = (answer.Contents ?? []).map((object) => ({
    key: decode(object.Key ?? ''),
    size: object.Size ?? 0,
    etag: object.ETag ?? '',
  }));
  if (answer.IsTruncated !== true) return { objects, next: undefined };
  if (answer.NextContinuationToken === undefined) throw endlessListing(bucket, prefix);
  return { objects, next: answer.NextContinuationToken };
}

/** S3 writes listed keys as in a query string: a space is `+`, a plus is `%2B`. */
function decodeListedKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return key;
  }
}

function noListing(bucket: Bucket): WheelStoreError {
  return new WheelStoreError({
    title: 'Not an S3 answer',
    reason: `${placeOf(bucket)} answered a listing of '${bucket.settings.name}' with something that is none.`,
    remedy:
      "Check that 'endpoint-url' is an S3 endpoint, and that no proxy or sign-in page answers in its stead.",
  });
}

function endlessListing(bucket: Bucket, prefix: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Endless listing',
    reason: `The store says that the listing of s3://${bucket.settings.name}/${prefix} goes on, but not where to, or without end.`,
    remedy: 'This is a fault of the store (or of a proxy before it): report it there.',
  });
}

/**
 * Reads an object's size, ETag and metadata (S3 API, HeadObject).
 *
 * @returns undefined when there is no such object
 */
export async function headObject(
  bucket: Bucket,
  key: string,
  signal?: AbortSignal,
): Promise<ObjectHead | undefined> {
  try {
    const head = await send(bucket, { permission: 's3:GetObject', key }, (client) =>
      client.send(
        new HeadObjectCommand({ Bucket: bucket.settings.name, Key: key }),
        signal === undefined ? {} : { abortSignal: signal },
      ),
    );
    return { key, size: head.ContentLength ?? 0, etag: head.ETag ?? '', metadata: head.Metadata ?? {} };
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Deletes one object; it is no error when it is gone already (S3 API, DeleteObject). */
export async function deleteObject(bucket: Bucket, key: string): Promise<void> {
  await send(bucket, { permission: 's3:DeleteObject', key }, (client) =>
    client.send(new DeleteObjectCommand({ Bucket: bucket.settings.name, Key: key })),
  );
}

/**
 * Puts an empty object (S3 API, PutObject).
 *
 * @param onBehalfOf - the key that a refusal is explained with: what the user wanted to put
 */
export async function putEmptyObject(bucket: Bucket, key: string, onBehalfOf: string): Promise<void> {
  await send(bucket, { permission: 's3:PutObject', key: onBehalfOf }, (client) =>
    client.send(new PutObjectCommand({ Bucket: bucket.settings.name, Key: key, Body: new Uint8Array(0) })),
  );
}

/**
 * Reads an object once and hashes it, keeping nothing.
 *
 * @returns its SHA-256 in lower-case hex
 */
export async function hashObject(bucket: Bucket, { key, etag }: ListedObject): Promise<string> {
  const answer = await send(bucket, { permission: 's3:GetObject', key }, (client) =>
    client.send(
      new GetObjectCommand({
        Bucket: bucket.settings.name,
        Key: key,
        ...(etag === '' ? {} : { IfMatch: etag }),
      }),
    ),
  );
  const hash = createHash('sha256');
  for await (const chunk of answer.Body as Readable) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
