/**
 * Starts the S3 server of the tests with an empty bucket, prints its environment variables, and runs until it is
 * stopped (Ctrl-C).
 *
 *     npm run serve [-- BUCKET]
 */
import { once } from 'node:events';
import { createBucket, startS3Server } from './s3-server.ts';

const bucket = process.argv[2] ?? 'wheels';
const server = await startS3Server();
try {
  await createBucket(server, bucket);
  console.log(
    [
      `AWS_ENDPOINT_URL_S3=${server.endpoint}`,
      `AWS_ACCESS_KEY_ID=${server.accessKeyId}`,
      `AWS_SECRET_ACCESS_KEY=${server.secretAccessKey}`,
      `AWS_REGION=${server.region}`,
      `Ready: bucket ${bucket}`,
    ].join('\n'),
  );
  const stopped = ['SIGINT', 'SIGTERM'].map((signal) => once(process, signal));
  // Waiting for a signal does not keep the process alive.
  const keepAlive = setInterval(() => undefined, 60_000);
  await Promise.race(stopped);
  clearInterval(keepAlive);
} finally {
  await server.stop();
}
