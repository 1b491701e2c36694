/** Reads small text objects, and replaces them only if they are unchanged since. */
import type { Readable } from 'node:stream';
import { GetObjectCommand, PutObjectCommand, type PutObjectCommandInput } from '@aws-sdk/client-s3';
import { readAtMost } from '../untrusted/bounded-read.ts';
import type { Bucket } from './bucket.ts';
import { send } from './client.ts';
import { isAbsent, refusesCondition, statusOf } from './failures.ts';
import { writingFields } from './object-settings.ts';
import { readBody } from './responses.ts';

/** A text, its headers, and the ETag that it had when it was read. */
export interface StoredText {
  /** undefined if the object is larger than any text that this action puts. Then it is not read. */
  readonly text: string | undefined;
  readonly etag: string;
  readonly contentType: string;
  readonly cacheControl: string;
  /** Whether the object has headers that `replaceText` never sends: a content encoding or a website redirect. */
  readonly hasMoreHeaders: boolean;
}

/** An index page takes about 1 kB per wheel. */
export const MAX_TEXT_BYTES = 8 * 1024 * 1024;

/** A text to put, and its headers. */
export type NewText = Pick<StoredText, 'contentType' | 'cacheControl'> & { readonly text: string };

/**
 * Reads a text (S3 API, GetObject).
 *
 * @returns undefined if there is no such object
 * @throws WheelStoreError if S3 rejects the request, or there is no such bucket
 */
export async function getText(
  bucket: Bucket,
  key: string,
  signal: AbortSignal,
): Promise<StoredText | undefined> {
  try {
    return await send(bucket, { permission: 's3:GetObject', key, signal }, async (client, options) => {
      const command = new GetObjectCommand({ Bucket: bucket.settings.name, Key: key });
      const response = await client.send(command, options);
      return {
        text: await readBody(response.Body, (body) => readText(body, response.ContentLength ?? 0)),
        etag: response.ETag ?? '',
        contentType: response.ContentType ?? '',
        cacheControl: response.CacheControl ?? '',
        hasMoreHeaders: Boolean(response.ContentEncoding || response.WebsiteRedirectLocation),
      };
    });
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** @returns undefined if the body is longer than any of our texts. Then it is not read. */
async function readText(body: Readable, announced: number): Promise<string | undefined> {
  if (announced <= MAX_TEXT_BYTES) return (await readAtMost(body, MAX_TEXT_BYTES))?.toString('utf8');
  body.destroy();
  return undefined;
}

/**
 * Puts a text if the object was neither replaced nor deleted since it was read (S3 user guide, "Conditional writes").
 * If the store rejects conditions, puts it without one. If the store ignores them, this may overwrite another step's
 * text: see {@link Bucket.honoursConditions}.
 *
 * @param before - the result of {@link getText}
 * @returns `changed` if the object has changed. Then nothing was written.
 * @throws WheelStoreError if the store rejects the put for another reason, or fails
 */
export async function replaceText(
  bucket: Bucket,
  key: string,
  text: NewText,
  before: StoredText | undefined,
  signal: AbortSignal,
): Promise<'written' | 'changed'> {
  const put = (condition: PutCondition) => putText(bucket, key, text, condition, signal);
  try {
    if (before === undefined) await put({ IfNoneMatch: '*' });
    else await putOver(before.etag, put, bucket);
  } catch (error) {
    if (hasChanged(error, before)) return 'changed';
    if (!refusesCondition(error, bucket)) throw error;
    await put({});
  }
  return 'written';
}

/**
 * Like {@link replaceText}, for a key that the store may not support.
 *
 * @returns `refused` if the store rejects the request as invalid
 * @throws WheelStoreError if it fails, or rejects the request for another reason
 */
export async function tryReplaceText(
  ...parameters: Parameters<typeof replaceText>
): Promise<'written' | 'changed' | 'refused'> {
  try {
    return await replaceText(...parameters);
  } catch (error) {
    const status = statusOf(error);
    if (status === 400 || status === 404 || status === 405) return 'refused';
    throw error;
  }
}

/** The condition of a put; empty: unconditional. */
type PutCondition = Pick<PutObjectCommandInput, 'IfMatch' | 'IfNoneMatch'>;

/** Ceph's radosgw 16 matches the ETag in `If-Match` only without its quotes. */
async function putOver(
  etag: string,
  put: (condition: PutCondition) => Promise<void>,
  { customEndpoint }: Bucket,
): Promise<void> {
  try {
    await put({ IfMatch: etag });
  } catch (error) {
    if (customEndpoint === undefined || statusOf(error) !== 412) throw error;
    await put({ IfMatch: etag.replaceAll('"', '') });
  }
}

/** Whether the condition of a put failed: also 404 if the object was deleted, and 409 if another put is in progress. */
function hasChanged(error: unknown, before: StoredText | undefined): boolean {
  const status = statusOf(error);
  return status === 412 || status === 409 || (before !== undefined && isAbsent(error));
}

async function putText(
  bucket: Bucket,
  key: string,
  { text, contentType, cacheControl }: NewText,
  condition: PutCondition,
  signal: AbortSignal,
): Promise<void> {
  await send(bucket, { permission: 's3:PutObject', key, signal }, (client, options) =>
    client.send(
      new PutObjectCommand({
        Bucket: bucket.settings.name,
        Key: key,
        Body: Buffer.from(text),
        ContentType: contentType,
        CacheControl: cacheControl,
        ...writingFields(bucket.settings.writing, 'small'),
        ...condition,
      }),
      options,
    ),
  );
}
