/** Small requests on objects: list, head, delete, hash. */
import { createHash } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { WheelStoreError } from '../errors.ts';
import type { Bucket } from './bucket.ts';
import { send } from './client.ts';
import { isAbsent } from './failures.ts';
import { storeAsSubject } from './names.ts';
import { writingFields } from './object-settings.ts';
import { readBody } from './responses.ts';

/** An object as a listing shows it. */
export interface ListedObject {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  readonly etag: string;
  /** When it was put; undefined if the store doesn't say. */
  readonly lastModified: Date | undefined;
}

/** An object as the response to a HEAD shows it. */
export interface ObjectHead extends ListedObject {
  /** The `x-amz-meta-*` headers, names in lower case. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A store may return empty pages while it skips deleted keys, but not endlessly. */
const MAX_EMPTY_PAGES = 100;
/** A million objects of any kind. */
const MAX_PAGES = 1_000;
/** A commit has as many wheels as its matrix has jobs, times the number of runs. */
const MAX_KEPT = 20_000;
/** Characters. Engines encode a key of up to 1,024 bytes in it. All tokens of a listing are kept in memory. */
const MAX_TOKEN_LENGTH = 16_384;
/** A listing of many pages may take this many times the limit of one request. */
const MAX_REQUEST_TIMES = 10;

/** The listing of a commit rarely has more than one page. */
const PAGES_BEFORE_HEAP_LIMIT = 2;

/** Which objects of a listing to return. */
export interface ListingOptions {
  readonly signal: AbortSignal;
  /** Whether to return a key. The others are not kept in memory. */
  readonly keep: (key: string) => boolean;
  /** Only objects directly in this folder, not in subfolders. The key prefix must end in a slash. */
  readonly shallow?: boolean;
  /** How many objects to keep in memory, and the error if there are more; by default, what a commit has. */
  readonly most?: { readonly objects: number; readonly exceeded: () => WheelStoreError };
}

/**
 * Lists the objects whose keys begin with `prefix` and that `keep` accepts, page by page (S3 API, ListObjectsV2).
 *
 * @throws WheelStoreError if S3 rejects the request, if a page repeats, if the listing takes too long, has more than a
 *   million objects, or more than 20,000 (or `most`) to keep
 */
export async function listObjects(
  bucket: Bucket,
  prefix: string,
  options: ListingOptions,
): Promise<ListedObject[]> {
  const { most = { objects: MAX_KEPT, exceeded: () => tooManyWheels(bucket, prefix) } } = options;
  const found = new Map<string, ListedObject>();
  const tokens = new Set<string>();
  // Not performance.now(), which loads half a dozen of Node's modules.
  const end = process.uptime() + bucket.settings.requestTimeout * MAX_REQUEST_TIMES;
  let token: string | undefined;
  let before = '';
  let emptyPages = 0;
  do {
    const page = await listPage(bucket, prefix, token, options);
    const ends = `${page.objects[0]?.key}\n${page.objects.at(-1)?.key}`;
    for (const object of page.objects) if (options.keep(object.key)) found.set(object.key, detached(object));
    if (found.size > most.objects) throw most.exceeded();
    emptyPages = page.objects.length === 0 ? emptyPages + 1 : 0;
    const isStuck = tokens.has(page.next ?? '') || (emptyPages === 0 && ends === before);
    const isTooLong = emptyPages > MAX_EMPTY_PAGES || tokens.size + 1 >= MAX_PAGES || process.uptime() > end;
    if (page.next !== undefined && (isStuck || isTooLong)) throw endlessListing(bucket, prefix);
    before = ends;
    token = page.next;
    tokens.add(token ?? '');
    if (tokens.size === PAGES_BEFORE_HEAP_LIMIT) limitYoungGeneration();
  } while (token !== undefined);
  return [...found.values()];
}

/** Copies the strings. In V8, a substring keeps the whole text of the page in memory. */
function detached({ key, etag, ...rest }: ListedObject): ListedObject {
  const copy = (text: string) => Buffer.from(text).toString();
  return { ...rest, key: copy(key), etag: copy(etag) };
}

/**
 * While pages come in, V8 doubles the heap of its young generation repeatedly, up to 100 MiB, although nothing of the
 * pages is kept. Limiting its growth has no measurable cost.
 */
function limitYoungGeneration(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
}

async function listPage(
  bucket: Bucket,
  prefix: string,
  token: string | undefined,
  { shallow = false, signal }: ListingOptions,
): Promise<{ objects: ListedObject[]; next: string | undefined }> {
  const response = await send(
    bucket,
    { permission: 's3:ListBucket', key: prefix, signal },
    (client, options) =>
      client.send(
        new ListObjectsV2Command({
          Bucket: bucket.settings.name,
          Prefix: prefix,
          // Keys may contain characters that XML 1.0 doesn't allow.
          EncodingType: 'url',
          ...(shallow ? { Delimiter: '/' } : {}),
          ...(token === undefined ? {} : { ContinuationToken: token }),
        }),
        options,
      ),
  );
  // The SDK accepts any 200, so a sign-in page or an empty body would look like an empty listing. But every real
  // listing has IsTruncated (S3 API, ListObjectsV2).
  if (response.IsTruncated === undefined) throw notAListing(bucket);
  const decode = response.EncodingType === 'url' ? decodeListedKey : (key: string) => key;
  const objects = (response.Contents ?? []).map((object) => ({
    key: decode(object.Key ?? ''),
    size: object.Size ?? 0,
    etag: object.ETag ?? '',
    lastModified: object.LastModified,
  }));
  if (response.IsTruncated !== true) return { objects, next: undefined };
  const next = response.NextContinuationToken;
  if (next === undefined || next.length > MAX_TOKEN_LENGTH) throw endlessListing(bucket, prefix);
  return { objects, next };
}

/** S3 encodes listed keys as in a query string: a space is `+`, a plus is `%2B`. */
function decodeListedKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return key;
  }
}

