/** A static server in front of a public bucket that maps folders to index.html, as a CDN does. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that runs. */
export interface StaticServer extends AsyncDisposable {
  readonly url: string;
}

/** Serves what is below `origin`, a public bucket's URL. */
export async function startStaticServer(origin: string): Promise<StaticServer> {
  const server = createServer((incoming, response) => {
    const path = (incoming.url ?? '/').replace(/\/$/, '/index.html');
    void fetch(`${origin}${path}`)
      .then(async (answer) => {
        response.writeHead(answer.status, {
          'content-type': answer.headers.get('content-type') ?? 'text/plain',
        });
        response.end(Buffer.from(await answer.arrayBuffer()));
      })
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
