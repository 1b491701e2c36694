/** Traces each HTTP request that a client sends, for debugging. */
import type { S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { codeOf, requestIdOf, statusOf } from './failures.ts';

/** One completed HTTP request, without headers, query or signature. */
export interface SentRequest {
  readonly method: string;
  /** The S3 API operation, such as `PutObject`. */
  readonly operation: string;
  /** The key, or the key prefix of a listing. */
  readonly key: string;
  /** Which part or range of the object; empty: the whole object. */
  readonly part: string;
  /** undefined if there was no response. */
  readonly status: number | undefined;
  /** S3's or Node's error code; empty if the request succeeded. */
  readonly code: string;
  /** `x-amz-request-id`, which the store's support asks for; empty if there is none. */
  readonly requestId: string;
  /** 1 for the first try. */
  readonly attempt: number;
  /** Time from sending to the headers of the response, without the body of a download. */
  readonly milliseconds: number;
}

/** The fields of a command's input that identify the bytes it transfers. */
interface CommandInput {
  readonly Key?: string;
  readonly Prefix?: string;
  readonly PartNumber?: number;
  readonly Range?: string;
}

/** Calls `onRequest` for each request that `client` sends from now on, and for each try separately. */
export function observe(client: S3Client, onRequest: (request: SentRequest) => void): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const { method, headers } = args.request as { method: string; headers: Record<string, string> };
      const { Key, Prefix, PartNumber, Range } = args.input as CommandInput;
      const sent = {
        method,
        operation: String(context.commandName).replace(/Command$/, ''),
        key: Key ?? Prefix ?? '',
        part: PartNumber === undefined ? (Range ?? '') : `part ${PartNumber}`,
        attempt: Number(/^attempt=(\d+)/.exec(headers['amz-sdk-request'] ?? '')?.[1] ?? 1),
      };
      const started = process.uptime();
      const report = (status: number | undefined, code: string, requestId: string) =>
        onRequest({ ...sent, status, code, requestId, milliseconds: (process.uptime() - started) * 1000 });
      try {
        const result = await next(args);
        const { httpStatusCode, requestId } = (result.output as Pick<S3ServiceException, '$metadata'>)
          .$metadata;
        report(httpStatusCode, '', requestId ?? '');
        return result;
      } catch (error) {
        report(statusOf(error), codeOf(error), requestIdOf(error));
        throw error;
      }
    },
    // After retries and signing, so that URLs which are only presigned aren't reported.
    { step: 'deserialize', priority: 'high', name: 'observe' },
  );
}
