/** A bucket with a function as its store: requests go through the SDK, but not to the network. */
import { Readable } from 'node:stream';
import type { Bucket, BucketSettings } from '../src/bucket/bucket.ts';
import { openBucket } from '../src/bucket/client.ts';

/** A bucket on AWS, accessed without credentials. */
export const SETTINGS: BucketSettings = {
  name: 'my-wheels',
  region: 'us-west-2',
  isRegionGiven: false,
  hasEnvironmentKeys: false,
  endpoint: undefined,
  pathStyle: undefined,
  anonymous: true,
  publicUrl: undefined,
  presignSeconds: undefined,
  writing: {
    encryption: undefined,
    kmsKeyId: undefined,
    acl: undefined,
    storageClass: undefined,
    tagging: undefined,
  },
  requesterPays: false,
  hasChecksumSetting: false,
  requestTimeout: 60,
  proxy: {},
  credentialsRemedy: '',
};

/** A request of the SDK. */
export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A response; with a code, it contains an S3 error document. An Error is thrown, like that of a lost connection. */
export type Answer = { readonly status: number; readonly code?: string; readonly message?: string } | Error;

/**
 * Opens a bucket whose requests are answered by a function.
 *
 * @param over - overrides of {@link SETTINGS}
 * @returns the bucket, and the requests so far, including retries
 */
export async function answeringBucket(
  answer: (request: AskedRequest, nth: number) => Answer,
  over: Partial<BucketSettings> = {},
): Promise<{ bucket: Bucket; requests: readonly AskedRequest[] }> {
  const bucket = await openBucket({ ...SETTINGS, ...over });
  const requests: AskedRequest[] = [];
  bucket.client.config.requestHandler.handle = async (request) => {
    const asked = { ...request, headers: lowerCase(request.headers) };
    requests.push(asked);
    const given = answer(asked, requests.length);
    if (given instanceof Error) throw given;
    const { status, code, message = '' } = given;
    const document =
      code === undefined ? '' : `<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
    const headers = { etag: '"0123"', 'x-amz-request-id': 'id' };
    return {
      response: { statusCode: status, reason: '', headers, body: Readable.from([Buffer.from(document)]) },
    };
  };
  return { bucket, requests };
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
