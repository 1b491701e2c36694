/** Reads untrusted streams up to a limit. */

/**
 * Reads a stream to its end.
 *
 * @returns undefined if it holds more than `maxBytes`; the rest is not read then
 */
export async function readAtMost(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
