/** An HTTP proxy between the action and the real S3 server that counts requests and causes faults. */
import { type BinaryLike, createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { SignatureV4 } from '@smithy/signature-v4';

/** The S3 operation that a request asks for. */
export type Operation =
  | 'list'
  | 'get'
  | 'head'
  | 'put'
  | 'delete'
  | 'create-upload'
  | 'part'
  | 'complete'
  | 'abort'
  | 'other';

/** A request that came by. */
export interface SeenRequest {
  readonly operation: Operation;
  /** The key, or the bucket, without query. */
  readonly path: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** 1 for the first of its operation, and so on. */
  readonly nth: number;
  readonly bytes: number;
}

/** What happens to a request; undefined lets it pass. */
export type Fault =
  | undefined
  /** Answer in the server's stead. */
  | { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> }
  /** Cut the line before the server hears of it, or once it has done its work. */
  | { readonly cut: 'before' | 'after' }
  /** Let the server do its work, and answer when this is fulfilled. */
  | { readonly answerAfter: Promise<unknown> }
  /** Send so many bytes of the answer's body, then cut the line. */
  | { readonly cutAt: number }
  /** Send so many bytes of the answer's body, then nothing more, and keep the line open. */
  | { readonly stallAt: number }
  /** Send the answer's body in small pieces, with a pause after each. */
  | { readonly pieceBytes: number; readonly pauseMs: number }
  /** Say that the answer's body is so many bytes longer than it is, or shorter; then cut the line. */
  | { readonly misstateBy: number }
  /** Pass the request on without these headers, and then only when `after` is fulfilled. */
  | { readonly without: readonly string[]; readonly after?: Promise<unknown> }
  /** Change the answer's headers or body. */
  | { readonly change: (answer: Answer) => Answer }
  /** Pass the request on when this is fulfilled. */
  | { readonly after: Promise<unknown> };

/** An answer of the server. */
export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
}

/** A proxy that runs. */
export interface FaultProxy extends AsyncDisposable {
  /** What to give as `endpoint-url`. */
  readonly endpoint: string;
  readonly requests: readonly SeenRequest[];
  /** The operations in the order in which they came, without those that announce and withdraw a store. */
  operations(): Operation[];
}

