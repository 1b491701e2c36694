/** Simulates a connection to a distant server, and counts requests. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A proxy with a round-trip time. */
export interface FarAway extends AsyncDisposable {
  readonly endpoint: string;
  /** The number of requests since the last call. */
  requests(): number;
}

/**
 * Forwards bytes with a delay of half a round trip. The first bytes of a connection are delayed by a whole round trip
 * more, for the handshake.
 *
 * @param roundTrip - milliseconds
 */
export async function startFarAway(endpoint: string, roundTrip: number): Promise<FarAway> {
  const { hostname, port } = new URL(endpoint);
  let count = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    const opened = performance.now();
    forward(
      near,
      far,
      () => Math.max(roundTrip / 2, opened + 1.5 * roundTrip - performance.now()),
      (chunk) => {
        count +=
          chunk.toString('latin1').match(/(^|\n)(GET|HEAD|PUT|POST|DELETE) \S+ HTTP\/1\.1\r\n/g)?.length ?? 0;
      },
    );
    forward(far, near, () => roundTrip / 2);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    requests() {
      const seen = count;
      count = 0;
      return seen;
    },
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

function forward(from: Socket, to: Socket, delay: () => number, onChunk?: (chunk: Buffer) => void): void {
  from.on('data', (chunk: Buffer) => {
    onChunk?.(chunk);
    setTimeout(() => to.writable && to.write(chunk), delay());
  });
  from.on('error', () => to.destroy());
  from.on('close', () => setTimeout(() => to.end(), delay()));
}
