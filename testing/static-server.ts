/** A static server in front of a public bucket that maps folders to index.html, as a CDN does. */
import { type LocalServer, startLocalServer } from './local-server.ts';

/** Serves the objects of a public bucket; `origin` is its URL. */
export function startStaticServer(origin: string): Promise<LocalServer> {
  return startLocalServer((incoming, response) => {
    const path = (incoming.url ?? '/').replace(/\/$/, '/index.html');
    void fetch(`${origin}${path}`)
      .then(async (upstream) => {
        response.writeHead(upstream.status, {
          'content-type': upstream.headers.get('content-type') ?? 'text/plain',
        });
        response.end(Buffer.from(await upstream.arrayBuffer()));
      })
      .catch(() => response.destroy());
  });
}
