/** Stops the server that start-server.ts started. */
export default async function stop(): Promise<void> {
  await (globalThis as { stopS3Server?: () => Promise<void> }).stopS3Server?.();
}
