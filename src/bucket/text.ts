/** Small text objects, read whole and put on conditions. */
import type { Readable } from 'node:stream';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { type Bucket, send } from './client.ts';
import { collectDocument } from './deadline.ts';
import { isAbsent } from './failures.ts';

/** A text and the ETag that it had when it was read. */
export interface StoredText {
  readonly text: string;
  readonly etag: string;
}

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
    const { bytes, ETag } = await send(
      bucket,
      { permission: 's3:GetObject', key, signal },
      async (client, options) => {
        const command = new GetObjectCommand({ Bucket: bucket.settings.name, Key: key });
        const { Body, ETag } = await client.send(command, options);
        return { bytes: await collectDocument(Body as Readable), ETag };
      },
    );
    return { text: Buffer.from(bytes).toString('utf8'), etag: ETag ?? '' };
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
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
        ...(ifMatch === undefined ? {} : { IfMatch: ifMatch }),
        ...(ifNoneMatch === undefined ? {} : { IfNoneMatch: ifNoneMatch }),
      }),
      options,
    ),
  );
}
