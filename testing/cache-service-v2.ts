/**
 * A small stand-in for GitHub's cache service (`ACTIONS_CACHE_SERVICE_V2`), since no package provides a server for that
 * protocol. It implements the twirp calls of `@actions/cache` (generated/results/api/v1/cache.ts) and signed URLs of
 * Azure Blob Storage ("Put Blob", "Put Block", "Put Block List", "Get Blob"). It refuses a wrong token, a wrong or
 * missing signature, and a second reservation of an entry.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A running cache service. */
export interface CacheServiceV2 extends AsyncDisposable {
  /** The value of ACTIONS_RESULTS_URL in a step; ends with a slash. */
  readonly url: string;
  /** The environment variables of a step that uses the service. */
  readonly env: Readonly<Record<string, string>>;
  /** Method and path of each request, without the query; for blobs, the path is `blob`. */
  readonly requests: string[];
  /** By key; an entry that is reserved but not uploaded has no archive. */
  readonly entries: Map<string, Entry>;
}

/** The entry of a key. */
export interface Entry {
  readonly version: string;
  archive?: Buffer;
  isFinished: boolean;
}

interface Reply {
  readonly status: number;
  readonly body?: Buffer | object;
  readonly headers?: Record<string, string>;
}

/** Replaces the service's response to a call; undefined keeps it. */
export type Rule = (call: string) => Reply | undefined;

const SERVICE = '/twirp/github.actions.results.api.v1.CacheService/';
const TOKEN = 'runtime-token-of-the-tests';
const BLOBS = 'http://kept.blob.core.windows.net';

