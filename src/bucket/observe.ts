/** Tells of each HTTP request that a client sends, for those who look for what went wrong. */
import type { S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { codeOf, requestIdOf, statusOf } from './failures.ts';

/** One HTTP request that has ended. It holds no header, no query and nothing of a signature. */
export interface SentRequest {
  readonly method: string;
  /** Name of the operation in S3's API, such as `PutObject`. */
  readonly operation: string;
  /** The key, or the key prefix of a listing. */
  readonly key: string;
  /** Which part or range of the object; empty: all of it. */
  readonly part: string;
  /** undefined: no answer came. */
  readonly status: number | undefined;
  /** The error's code, S3's or Node's; empty when the request was a success. */
  readonly code: string;
  /** `x-amz-request-id`, which the store's support asks for; empty when there is none. */
  readonly requestId: string;
  /** 1 for the first try. */
  readonly attempt: number;
  /** From sending to the answer's headers; the body of a download comes after. */
  readonly milliseconds: number;
}

/** What of a command's input says which bytes it is about. */
interface Addressed {
  readonly Key?: string;
  readonly Prefix?: string;
  readonly PartNumber?: number;
  readonly Range?: string;
}

/** Tells `onRequest` of each request that `client` sends from now on, of each try on its own. */
export function observe(client: S3Client, onRequest: (request: SentRequest) => void): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const { method, headers } = args.request as { method: string; headers: Record<string, string> };
      const { Key, Prefix, PartNumber, Range } = args.input as Addressed;
      const sent = {
        method,
        operation: String(context.commandName).replace(/Command$/, ''),
        key: Key ?? Prefix ?? '',
        part: PartNumber === undefined ? (Range ?? '') : `part ${PartNumber}`,
        attempt: Number(/^attempt=(\d+)/.exec(headers['amz-sdk-request'] ?? '')?.[1] ?? 1),
      };
      const started = process.uptime();
      const tell = (status: number | undefined, code: string, requestId: string) =>
        onRequest({ ...sent, status, code, requestId, milliseconds: (process.uptime() - started) * 1000 });
      try {
        const result = await next(args);
        const { httpStatusCode, requestId } = (result.output as Pick<S3ServiceException, '$metadata'>)
          .$metadata;
        tell(httpStatusCode, '', requestId ?? '');
        return result;
      } catch (error) {
        tell(statusOf(error), codeOf(error), requestIdOf(error));
        throw error;
      }
    },
    // Behind the retries and the signature: what is only presigned never comes here.
    { step: 'deserialize', priority: 'high', name: 'observe' },
  );
}
