/** Splits large objects into parts, which are transferred in parallel. */

/** A range of bytes of a file or an object. */
export interface Part {
  /** S3's part number, from 1. */
  readonly number: number;
  /** Bytes from the beginning. */
  readonly offset: number;
  /** Bytes. */
  readonly size: number;
}

const MIB = 1024 * 1024;
/** Small enough to keep the memory for parts in flight low, large enough to hide latency. */
export const PART_BYTES = 8 * MIB;
/** Files up to this size are uploaded in one request. */
export const SINGLE_PUT_BYTES = 16 * MIB;
/** S3 user guide, "Amazon S3 multipart upload limits". */
const MAX_PARTS = 10_000;
const CONCURRENCY = 6;

/**
 * Splits `size` bytes into parts.
 *
 * @param partBytes - bytes per part. Parts are larger if there would be more than S3's limit of 10,000 parts.
 */
export function partsOf(size: number, partBytes = PART_BYTES): Part[] {
  const partSize = Math.max(partBytes, Math.ceil(size / MAX_PARTS / MIB) * MIB);
  const parts: Part[] = [];
  for (let offset = 0; offset < size; offset += partSize) {
    parts.push({ number: parts.length + 1, offset, size: Math.min(partSize, size - offset) });
  }
  return parts;
}

/** Processes one part. */
export type PartWorker<Result> = (part: Part, signal: AbortSignal) => Promise<Result>;

/**
 * Processes the parts in order, a few at a time. The first failure stops the others. All workers have stopped when this
 * returns or throws, so that none sends anything during clean-up.
 *
 * @returns the results in the order of the parts
 */
export async function inParallel<Result>(
  parts: readonly Part[],
  worker: PartWorker<Result>,
  signal: AbortSignal,
): Promise<Result[]> {
  const failure = new AbortController();
  const combined = AbortSignal.any([signal, failure.signal]);
  const results = new Array<Result>(parts.length);
  let next = 0;
  const work = async () => {
    while (next < parts.length) {
      combined.throwIfAborted();
      const part = parts[next++]!;
      results[part.number - 1] = await worker(part, combined);
    }
  };
  const workers = Array.from({ length: Math.min(CONCURRENCY, parts.length) }, () =>
    work().catch((error: unknown) => {
      failure.abort(error);
      throw error;
    }),
  );
  const settled = await Promise.allSettled(workers);
  signal.throwIfAborted();
  if (failure.signal.aborted) throw failure.signal.reason;
  for (const worker of settled) if (worker.status === 'rejected') throw worker.reason;
  return results;
}