function notAListing(bucket: Bucket): WheelStoreError {
  return new WheelStoreError({
    title: 'Not an S3 response',
    reason: `${storeAsSubject(bucket)} did not respond to a listing of '${bucket.settings.name}' as S3 does.`,
    remedy: "Check that 'endpoint-url' is an S3 endpoint, and that no proxy or sign-in page answers instead.",
  });
}

function endlessListing(bucket: Bucket, prefix: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Endless listing',
    reason: `The listing of ${bucket.uri(prefix)} does not end, or the store does not say where it continues.`,
    remedy: 'This is a bug in the store, or in a proxy in front of it: report it there.',
  });
}

function tooManyWheels(bucket: Bucket, prefix: string): WheelStoreError {
  return new WheelStoreError({
    title: 'Too many wheels',
    reason: `${bucket.uri(prefix)} holds more than ${MAX_KEPT} wheels; a commit has as many as its matrix has jobs.`,
    remedy: 'Find out what writes there and delete the surplus, or use another prefix.',
  });
}

/**
 * Reads an object's size, ETag and metadata (S3 API, HeadObject).
 *
 * @returns undefined if there is no such object
 */
export async function headObject(
  bucket: Bucket,
  key: string,
  signal: AbortSignal,
): Promise<ObjectHead | undefined> {
  try {
    const head = await send(bucket, { permission: 's3:GetObject', key, signal }, (client, options) =>
      client.send(new HeadObjectCommand({ Bucket: bucket.settings.name, Key: key }), options),
    );
    return {
      key,
      size: head.ContentLength ?? 0,
      etag: head.ETag ?? '',
      lastModified: head.LastModified,
      metadata: head.Metadata ?? {},
    };
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Deletes one object. It is not an error if there is none (S3 API, DeleteObject). */
export async function deleteObject(bucket: Bucket, key: string, signal: AbortSignal): Promise<void> {
  await send(bucket, { permission: 's3:DeleteObject', key, signal }, (client, options) =>
    client.send(new DeleteObjectCommand({ Bucket: bucket.settings.name, Key: key }), options),
  );
}

/**
 * Puts an empty object (S3 API, PutObject).
 *
 * @param onBehalfOf - the key to show in an error: that of the object that the user wanted to put
 */
export async function putEmptyObject(
  bucket: Bucket,
  key: string,
  onBehalfOf: string,
  signal: AbortSignal,
): Promise<void> {
  await send(bucket, { permission: 's3:PutObject', key: onBehalfOf, signal }, (client, options) =>
    client.send(
      new PutObjectCommand({
        Bucket: bucket.settings.name,
        Key: key,
        Body: new Uint8Array(0),
        ...writingFields(bucket.settings.writing, 'small'),
      }),
      options,
    ),
  );
}

/**
 * Hashes an object without keeping it.
 *
 * @returns its SHA-256 in lower-case hex
 */
export async function hashObject(
  bucket: Bucket,
  { key, etag, size }: ListedObject,
  signal: AbortSignal,
): Promise<string> {
  const purpose = { permission: 's3:GetObject', key, bytes: size, signal };
  return send(bucket, purpose, async (client, options) => {
    const response = await client.send(
      new GetObjectCommand({
        Bucket: bucket.settings.name,
        Key: key,
        ...(etag === '' ? {} : { IfMatch: etag }),
      }),
      options,
    );
    return readBody(response.Body, async (body) => {
      const hash = createHash('sha256');
      for await (const chunk of body) hash.update(chunk as Buffer);
      return hash.digest('hex');
    });
  });
}
