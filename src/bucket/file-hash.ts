/**
 * The SHA-256 of a file that is still being written, out of order. The hash needs the bytes in order, so it follows
 * behind, through the file.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { hashStretch } from './hash-stretch.ts';
import type { Part } from './parts.ts';

/** Follows a file while its parts arrive. */
export interface FileHash {
  /** Says that a part is in the file. */
  arrived(part: Part): void;
  /** Once all parts have arrived: lower-case hex. */
  digest(): Promise<string>;
  /** Stops, whether there is a digest or not; the file may be closed then. */
  close(): Promise<void>;
}

/** From this size on, a thread that hashes while others receive takes less time than it takes to start. */
const THREAD_FROM_BYTES = 64 * 1024 * 1024;

/**
 * Follows an open file of `size` bytes: a large one in a thread of its own, which reads it by the same descriptor.
 *
 * @throws whatever reading the file throws, from `digest`
 */
export function followFile(file: FileHandle, size: number): FileHash {
  return size < THREAD_FROM_BYTES ? followHere(file) : followInThread(file);
}

function followHere(file: FileHandle): FileHash {
  const hash = createHash('sha256');
  return inOrder(
    (part) => hashStretch(hash, file.fd, part),
    async () => hash.digest('hex'),
    async () => undefined,
  );
}

/** Messages to the thread: a stretch of the file to hash, or that it was the last. */
export type ThreadMessage = Pick<Part, 'offset' | 'size'> | 'digest';

function followInThread(file: FileHandle): FileHash {
  // The bundle has its entries in one folder, whichever chunk this is in.
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

/** Hands each part on as soon as all before it have arrived. */
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
