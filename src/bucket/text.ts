/** Small text objects, read whole and replaced only as they were read. */
import type { Readable } from 'node:stream';
import { GetObjectCommand, PutObjectCommand, type PutObjectCommandInput } from '@aws-sdk/client-s3';
import { readAtMost } from '../untrusted/bounded-read.ts';
import type { Bucket } from './bucket.ts';
import { send } from './client.ts';
import { isAbsent, refusesCondition, statusOf } from './failures.ts';
import { writingFields } from './object-settings.ts';

/** A text, how it is served, and the ETag that it had when it was read. */
export interface StoredText {
  /** Undefined if the object is larger than any text that this action puts; then it is not read. */
  readonly text: string | undefined;
  readonly etag: string;
  readonly contentType: string;
  readonly cacheControl: string;
  /** Whether the object has headers that `replaceText` never sends: a content encoding, or a redirect of a website. */
  readonly hasMoreHeaders: boolean;
}

/** An index page takes about 1 kB per wheel. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;

/** A text to put, and how it is to be served. */
export type NewText = Pick<StoredText, 'contentType' | 'cacheControl'> & { readonly text: string };

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
 * Puts a text if nobody else put or deleted the object since it was read (S3 user guide, "Conditional writes"). A
 * store that refuses conditions gets it without, and one that ignores them may overwrite what another put:
 * see {@link Bucket.honoursConditions}.
 *
 * @param before - what {@link getText} returned
 * @returns `changed` if somebody else was faster; nothing was written then
 * @throws WheelStoreError when the store refuses for another reason, or fails
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

/** What must hold for a put to happen; nothing: it happens. */
type PutCondition = Pick<PutObjectCommandInput, 'IfMatch' | 'IfNoneMatch'>;

/** Ceph's radosgw 16 knows an ETag in a put's condition only without the quotes that belong to it. */
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

/** Whether the condition of a put did not hold: 404 if what was read is gone, 409 if another put is under way. */
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
