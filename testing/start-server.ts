/** Starts the one S3 server that all test files share. */
import { startS3Server } from './s3-server.ts';

export default async function start(): Promise<void> {
  const server = await startS3Server();
  process.env.WHEEL_STORE_TEST_ENDPOINT = server.endpoint;
  process.env.WHEEL_STORE_TEST_REGION = server.region;
  process.env.WHEEL_STORE_TEST_ACCESS_KEY_ID = server.accessKeyId;
  process.env.WHEEL_STORE_TEST_SECRET_ACCESS_KEY = server.secretAccessKey;
  Object.assign(globalThis, { stopS3Server: () => server.stop() });
}
