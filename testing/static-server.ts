/** A static server in front of a public bucket that maps folders to index.html, as a CDN does. */
import { type LocalServer, startLocalServer } from './local-server.ts';

/** Serves what is below `origin`, a public bucket's URL. */
export function startStaticServer(origin: string): Promise<LocalServer> {
  return startLocalServer((incoming, response) => {
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
}
