/**
 * The SHA-256 of a file while its parts are written out of order. A hash needs the bytes in order, so each part is read
 * back from the file once all parts before it are there.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { hashRange } from './hash-range.ts';
import type { Part } from './parts.ts';

/** Hashes a file while its parts arrive. */
export interface FileHash {
  /** Call this once a part has been written. */
  arrived(part: Part): void;
  /** The SHA-256 in lower-case hex. Call it after all parts have arrived. */
  digest(): Promise<string>;
  /** Stops hashing, with or without a digest. After that, the file may be closed. */
  close(): Promise<void>;
}

/** From this size on, hashing in a separate thread saves more time than the thread takes to start. */
const THREAD_FROM_BYTES = 64 * 1024 * 1024;

/**
 * Hashes an open file of `size` bytes: a large one in a separate thread, which reads from the same descriptor.
 *
 * @throws errors of reading the file, from `digest`
 */
export function followFile(file: FileHandle, size: number): FileHash {
  return size < THREAD_FROM_BYTES ? followHere(file) : followInThread(file);
}

function followHere(file: FileHandle): FileHash {
  const hash = createHash('sha256');
  return inOrder(
    (part) => hashRange(hash, file.fd, part),
    async () => hash.digest('hex'),
    async () => undefined,
  );
}

/** Messages to the thread: a range of the file to hash, or the request for the digest. */
export type ThreadMessage = Pick<Part, 'offset' | 'size'> | 'digest';

function followInThread(file: FileHandle): FileHash {
  // All entries of the bundle are in one folder, whichever chunk this code is in.
  const thread = new Worker(join(dirname(process.argv[1] ?? ''), 'hash.js'), { workerData: file.fd });
  const failed = once(thread, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => undefined);
  const send = (message: ThreadMessage) => thread.postMessage(message);
  return inOrder(
    send,
    async () => {
      send('digest');
      const [digest] = await Promise.race([once(thread, 'message'), failed]);
      return digest as string;
    },
    async () => void (await thread.terminate()),
  );
}

/** Hashes each part once all parts before it have arrived. */
function inOrder(
  hashPart: (part: Part) => void,
  digest: () => Promise<string>,
  close: () => Promise<void>,
): FileHash {
  const waiting = new Map<number, Part>();
  let next = 1;
  return {
    arrived(part) {
      waiting.set(part.number, part);
      for (let ready = waiting.get(next); ready !== undefined; ready = waiting.get(next)) {
        waiting.delete(next);
        next += 1;
        hashPart(ready);
      }
    },
    digest,
    close,
  };
}
