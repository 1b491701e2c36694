/** Creates buckets for tests, and accesses them directly, without the action. */
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { clientOf, createBucket, startS3Server } from './s3-server.ts';

/** A bucket on the real server. */
export interface TestBucket {
  readonly name: string;
  readonly endpoint: string;
  /** Environment variables with the credentials for a step. */
  readonly env: Readonly<Record<string, string>>;
  /** The inputs of a step that uses this bucket. */
  readonly inputs: Readonly<Record<string, string>>;
  keys(prefix?: string): Promise<string[]>;
  openUploads(): Promise<string[]>;
  put(key: string, body: Uint8Array | string, metadata?: Record<string, string>): Promise<void>;
  get(key: string): Promise<Buffer>;
  head(key: string): Promise<HeadObjectCommandOutput>;
}

/** Creates a bucket on the server that jest's global set-up started. */
export async function makeBucket(options: { readonly isPublic?: boolean } = {}): Promise<TestBucket> {
  const access = await startS3Server();
  const name = `wheels-${randomUUID().slice(0, 13)}`;
  await createBucket(access, name, options.isPublic === true);
  const client = clientOf(access);
  const at = (Key: string) => ({ Bucket: name, Key });
  return {
    name,
    endpoint: access.endpoint,
    env: { AWS_ACCESS_KEY_ID: access.accessKeyId, AWS_SECRET_ACCESS_KEY: access.secretAccessKey },
    inputs: { bucket: name, 'endpoint-url': access.endpoint },
    async keys(prefix = '') {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: name, Prefix: prefix }));
      return Contents.map(({ Key }) => Key!).sort();
    },
    async openUploads() {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: name }));
      return Uploads.map(({ Key }) => Key!);
    },
    async put(key, body, metadata = {}) {
      await client.send(
        new PutObjectCommand({
          ...at(key),
          Body: Buffer.from(body as string),
          ContentLength: body.length,
          Metadata: metadata,
        }),
      );
    },
    async get(key) {
      const { Body } = await client.send(new GetObjectCommand(at(key)));
      return buffer(Body as Readable);
    },
    head: (key) => client.send(new HeadObjectCommand(at(key))),
  };
}
