/** Finds out whether the response to a failed request is from S3 or from something in between. Reads limited sizes. */
import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { foreignText, hideSecrets, withoutSecrets } from '../untrusted/foreign-text.ts';

/** The parts of an unusable response that messages are built from. */
export interface ResponseSummary {
  /** Whether it has an S3 error document, or a header that only S3 engines send. A HEAD has no document. */
  readonly isS3: boolean;
  /** Whether the body is an S3 error document (S3 API, "Error responses"). */
  readonly hasDocument: boolean;
  /** Describes the body, as part of a sentence: `an HTML page titled "403 Forbidden"`. */
  readonly kind: string;
  /** The `Server` header; empty if missing, or if it isn't plain text. */
  readonly server: string;
  /** The target of a redirect, without query; empty if it isn't a redirect. */
  readonly location: string;
  /** The beginning of the body. */
  readonly text: string;
}

/** The parts of an error that messages are built from. */
export interface Failure {
  /** Empty if the response had none, and the SDK made one up. */
  readonly code: string;
  readonly status: number | undefined;
  /** S3's own message, on one line, without secrets. */
  readonly message: string;
  readonly attempts: number;
  readonly requestId: string | undefined;
  /** undefined if there was no response, or a usable one. */
  readonly response: ResponseSummary | undefined;
  /** Whether the request was sent. If not, the error is about credentials or settings. */
  readonly isSent: boolean;
}

/** A response in the SDK's middleware. */
interface RawResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  body?: unknown;
}

/** S3's own error documents have a few hundred bytes. Longer ones are shortened to code and message. */
const MAX_DOCUMENT_BYTES = 64 * 1024;
const MAX_BODY_BYTES = 2 * 1024 * 1024;
const DOCUMENT = /^\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--[^>]{0,500}-->\s*)?<Error(?:Response)?[\s>]/;

const summaries = new WeakMap<object, ResponseSummary>();
const fromNetwork = new WeakSet<object>();

/** The response that caused an error of the SDK; undefined if there was none. */
export function responseIn(error: unknown): ResponseSummary | undefined {
  const response = (error as { readonly $response?: object } | undefined)?.$response;
  return response === undefined ? undefined : summaries.get(response);
}

/** A successful response that the SDK could not parse, such as JSON for a listing; undefined for any other error. */
export function unreadableResponse(error: unknown): ResponseSummary | undefined {
  const { $response, $fault } = (error ?? {}) as {
    readonly $response?: RawResponse;
    readonly $fault?: string;
  };
  if ($response === undefined || $fault !== undefined || !wasSent(error)) return undefined;
  return { ...summarise($response, 'GET', '', false), isS3: false };
}

/** Whether an error was thrown after the request was sent. If not, credentials or settings are at fault. */
export function wasSent(error: unknown): boolean {
  return typeof error === 'object' && error !== null && fromNetwork.has(error);
}

/**
 * Reads the body of a response, after the SDK has returned it.
 *
 * @throws whatever `read` throws; {@link wasSent} is true for it
 */
export async function readBody<Value>(
  body: unknown,
  read: (body: Readable) => Promise<Value>,
): Promise<Value> {
  try {
    return await read(body as Readable);
  } catch (error) {
    throw sent(error);
  }
}

function sent(error: unknown): unknown {
  if (typeof error === 'object' && error !== null) fromNetwork.add(error);
  return error;
}

/**
 * Reads error responses before the SDK does. The SDK would read a body of any size, parse it as XML, and lose what it
 * was.
 */
export function readErrorResponses(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        throw sent(error);
      }
    },
    { step: 'deserialize', priority: 'high', name: 'markSent' },
  );
  client.middlewareStack.add(
    (next) => async (args) => {
      const { method, headers } = args.request as { method: string; headers: Record<string, string> };
      // Credentials from a profile, a role or a metadata service aren't in the environment, so hide them here.
      hideSecrets([headers['x-amz-security-token']]);
      const result = await next(args);
      const response = result.response as RawResponse;
      if (response.statusCode >= 300) await readErrorResponse(response, method);
      return result;
    },
    // Closest to the network, so that it runs before the deserializer.
    { step: 'deserialize', priority: 'low', name: 'readErrorResponses' },
  );
}

async function readErrorResponse(response: RawResponse, method: string): Promise<void> {
  const bytes = await firstBytes(response.body);
  // Remove secrets before shortening, which could leave the beginning of one.
  const text = withoutSecrets(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  const hasDocument = DOCUMENT.test(text.slice(0, 1000));
  summaries.set(response, summarise(response, method, text, hasDocument));
  if (!hasDocument) response.body = new Uint8Array(0);
  else response.body = bytes.length > MAX_DOCUMENT_BYTES ? Buffer.from(shortened(text)) : bytes;
}

function summarise(
  { headers, statusCode }: RawResponse,
  method: string,
  text: string,
  hasDocument: boolean,
): ResponseSummary {
  const type = (headers['content-type'] ?? '').toLowerCase();
  // CloudFront adds its own headers, whatever is behind it.
  const hasS3Header = Object.keys(headers).some((name) => /^x-(amzn?-(?!cf-)|minio-|rgw-)/i.test(name));
  // A HEAD has no body. Only the type of what a GET would return shows whether it is from S3.
  const mayBeS3 = method === 'HEAD' ? !/html|json|text\/plain/.test(type) : false;
  const hasBody = method !== 'HEAD' && text.trim() !== '';
  const server = headers.server ?? '';
  return {
    isS3: hasDocument || mayBeS3 || (hasS3Header && !hasBody),
    hasDocument,
    kind: kindOf(type, text),
    server: /^[\w ./()+-]{1,60}$/.test(server) ? server : '',
    location: statusCode < 400 ? foreignText(headers.location?.split(/[?#]/)[0], 200) : '',
    text: text.slice(0, 1000),
  };
}

function kindOf(type: string, text: string): string {
  const start = text.slice(0, MAX_DOCUMENT_BYTES).trimStart();
  if (type.includes('html') || /^<(!doctype html|html)/i.test(start)) {
    const title = foreignText(/<title[^>]{0,100}>([^<]{1,500})/i.exec(start)?.[1], 100);
    return title === '' ? 'an HTML page' : `an HTML page titled "${title}"`;
  }
  if (type.includes('json') || /^[{[]/.test(start)) return 'JSON';
  if (start === '') return 'no S3 error document';
  return /^[a-z]+\/[a-z0-9.+-]{1,40}/.exec(type)?.[0] ?? 'a body of unknown type';
}

/** Reduces a document that is too long to parse to its code and the beginning of its message. */
function shortened(text: string): string {
  const code = /<Code>([^<]{1,200})<\/Code>/.exec(text.slice(0, MAX_DOCUMENT_BYTES))?.[1] ?? 'Unknown';
  const [message = ''] = /(?<=<Message>)[^<]{0,4000}/.exec(text) ?? [];
  return `<Error><Code>${code}</Code><Message>${message.replace(/&[^;]{0,20}$/, '')}</Message></Error>`;
}

/** Returns what was received if the connection breaks, but throws if the request is cancelled. */
async function firstBytes(body: unknown): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of (body ?? []) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BODY_BYTES) break;
    }
  } catch (error) {
    if ((error as Error | undefined)?.name === 'AbortError') throw error;
  }
  return Buffer.concat(chunks);
}
