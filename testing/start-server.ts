/** Starts the S3 server that all test files share, unless the tests that need it are excluded. */
import { startS3Server } from './s3-server.ts';

export default async function start(
  _: unknown,
  { testPathIgnorePatterns }: { readonly testPathIgnorePatterns: readonly string[] },
): Promise<void> {
  if (testPathIgnorePatterns.some((pattern) => pattern.startsWith('contract'))) return;
  const server = await startS3Server();
  process.env.WHEEL_STORE_TEST_ENDPOINT = server.endpoint;
  process.env.WHEEL_STORE_TEST_REGION = server.region;
  process.env.WHEEL_STORE_TEST_ACCESS_KEY_ID = server.accessKeyId;
  process.env.WHEEL_STORE_TEST_SECRET_ACCESS_KEY = server.secretAccessKey;
  Object.assign(globalThis, { stopS3Server: () => server.stop() });
}
