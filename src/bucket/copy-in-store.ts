/** Requests by which the store itself copies an object. No byte of it passes through this process. */
import { type CompletedPart, CopyObjectCommand, UploadPartCopyCommand } from '@aws-sdk/client-s3';
import { WheelStoreError } from '../errors.ts';
import type { Bucket, RequestPurpose } from './bucket.ts';
import { send } from './client.ts';
import type { Copy } from './copy-order.ts';
import { storeAsSubject } from './names.ts';
import { inParallel, type Part, partsOf } from './parts.ts';
import {
  condition,
  createInParts,
  type MultipartTarget,
  type NewObject,
  objectHeaders,
  putPurpose,
} from './upload.ts';
import { encodeKey } from './url.ts';

const GIB = 1024 ** 3;
/** S3 API, CopyObject: "You can copy an object of up to 5 GB in a single atomic action." */
const MAX_SINGLE_BYTES = 5 * GIB;
/** Large, since nothing has to be sent again after a failure but the request. */
const COPY_PART_BYTES = GIB / 2;
/**
 * Fields that other engines may reject. With the first, AWS computes the SHA-256 of the whole object, even if the source
 * was put in parts. By default, it also copies annotations, which needs s3:GetObjectAnnotation.
 */
const AWS_ONLY = { ChecksumAlgorithm: 'SHA256', AnnotationDirective: 'EXCLUDE' } as const;

/**
 * Asks the store for a copy (S3 API, CopyObject), in parts if the object is larger than one request can copy
 * (UploadPartCopy). The copy has none of the source's headers, metadata and tags. On AWS, the request goes to the region
 * of the copy, wherever the source is.
 *
 * @param upload - the copy; `onlyIfAbsent` says whether its key must be free
 * @returns the SHA-256 of the whole copy, lower-case hex, if the store has computed it
 * @throws WheelStoreError if S3 rejects a request. The status is 412 if there is an object with the key of the copy, or
 *   if the source has another ETag: the response doesn't say which.
 */
export async function copyInStore(
  to: Bucket,
  copy: Copy,
  upload: NewObject,
): Promise<{ readonly sha256: string | undefined }> {
  const { source, maxSingleBytes = MAX_SINGLE_BYTES } = copy;
  const checksum = await (source.size <= maxSingleBytes ? copyAtOnce : copyInParts)(to, copy, upload);
  return { sha256: fromBase64(checksum) };
}

/**
 * Copying may take minutes, during which S3 sends whitespace, after a status of 200. If it fails then, the document is
 * an `<Error>`, which the SDK turns into an exception if it is at the very end of the response (the SDK's
 * `throw200ExceptionsMiddleware`).
 */
async function copyAtOnce(to: Bucket, copy: Copy, upload: NewObject): Promise<string | undefined> {
  const { CopyObjectResult } = await send(to, copyPurpose(copy, upload), (client, options) =>
    client.send(
      new CopyObjectCommand({
        ...objectHeaders(to, upload),
        ...condition(upload),
        ...sourceFields(copy),
        MetadataDirective: 'REPLACE',
        TaggingDirective: 'REPLACE',
        ...(to.honoursConditions ? AWS_ONLY : {}),
      }),
      options,
    ),
  );
  if (to.honoursConditions && CopyObjectResult?.ETag === undefined) throw notACopy(to, upload);
  return CopyObjectResult?.ChecksumSHA256;
}

async function copyInParts(to: Bucket, copy: Copy, upload: NewObject): Promise<string | undefined> {
  const partBytes = Math.min(COPY_PART_BYTES, copy.maxSingleBytes ?? COPY_PART_BYTES);
  const { ChecksumSHA256 } = await createInParts(to, upload, (target) =>
    inParallel(
      partsOf(copy.source.size, partBytes),
      (part, signal) => copyPart(to, copy, target, part, signal),
      copy.signal,
    ),
  );
  return ChecksumSHA256;
}

async function copyPart(
  to: Bucket,
  copy: Copy,
  target: MultipartTarget,
  { number, offset, size }: Part,
  signal: AbortSignal,
): Promise<CompletedPart> {
  const purpose = { ...copyPurpose(copy, copy), bytes: size, signal };
  const { CopyPartResult } = await send(to, purpose, (client, options) =>
    client.send(
      new UploadPartCopyCommand({
        ...target,
        ...sourceFields(copy),
        PartNumber: number,
        CopySourceRange: `bytes=${offset}-${offset + size - 1}`,
      }),
      options,
    ),
  );
  const { ETag, ChecksumCRC32, ChecksumCRC64NVME } = CopyPartResult ?? {};
  return { PartNumber: number, ETag, ChecksumCRC32, ChecksumCRC64NVME };
}

function sourceFields({ from, source: { key, etag } }: Copy) {
  return {
    CopySource: `${from.settings.name}/${encodeKey(key)}`,
    ...(etag === '' ? {} : { CopySourceIfMatch: etag }),
  };
}

/** The store needs time for the bytes, although the request has none. */
function copyPurpose({ from, source }: Copy, upload: Pick<NewObject, 'key' | 'signal'>): RequestPurpose {
  return { ...putPurpose(upload, source.size), copiedFrom: from.uri(source.key) };
}

/** @returns undefined for no checksum, or the checksum of the parts' checksums, which ends in `-` and their number */
function fromBase64(checksum: string | undefined): string | undefined {
  if (checksum === undefined || !/^[A-Za-z0-9+/]{43}=$/.test(checksum)) return undefined;
  return Buffer.from(checksum, 'base64').toString('hex');
}

/** With a cause, since the object may have been created. */
function notACopy(to: Bucket, { key }: NewObject): WheelStoreError {
  return new WheelStoreError(
    {
      title: 'Not an S3 response',
      reason: `${storeAsSubject(to)} did not respond to the copy to ${to.uri(key)} as S3 does.`,
      remedy: 'Run the job again; if it happens again, check any proxy between the runner and the store.',
    },
    { cause: new Error('no CopyObjectResult') },
  );
}
