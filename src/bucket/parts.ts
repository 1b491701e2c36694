/** Large objects move as parts, several at a time. */

/** A run of bytes of a file or an object. */
export interface Part {
  /** 1, 2, 3 …: S3's part number. */
  readonly number: number;
  /** Bytes from the beginning. */
  readonly offset: number;
  /** Bytes. */
  readonly size: number;
}

const MIB = 1024 * 1024;
/** Small enough that the parts in flight stay far below the memory budget, large enough to hide latency. */
export const PART_BYTES = 8 * MIB;
/** Up to this size a file goes up in one request. */
export const SINGLE_PUT_BYTES = 16 * MIB;
/** S3 user guide, "Amazon S3 multipart upload limits". */
const MAX_PARTS = 10_000;
const CONCURRENCY = 6;

/** Cuts `size` bytes into parts: 8 MiB each, larger where S3's limit of 10,000 parts asks for it. */
export function partsOf(size: number): Part[] {
  const partSize = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS / MIB) * MIB);
  const parts: Part[] = [];
  for (let offset = 0; offset < size; offset += partSize) {
    parts.push({ number: parts.length + 1, offset, size: Math.min(partSize, size - offset) });
  }
  return parts;
}

/** What one of several workers does with each part that falls to it. */
export type PartWorker<Result> = (part: Part, signal: AbortSignal) => Promise<Result>;

/**
 * Works through the parts in order, a few at a time. The first failure stops the others; all have come to rest
 * when this returns or throws, so that nothing is sent behind a clean-up's back.
 *
 * @param makeWorker - called once per worker, which may keep a buffer of its own
 * @returns the results in the order of the parts
 */
export async function inParallel<Result>(
  parts: readonly Part[],
  makeWorker: () => PartWorker<Result>,
  signal: AbortSignal,
): Promise<Result[]> {
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  const results = new Array<Result>(parts.length);
  let next = 0;
  const work = async () => {
    const worker = makeWorker();
    while (next < parts.length) {
      either.throwIfAborted();
      const part = parts[next++]!;
      results[part.number - 1] = await worker(part, either);
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
