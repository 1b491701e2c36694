/** An HTTP proxy between the action and the real S3 server that records requests and injects faults. */
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

/** The S3 operation of a request. */
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

/** A recorded request. */
export interface SeenRequest {
  readonly operation: Operation;
  /** The path in the URL, without the query. */
  readonly path: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** 1 for the first of its operation, and so on. */
  readonly nth: number;
  readonly bytes: number;
}

/** What to do with a request; undefined forwards it. */
export type Fault =
  | undefined
  /** Send this response instead of forwarding the request, once `after` is fulfilled. */
  | {
      readonly status: number;
      readonly body?: string;
      readonly headers?: Record<string, string>;
      readonly after?: Promise<unknown>;
    }
  /** Close the connection before or after forwarding the request. */
  | { readonly cut: 'before' | 'after' }
  /** Forward the request, and send the response when this is fulfilled. A function is called once the server has responded. */
  | { readonly answerAfter: Promise<unknown> | (() => Promise<unknown>) }
  /** Send this many bytes of the body, then close the connection. */
  | { readonly cutAt: number }
  /** Send this many bytes of the body, then nothing, but keep the connection open. */
  | { readonly stallAt: number }
  /** Send the body in small chunks, with a pause after each. */
  | { readonly pieceBytes: number; readonly pauseMs: number }
  /** Send a Content-Length that is wrong by this many bytes, then the whole body, and close the connection. */
  | { readonly misstateBy: number }
  /** Forward the request without these headers, once `after` is fulfilled. */
  | { readonly without: readonly string[]; readonly after?: Promise<unknown> }
  /** Change the response. */
  | { readonly change: (answer: Answer) => Answer }
  /** Forward the request when this is fulfilled. */
  | { readonly after: Promise<unknown> };

/** A response of the server. */
export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
}

/** A running proxy. */
export interface FaultProxy extends AsyncDisposable {
  /** The value for `endpoint-url`. */
  readonly endpoint: string;
  readonly requests: readonly SeenRequest[];
  /** The operations in order, without those on claims and removal markers. */
  operations(): Operation[];
}

/**
 * Starts a proxy in front of `endpoint`.
 *
 * @param rule - returns the fault for each request
 * @param port - 0 for any free port
 */
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
    operations: () => requests.filter((seen) => !isMarker(seen)).map(({ operation }) => operation),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Whether a request is about a claim or a removal marker. */
export function isMarker({ path }: Pick<SeenRequest, 'path'>): boolean {
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
  const sameKind = requests.filter(
    (seen) => seen.operation === operation && isMarker(seen) === isMarker({ path }),
  );
  const seen: SeenRequest = { operation, path, url, headers, nth: sameKind.length + 1, bytes: body.length };
  requests.push(seen);
  const fault = rule(seen);
  if (fault === undefined) return reply(response, await forward(incoming, body, endpoint));
  if ('after' in fault) await fault.after;
  if ('status' in fault)
    return reply(response, { headers: {}, ...fault, body: Buffer.from(fault.body ?? '') });
  if ('without' in fault)
    return reply(response, await forward(incoming, body, endpoint, resign(incoming, body, fault.without)));
  if ('after' in fault) return reply(response, await forward(incoming, body, endpoint));
  if ('cut' in fault && fault.cut === 'before') return void response.destroy();
  const answer = await forward(incoming, body, endpoint);
  if ('answerAfter' in fault) {
    const { answerAfter } = fault;
    await (typeof answerAfter === 'function' ? answerAfter() : answerAfter);
    return reply(response, answer);
  }
  if ('change' in fault) return reply(response, fault.change(answer));
  if ('cut' in fault) return void response.destroy();
  if ('pieceBytes' in fault) return sendSlowly(response, answer, fault);
  if ('misstateBy' in fault) return sendWithWrongLength(response, answer, fault.misstateBy);
  if ('stallAt' in fault) {
    // Not even the headers.
    if (fault.stallAt === 0) return;
    response.writeHead(answer.status, answer.headers);
    response.write(answer.body.subarray(0, fault.stallAt));
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.write(answer.body.subarray(0, fault.cutAt), () => response.destroy());
}

async function sendSlowly(
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

/** Writes to the socket, since Node's server would reject a wrong Content-Length. */
function sendWithWrongLength(response: ServerResponse, { status, headers, body }: Answer, by: number): void {
  const { 'transfer-encoding': _chunked, connection: _connection, ...rest } = headers;
  const wrong = { ...rest, 'content-length': String(body.length + by), connection: 'close' };
  const head = Object.entries(wrong).map(([name, value]) => `${name}: ${value}\r\n`);
  response.socket!.write(`HTTP/1.1 ${status} X\r\n${head.join('')}\r\n`);
  response.socket!.end(body);
}

function operationOf({ method, url = '', headers }: IncomingMessage): Operation {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  // On AWS, the bucket is in the host name instead of the path.
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

/** Keeps the Host header, which is signed. */
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
  // A server may respond and close the connection before it has read the whole body.
  outgoing.on('error', () => undefined);
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await buffer(answer) };
}

/** Removes headers from a request and signs it again, to simulate a server that ignores those headers. */
async function resign(
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

/** Adapts Node's hashes to the interface of the signer. */
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
    throw new Error('The signer creates a new hash each time.');
  }
}

function reply(response: ServerResponse, { status, headers, body }: Answer): void {
  const { 'transfer-encoding': _chunked, connection: _connection, ...rest } = headers;
  const isHead = response.req.method === 'HEAD';
  response.writeHead(status, isHead ? rest : { ...rest, 'content-length': String(body.length) });
  response.end(body);
}

/** Responds with an S3 error document. */
export function s3Error(status: number, code: string, message = 'injected', more = '') {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`;
  return { status, body, headers: { 'content-type': 'application/xml' } };
}