/** Starts a proxy before `endpoint`; `rule` says what becomes of each request. `port`: 0 for any that is free. */
export async function startFaultProxy(
  endpoint: string,
  rule: (seen: SeenRequest) => Fault = () => undefined,
  port = 0,
): Promise<FaultProxy> {
  const requests: SeenRequest[] = [];
  const server: Server = createServer((incoming, response) => {
    void handle(incoming, response, endpoint, requests, rule).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    operations: () => requests.filter((seen) => !isClaim(seen)).map(({ operation }) => operation),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Whether a request is about an empty object by which store steps tell each other what they are doing. */
export function isClaim({ path }: Pick<SeenRequest, 'path'>): boolean {
  return /\.(claim|removing)$/.test(path);
}

async function handle(
  incoming: IncomingMessage,
  response: ServerResponse,
  endpoint: string,
  requests: SeenRequest[],
  rule: (seen: SeenRequest) => Fault,
): Promise<void> {
  const body = await buffer(incoming);
  const operation = operationOf(incoming);
  const { url = '', headers } = incoming;
  const path = url.split('?')[0]!;
  const alike = requests.filter(
    (seen) => seen.operation === operation && isClaim(seen) === isClaim({ path }),
  );
  const seen: SeenRequest = { operation, path, url, headers, nth: alike.length + 1, bytes: body.length };
  requests.push(seen);
  const fault = rule(seen);
  if (fault === undefined) return reply(response, await forward(incoming, body, endpoint));
  if ('status' in fault)
    return reply(response, { headers: {}, ...fault, body: Buffer.from(fault.body ?? '') });
  if ('after' in fault) await fault.after;
  if ('without' in fault)
    return reply(response, await forward(incoming, body, endpoint, resigned(incoming, body, fault.without)));
  if ('after' in fault) return reply(response, await forward(incoming, body, endpoint));
  if ('cut' in fault && fault.cut === 'before') return void response.destroy();
  const answer = await forward(incoming, body, endpoint);
  if ('answerAfter' in fault) {
    await fault.answerAfter;
    return reply(response, answer);
  }
  if ('change' in fault) return reply(response, fault.change(answer));
  if ('cut' in fault) return void response.destroy();
  if ('pieceBytes' in fault) return dripped(response, answer, fault);
  if ('misstateBy' in fault) return misstated(response, answer, fault.misstateBy);
  if ('stallAt' in fault) {
    // Nothing at all: not even the head of the answer.
    if (fault.stallAt === 0) return;
    response.writeHead(answer.status, answer.headers);
    response.write(answer.body.subarray(0, fault.stallAt));
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.write(answer.body.subarray(0, fault.cutAt), () => response.destroy());
}

async function dripped(
  response: ServerResponse,
  { status, headers, body }: Answer,
  { pieceBytes, pauseMs }: { pieceBytes: number; pauseMs: number },
): Promise<void> {
  response.writeHead(status, headers);
  for (let sent = 0; sent < body.length && !response.destroyed; sent += pieceBytes) {
    response.write(body.subarray(sent, sent + pieceBytes));
    await delay(pauseMs);
  }
  response.end();
}

/** Node's server would correct what the head says, so it goes onto the socket as it is. */
function misstated(response: ServerResponse, { status, headers, body }: Answer, by: number): void {
  const { 'transfer-encoding': _chunked, connection: _connection, ...rest } = headers;
  const said = { ...rest, 'content-length': String(body.length + by), connection: 'close' };
  const head = Object.entries(said).map(([name, value]) => `${name}: ${value}\r\n`);
  response.socket!.write(`HTTP/1.1 ${status} X\r\n${head.join('')}\r\n`);
  response.socket!.end(body);
}

function operationOf({ method, url = '', headers }: IncomingMessage): Operation {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  // AWS has the bucket in the host name, where the others have it in the path.
  const depth = headers.host?.includes('.s3.') ? 0 : 1;
  const isBucket = pathname.split('/').filter((segment) => segment !== '').length <= depth;
  if (method === 'GET') return isBucket ? 'list' : 'get';
  if (method === 'HEAD') return 'head';
  if (method === 'PUT') return searchParams.has('partNumber') ? 'part' : 'put';
  if (method === 'POST' && searchParams.has('uploads')) return 'create-upload';
  if (method === 'POST' && searchParams.has('uploadId')) return 'complete';
  if (method === 'DELETE') return searchParams.has('uploadId') ? 'abort' : 'delete';
  return 'other';
}

/** The Host header stays what the client signed. */
async function forward(
  incoming: IncomingMessage,
  body: Buffer,
  endpoint: string,
  headers: Promise<OutgoingHttpHeaders> | OutgoingHttpHeaders = incoming.headers,
): Promise<Answer> {
  const { hostname, port } = new URL(endpoint);
  const outgoing = request({
    hostname,
    port,
    method: incoming.method,
    path: incoming.url,
    headers: await headers,
    agent: false,
  });
  // A server may answer and cut the line while it still is being written to.
  outgoing.on('error', () => undefined);
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await buffer(answer) };
}

/** Signs a request anew without some of its headers, so that the server does as if it did not know them. */
async function resigned(
  { method = '', url = '', headers }: IncomingMessage,
  body: Buffer,
  without: readonly string[],
): Promise<OutgoingHttpHeaders> {
  const dropped = [...without, 'authorization', 'x-amz-date', 'x-amz-content-sha256', 'connection'];
  const kept = Object.entries(headers).filter(([name]) => !dropped.includes(name)) as [string, string][];
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const signer = new SignatureV4({
    service: 's3',
    region: process.env.WHEEL_STORE_TEST_REGION ?? '',
    credentials: {
      accessKeyId: process.env.WHEEL_STORE_TEST_ACCESS_KEY_ID ?? '',
      secretAccessKey: process.env.WHEEL_STORE_TEST_SECRET_ACCESS_KEY ?? '',
    },
    sha256: Sha256,
    uriEscapePath: false,
  });
  const signed = await signer.sign({
    method,
    protocol: 'http:',
    hostname: '',
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: Object.fromEntries(kept),
    body,
  });
  return signed.headers;
}

/** What the signer wants of a hash, made of Node's own. */
class Sha256 {
  readonly #hash: Hash | Hmac;
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as BinaryLike);
  }
  update(data: Uint8Array): void {
    this.#hash.update(data);
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {
    throw new Error('The signer makes a new hash each time.');
  }
}

function reply(response: ServerResponse, { status, headers, body }: Answer): void {
  const { 'transfer-encoding': _chunked, connection: _connection, ...rest } = headers;
  const isHead = response.req.method === 'HEAD';
  response.writeHead(status, isHead ? rest : { ...rest, 'content-length': String(body.length) });
  response.end(body);
}

/** An S3 error answer. */
export function s3Error(status: number, code: string, message = 'injected', more = ''): Fault {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`;
  return { status, body, headers: { 'content-type': 'application/xml' } };
}