/** Starts the service. It is also the HTTP proxy of the steps, since the URLs of blobs have Azure's host name. */
export async function startCacheServiceV2(rule: Rule = () => undefined): Promise<CacheServiceV2> {
  const entries = new Map<string, Entry>();
  const requests: string[] = [];
  const server = createServer((incoming, response) => {
    void answer(incoming, { entries, requests, rule })
      .then((reply) => send(incoming, response, reply))
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    requests,
    entries,
    env: {
      ACTIONS_CACHE_SERVICE_V2: 'True',
      ACTIONS_RESULTS_URL: url,
      ACTIONS_RUNTIME_TOKEN: TOKEN,
      HTTP_PROXY: url,
      NO_PROXY: '127.0.0.1',
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface State {
  readonly entries: Map<string, Entry>;
  readonly requests: string[];
  readonly rule: Rule;
}

async function answer(incoming: IncomingMessage, state: State): Promise<Reply> {
  const { method = '', url = '', headers } = incoming;
  const body = await buffer(incoming);
  if (url.startsWith(`${BLOBS}/`)) {
    state.requests.push(`${method} blob`);
    return state.rule(`${method} blob`) ?? blob(method, new URL(url), headers, body, state.entries);
  }
  if (!url.startsWith(SERVICE)) return { status: 404 };
  const call = url.slice(SERVICE.length);
  state.requests.push(call);
  if (headers.authorization !== `Bearer ${TOKEN}`) return refusal(401, 'unauthenticated', 'bad token');
  return state.rule(call) ?? twirp(call, JSON.parse(body.toString('utf8')), state.entries);
}

function refusal(status: number, code: string, msg: string): Reply {
  return { status, body: { code, msg } };
}

interface Call {
  readonly key: string;
  readonly version: string;
  readonly size_bytes?: string;
}

function twirp(call: string, { key, version, size_bytes }: Call, entries: Map<string, Entry>): Reply {
  const entry = entries.get(key);
  switch (call) {
    case 'GetCacheEntryDownloadURL': {
      if (entry?.isFinished !== true || entry.version !== version)
        return { status: 200, body: { ok: false } };
      return { status: 200, body: { ok: true, matched_key: key, signed_download_url: signed(key, 'r') } };
    }
    case 'CreateCacheEntry': {
      if (entry !== undefined) return refusal(409, 'already_exists', 'cache entry with the same key exists');
      entries.set(key, { version, isFinished: false });
      return { status: 200, body: { ok: true, signed_upload_url: signed(key, 'w') } };
    }
    case 'FinalizeCacheEntryUpload': {
      const isWhole = entry?.version === version && entry.archive?.length === Number(size_bytes);
      if (!isWhole) return refusal(400, 'invalid_argument', 'the blob has another size');
      entry.isFinished = true;
      return { status: 200, body: { ok: true, entry_id: '1' } };
    }
    default:
      return refusal(404, 'bad_route', call);
  }
}

/** A URL to read or write one blob, signed like a shared access signature. */
function signed(key: string, permission: 'r' | 'w'): string {
  return `${BLOBS}/archives/${key}?sp=${permission}&sig=${encodeURIComponent(signature(key, permission))}`;
}

const SECRET = randomUUID();
function signature(key: string, permission: string): string {
  return createHmac('sha256', SECRET).update(`${permission}\n${key}`).digest('base64');
}

const blocks = new Map<string, Buffer>();

function blob(
  method: string,
  { pathname, searchParams }: URL,
  headers: IncomingMessage['headers'],
  body: Buffer,
  entries: Map<string, Entry>,
): Reply {
  const key = pathname.split('/').at(-1)!;
  const needed = method === 'PUT' ? 'w' : 'r';
  const isSigned = searchParams.get('sp') === needed && searchParams.get('sig') === signature(key, needed);
  const entry = entries.get(key);
  if (!isSigned || entry === undefined) return { status: 403 };
  if (method === 'PUT') return put(entry, `${key} `, searchParams, headers, body);
  const { archive } = entry;
  return archive === undefined ? { status: 404 } : range(archive, headers);
}

function put(
  entry: Entry,
  prefix: string,
  query: URLSearchParams,
  headers: IncomingMessage['headers'],
  body: Buffer,
): Reply {
  switch (query.get('comp')) {
    case 'block':
      blocks.set(prefix + query.get('blockid'), body);
      return { status: 201 };
    case 'blocklist': {
      const ids = [...body.toString('utf8').matchAll(/<Latest>([^<]+)<\/Latest>/g)].map(([, id]) => id!);
      entry.archive = Buffer.concat(ids.map((id) => blocks.get(prefix + id)!));
      return { status: 201, headers: { etag: '"1"' } };
    }
    default:
      if (headers['x-ms-blob-type'] !== 'BlockBlob') return { status: 400 };
      entry.archive = body;
      return { status: 201, headers: { etag: '"1"' } };
  }
}

function range(archive: Buffer, headers: IncomingMessage['headers']): Reply {
  const common = { etag: '"1"', 'accept-ranges': 'bytes', 'x-ms-blob-type': 'BlockBlob' };
  const wanted = /^bytes=(\d+)-(\d*)$/.exec(String(headers['x-ms-range'] ?? headers.range ?? ''));
  if (wanted === null) return { status: 200, body: archive, headers: common };
  const first = Number(wanted[1]);
  const last = wanted[2] === '' ? archive.length - 1 : Math.min(Number(wanted[2]), archive.length - 1);
  const part = `bytes ${first}-${last}/${archive.length}`;
  return {
    status: 206,
    body: archive.subarray(first, last + 1),
    headers: { ...common, 'content-range': part },
  };
}

function send(
  { method }: IncomingMessage,
  response: ServerResponse,
  { status, body, headers = {} }: Reply,
): void {
  const isJson = body !== undefined && !Buffer.isBuffer(body);
  const bytes = isJson ? Buffer.from(JSON.stringify(body)) : (body ?? Buffer.alloc(0));
  response.writeHead(status, {
    'content-length': String(bytes.length),
    ...(isJson ? { 'content-type': 'application/json' } : {}),
    ...headers,
  });
  response.end(method === 'HEAD' ? undefined : bytes);
}
