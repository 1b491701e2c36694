/** Explains responses that aren't from S3 but from proxies, firewalls and web servers, and protocol mismatches. */
import type { Problem } from '../errors.ts';
import { plainAddress } from '../untrusted/foreign-text.ts';
import type { Bucket, RequestPurpose } from './bucket.ts';
import { describeStore, tries } from './names.ts';
import { PART_BYTES, SINGLE_PUT_BYTES } from './parts.ts';
import type { Failure } from './responses.ts';

/** A proxy that rejects the connection or is misconfigured. The message has its address without credentials. */
export function explainProxy(failure: Failure, bucket: Bucket): Problem | undefined {
  const { code, status, message } = failure;
  const isTunnel = code === 'ERR_PROXY_TUNNEL' || code === 'ERR_PROXY_INVALID_CONFIG';
  if (!isTunnel && status !== 407) return undefined;
  const proxyStatus = status ?? Number(/: HTTP\/\d(?:\.\d)? (\d{3})/.exec(message)?.[1]);
  const proxy = proxyOf(bucket);
  if (proxyStatus === 407) {
    return {
      title: 'Proxy refused',
      reason: `The proxy${proxy} requires other credentials for requests to ${describeStore(bucket)} (HTTP 407).`,
      remedy:
        'Check the user name and password in HTTPS_PROXY (HTTP_PROXY for an http endpoint), percent-encoded, or add the store to NO_PROXY.',
    };
  }
  const how = Number.isNaN(proxyStatus) ? message : `HTTP ${proxyStatus}`;
  return {
    title: 'Proxy refused',
    reason: `The proxy${proxy} refused to connect to ${describeStore(bucket)} (${how}).`,
    remedy:
      'Allow this host and port in the proxy, check HTTPS_PROXY and HTTP_PROXY, or add the store to NO_PROXY.',
  };
}

/** The proxy's address without credentials. Node's own message isn't used: in 24.16 it contains the credentials. */
function proxyOf({ settings, customEndpoint }: Bucket): string {
  const address = settings.proxy[customEndpoint?.startsWith('http:') ? 'http_proxy' : 'https_proxy'] ?? '';
  const plain = plainAddress(address);
  return plain === undefined ? '' : ` ${plain}`;
}

/** A response that isn't from S3, whose status doesn't mean what it would mean from S3. */
export function explainForeignResponse(
  failure: Failure,
  bucket: Bucket,
  purpose: RequestPurpose,
): Problem | undefined {
  const { status, response, attempts } = failure;
  if (response === undefined || response.isS3 || status === undefined) return undefined;
  const server = response.server === '' ? '' : ` from the server "${response.server}"`;
  const details = `${response.kind}${server}`;
  if (status === 413) return tooLarge(bucket, purpose, `HTTP 413, ${details}`);
  if (status === 507) return undefined;
  if (status >= 500 || status === 429) {
    return {
      title: 'Store is failing',
      reason: `${describeStore(bucket)} failed ${tries(attempts)} for ${bucket.uri(purpose.key)} (HTTP ${status}, ${details}).`,
      remedy:
        'The response came from something in front of the store, such as a load balancer or a proxy: check its log, or run the job again in a few minutes.',
    };
  }
  if (status >= 300 && status < 400) return redirected(bucket, purpose, status, response.location);
  if (/plain HTTP request was sent to HTTPS|HTTP request to an HTTPS server/i.test(response.text)) {
    return wrongScheme(bucket, `it responded with HTTP ${status} that it expects HTTPS`);
  }
  return {
    title: 'Not an S3 response',
    reason: `${describeStore(bucket)} responded to ${purpose.permission} on ${bucket.uri(purpose.key)} with HTTP ${status} and ${details}, which is not an S3 response.`,
    remedy:
      "Check that 'endpoint-url' is the S3 address of the store, not its console's, and that no firewall, proxy or sign-in page answers instead; S3 permissions are not the cause.",
  };
}

function redirected(bucket: Bucket, purpose: RequestPurpose, status: number, location: string): Problem {
  const to = location === '' ? '' : ` to ${location}`;
  const isSecure = bucket.customEndpoint?.startsWith('http:') === true && location.startsWith('https:');
  return {
    title: 'Not an S3 response',
    reason: `${describeStore(bucket)} redirected ${purpose.permission} on ${bucket.uri(purpose.key)}${to} (HTTP ${status}), which S3 does not do.`,
    remedy: isSecure
      ? "Write 'endpoint-url' with https://."
      : "Check that 'endpoint-url' is the S3 address of the store, and that no sign-in page of a proxy answers instead.",
  };
}

/** The error for a request that is too large, with the sizes of ours. `details` is what the response says. */
export function tooLarge(bucket: Bucket, purpose: RequestPurpose, details: string): Problem {
  const mib = (bytes: number) => `${bytes / 1024 ** 2} MiB`;
  return {
    title: 'Request too large',
    reason: `${describeStore(bucket)} does not accept a request as large as the one for ${bucket.uri(purpose.key)} (${details}).`,
    remedy: `In the proxy or load balancer in front of the store, allow bodies of ${mib(SINGLE_PUT_BYTES)} (such as client_max_body_size of nginx): a wheel of up to ${mib(SINGLE_PUT_BYTES)} is uploaded in one request, a larger one in parts of ${mib(PART_BYTES)} or more.`,
  };
}

/** Codes of OpenSSL and of Node's HTTP parser if the port speaks plain HTTP instead of TLS, or the reverse. */
const PLAIN_BEHIND_TLS = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|HTTP_REQUEST|^EPROTO$/;
const NOT_HTTP = /^HPE_/;

/** `https://` to a port that speaks plain HTTP, or the reverse. */
export function explainScheme({ code, message }: Failure, bucket: Bucket): Problem | undefined {
  if (PLAIN_BEHIND_TLS.test(code)) return wrongScheme(bucket, `it does not use TLS (${code})`);
  if (NOT_HTTP.test(code)) return wrongScheme(bucket, `the response is not HTTP (${code}: ${message})`);
  return undefined;
}

function wrongScheme(bucket: Bucket, what: string): Problem {
  const isPlain = bucket.customEndpoint?.startsWith('http:') === true;
  return {
    title: 'Not an S3 response',
    reason: `${describeStore(bucket)} did not respond with ${isPlain ? 'HTTP' : 'HTTPS'}: ${what}.`,
    remedy: isPlain
      ? "Check the port; if it speaks TLS, write 'endpoint-url' with https://."
      : "Check the port; if it speaks plain HTTP, write 'endpoint-url' with http://. If a proxy itself uses plain HTTP, write it with http:// in HTTPS_PROXY, too.",
  };
}
