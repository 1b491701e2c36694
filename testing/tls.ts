/** A TLS server in front of the S3 server, with a certificate from a private authority, and a forward proxy. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { ROOT } from './runner.ts';

const FIXTURES = join(ROOT, 'testing/fixtures/tls');

/** The certificate of the private authority. */
export const AUTHORITY = join(FIXTURES, 'ca.pem');

/** A running server, and the targets of its requests. */
export interface ProxyServer extends AsyncDisposable {
  readonly port: number;
  /** Requested targets, as host and port. */
  readonly asked: readonly string[];
}

/** Accepts TLS connections and forwards their contents to `endpoint`. */
export async function startTls(endpoint: string): Promise<ProxyServer> {
  const { hostname, port } = new URL(endpoint);
  const key = readFileSync(join(FIXTURES, 'server.key'));
  const cert = readFileSync(join(FIXTURES, 'server.pem'));
  const server = createTlsServer({ key, cert }, (socket) => {
    const inner = connect(Number(port), hostname);
    socket.pipe(inner).pipe(socket);
    socket.on('error', () => inner.destroy());
    inner.on('error', () => socket.destroy());
  });
  return listening(server, []);
}

/**
 * A forward proxy: absolute URLs for http, CONNECT for https.
 *
 * @param everythingTo - a local port to which every CONNECT is forwarded, regardless of its target
 */
export async function startForwardProxy(everythingTo?: number): Promise<ProxyServer> {
  const asked: string[] = [];
  const server = createHttpServer((incoming, response) => {
    const target = new URL(incoming.url ?? '');
    asked.push(target.host);
    const outgoing = request(
      target,
      { method: incoming.method ?? 'GET', headers: incoming.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    incoming.pipe(outgoing);
  });
  server.on('connect', (incoming, socket: Socket) => {
    asked.push(incoming.url ?? '');
    const [host, port] = (incoming.url ?? '').split(':');
    const [toPort, toHost] = everythingTo === undefined ? [Number(port), host] : [everythingTo, '127.0.0.1'];
    const inner = connect(toPort, toHost, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.pipe(inner).pipe(socket);
    });
    inner.on('error', () => socket.destroy());
    socket.on('error', () => inner.destroy());
  });
  return listening(server, asked);
}

async function listening(
  server: ReturnType<typeof createTlsServer> | ReturnType<typeof createHttpServer>,
  asked: string[],
): Promise<ProxyServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
