/** Small text objects, read whole and put on conditions. */
import type { Readable } from 'node:stream';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { readAtMost } from '../untrusted/bounded-read.ts';
import type { Bucket } from './bucket.ts';
import { send } from './client.ts';
import { isAbsent } from './failures.ts';
import { writingFields } from './object-settings.ts';

/** A text, how it is served, and the ETag that it had when it was read. */
export interface StoredText {
  /** Undefined if the object is larger than any text that this action puts; then it is not read. */
  readonly text: string | undefined;
  readonly etag: string;
  readonly contentType: string;
  readonly cacheControl: string;
  /** Whether the object has headers that `putText` never sends: a content encoding, or a redirect of a website. */
  readonly hasMoreHeaders: boolean;
}

/** An index page takes about 1 kB per wheel. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;

/** What must hold for a put to happen; nothing: it happens. */
export interface PutCondition {
  /** The ETag that the object must have. */
  readonly ifMatch?: string;
  /** `*`: the object must not be there. */
  readonly ifNoneMatch?: string;
}

/**
 * Reads a text (S3 API, GetObject).
 *
 * @returns undefined when there is no such object
 * @throws WheelStoreError when S3 refuses, or has no such bucket
 */
export async function getText(
  bucket: Bucket,
  key: string,
  signal: AbortSignal,
): Promise<StoredText | undefined> {
  try {
    return await send(bucket, { permission: 's3:GetObject', key, signal }, async (client, options) => {
      const command = new GetObjectCommand({ Bucket: bucket.settings.name, Key: key });
      const answer = await client.send(command, options);
      return {
        text: await readText(answer.Body as Readable, answer.ContentLength ?? 0),
        etag: answer.ETag ?? '',
        contentType: answer.ContentType ?? '',
        cacheControl: answer.CacheControl ?? '',
        hasMoreHeaders: Boolean(answer.ContentEncoding || answer.WebsiteRedirectLocation),
      };
    });
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** @returns undefined if the body is longer than any of our texts; it is then not read */
async function readText(body: Readable, announced: number): Promise<string | undefined> {
  if (announced <= MAX_TEXT_BYTES) return (await readAtMost(body, MAX_TEXT_BYTES))?.toString('utf8');
  body.destroy();
  return undefined;
}

/**
 * Puts a text (S3 API, PutObject; user guide, "Conditional writes").
 *
 * @throws WheelStoreError, with status 412 or 409 when the condition did not hold
 */
export async function putText(
  bucket: Bucket,
  key: string,
  {
    text,
    contentType,
    cacheControl,
  }: { readonly text: string; readonly contentType: string; readonly cacheControl: string },
  { ifMatch, ifNoneMatch }: PutCondition,
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
        ...(ifMatch === undefined ? {} : { IfMatch: ifMatch }),
        ...(ifNoneMatch === undefined ? {} : { IfNoneMatch: ifNoneMatch }),
      }),
      options,
    ),
  );
}
