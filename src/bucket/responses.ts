/** What answered a request that failed: S3, or something that stands between. Error documents are bounded. */
import type { S3Client } from '@aws-sdk/client-s3';
import { foreignText, hideSecrets, withoutSecrets } from '../untrusted/foreign-text.ts';

/** What is read of an answer with a status from 300 on. */
export interface Answer {
  /** An S3 error document, or a header that only S3 and its engines send; a HEAD has no document. */
  readonly isS3: boolean;
  /** Whether it came with an S3 error document (S3 API, "Error responses"). */
  readonly hasDocument: boolean;
  /** What the body is, for a sentence: `an HTML page titled "403 Forbidden"`. */
  readonly kind: string;
  /** The `Server` header, where it is a plain word; empty else. */
  readonly server: string;
  /** Where a redirect leads, without query; empty when it is none. */
  readonly location: string;
  /** The beginning of a body that is not S3's. */
  readonly text: string;
}

/** What is read of an error, for a sentence. */
export interface Failure {
  /** Empty when the SDK made one up for want of one. */
  readonly code: string;
  readonly status: number | undefined;
  /** S3's own words, on one line, without secrets. */
  readonly words: string;
  readonly attempts: number;
  readonly requestId: string | undefined;
  /** What answered, when it failed. */
  readonly answer: Answer | undefined;
  /** Whether the store was asked: else it is about credentials or settings. */
  readonly isSent: boolean;
}

/** A response as the SDK's middleware passes it on. */
interface Response {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  body?: unknown;
}

/** S3's own error documents have a few hundred bytes; the first 64 KiB of a longer one say what it says. */
const MAX_DOCUMENT_BYTES = 64 * 1024;
const MAX_BODY_BYTES = 2 * 1024 * 1024;
const DOCUMENT = /^\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--[^>]{0,500}-->\s*)?<Error(?:Response)?[\s>]/;

const answers = new WeakMap<object, Answer>();
const fromNetwork = new WeakSet<object>();

/** The answer that an error of the SDK is about; undefined when none came. */
export function answerIn(error: unknown): Answer | undefined {
  const response = (error as { readonly $response?: object } | undefined)?.$response;
  return response === undefined ? undefined : answers.get(response);
}

/** A success that the SDK could not read, such as JSON for a listing; undefined when the error is another one. */
export function unreadableAnswer(error: unknown): Answer | undefined {
  const { $response, $fault } = (error ?? {}) as { readonly $response?: Response; readonly $fault?: string };
  if ($response === undefined || $fault !== undefined || !wasSent(error)) return undefined;
  return { ...answerFrom($response, 'GET', '', false), isS3: false };
}

/** Whether a request to the store was on its way when this was thrown: else credentials or settings were at fault. */
export function wasSent(error: unknown): boolean {
  return typeof error === 'object' && error !== null && fromNetwork.has(error);
}

/**
 * Reads the answers that failed before the SDK does, which would parse whatever comes as XML, hold all of
 * it, and forget what it was.
 */
export function readAnswers(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        if (typeof error === 'object' && error !== null) fromNetwork.add(error);
        throw error;
      }
    },
    { step: 'deserialize', priority: 'high', name: 'markWhatWasSent' },
  );
  client.middlewareStack.add(
    (next) => async (args) => {
      const { method, headers } = args.request as { method: string; headers: Record<string, string> };
      // Credentials that a profile, a role or a metadata service gave are in no variable.
      hideSecrets([headers['x-amz-security-token']]);
      const result = await next(args);
      const response = result.response as Response;
      if (response.statusCode >= 300) await readAnswer(response, method);
      return result;
    },
    // The nearest to the network, so that what deserializes comes after.
    { step: 'deserialize', priority: 'low', name: 'readAnswers' },
  );
}

async function readAnswer(response: Response, method: string): Promise<void> {
  const bytes = await firstBytes(response.body);
  // Secrets go before a cut, which could leave the beginning of one.
  const text = withoutSecrets(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  const hasDocument = DOCUMENT.test(text.slice(0, 1000));
  answers.set(response, answerFrom(response, method, text, hasDocument));
  if (!hasDocument) response.body = new Uint8Array(0);
  else response.body = bytes.length > MAX_DOCUMENT_BYTES ? Buffer.from(shortened(text)) : bytes;
}

function answerFrom(
  { headers, statusCode }: Response,
  method: string,
  text: string,
  hasDocument: boolean,
): Answer {
  const type = (headers['content-type'] ?? '').toLowerCase();
  // CloudFront has headers of its own, which say nothing of what is behind.
  const isSigned = Object.keys(headers).some((name) => /^x-(amzn?-(?!cf-)|minio-|rgw-)/i.test(name));
  // A HEAD has no body; nothing but the type of what a GET would get tells the two apart.
  const mayBeS3 = method === 'HEAD' ? !/html|json|text\/plain/.test(type) : false;
  const hasBody = method !== 'HEAD' && text.trim() !== '';
  const server = headers.server ?? '';
  return {
    isS3: hasDocument || mayBeS3 || (isSigned && !hasBody),
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
  return /^[a-z]+\/[a-z0-9.+-]{1,40}/.exec(type)?.[0] ?? 'a text of its own';
}

/** The code and the beginning of the message of a document that is too long to be parsed. */
function shortened(text: string): string {
  const code = /<Code>([^<]{1,200})<\/Code>/.exec(text.slice(0, MAX_DOCUMENT_BYTES))?.[1] ?? 'Unknown';
  const [message = ''] = /(?<=<Message>)[^<]{0,4000}/.exec(text) ?? [];
  return `<Error><Code>${code}</Code><Message>${message.replace(/&[^;]{0,20}$/, '')}</Message></Error>`;
}

/** A body that breaks off still says something; one that is cancelled does not. */
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
