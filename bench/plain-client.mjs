/** What most actions ship: client-s3, bundled in the usual way. Lists the commit's folder and sends one HeadObject. */
import { HeadObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';

const client = new S3Client({ forcePathStyle: true });
const Bucket = process.env.BENCH_BUCKET;
const { Contents = [] } = await client.send(
  new ListObjectsV2Command({ Bucket, Prefix: process.env.BENCH_PREFIX }),
);
if (Contents[0] !== undefined) await client.send(new HeadObjectCommand({ Bucket, Key: Contents[0].Key }));
console.log(Contents.length);
