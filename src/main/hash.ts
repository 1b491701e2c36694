/** The thread that hashes a large file while the rest is still downloading. */
import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadMessage } from '../bucket/file-hash.ts';
import { hashRange } from '../bucket/hash-range.ts';

const hash = createHash('sha256');
parentPort?.on('message', (message: ThreadMessage) => {
  if (message === 'digest') parentPort?.postMessage(hash.digest('hex'));
  else hashRange(hash, workerData, message);
});
