/** Explains what did not come from S3: answers of proxies, firewalls, web servers, and lines that speak something else. */
import type { Problem } from '../errors.ts';
import { plainAddress } from '../untrusted/foreign-text.ts';
import type { Failure } from './answers.ts';
import type { Bucket, RequestPurpose } from './bucket.ts';
import { placeOf, tries } from './names.ts';
import { PART_BYTES, SINGLE_PUT_BYTES } from './parts.ts';

/** A proxy that refuses or cannot be used; it is named without user name and password. */
export function explainProxy(failure: Failure, bucket: Bucket): Problem | undefined {
  const { code, status, words } = failure;
  const isTunnel = code === 'ERR_PROXY_TUNNEL' || code === 'ERR_PROXY_INVALID_CONFIG';
  if (!isTunnel && status !== 407) return undefined;
  const answered = status ?? Number(/: HTTP\/\d(?:\.\d)? (\d{3})/.exec(words)?.[1]);
  const proxy = proxyOf(bucket);
  if (answered === 407) {
    return {
      title: 'Proxy refused',
      reason: `The proxy${proxy} requires other credentials for requests to ${placeOf(bucket)} (HTTP 407).`,
      remedy:
        'Check the user name and password in HTTPS_PROXY (HTTP_PROXY for an http endpoint), percent-encoded, or add the store to NO_PROXY.',
    };
  }
  const how = Number.isNaN(answered) ? words : `HTTP ${answered}`;
  return {
    title: 'Proxy refused',
    reason: `The proxy${proxy} refused to connect to ${placeOf(bucket)} (${how}).`,
    remedy:
      'Allow this host and port in the proxy, check HTTPS_PROXY and HTTP_PROXY, or add the store to NO_PROXY.',
  };
}

/** Node 24.16 repeats the whole variable in its error, 24.21 without credentials; here neither is used. */
function proxyOf({ settings, customEndpoint }: Bucket): string {
  const address = settings.proxy[customEndpoint?.startsWith('http:') ? 'http_proxy' : 'https_proxy'] ?? '';
  const plain = plainAddress(address);
  return plain === undefined ? '' : ` ${plain}`;
}

/** An answer that is not S3's; its status means nothing of what S3's would. */
export function explainForeignAnswer(
  failure: Failure,
  bucket: Bucket,
  purpose: RequestPurpose,
): Problem | undefined {
  const { status, answer, attempts } = failure;
  if (answer === undefined || answer.isS3 || status === undefined) return undefined;
  const server = answer.server === '' ? '' : ` from the server "${answer.server}"`;
  const said = `${answer.kind}${server}`;
  if (status === 413) return tooLarge(bucket, purpose, `HTTP 413, ${said}`);
  if (status === 507) return undefined;
  if (status >= 500 || status === 429) {
    return {
      title: 'Store is failing',
      reason: `${placeOf(bucket)} failed ${tries(attempts)} for ${bucket.uri(purpose.key)} (HTTP ${status}, ${said}).`,
      remedy:
        'The response came from something in front of the store, such as a load balancer or a proxy: check its log, or run the job again in a few minutes.',
    };
  }
  if (status >= 300 && status < 400) return redirected(bucket, purpose, status, answer.location);
  if (/plain HTTP request was sent to HTTPS|HTTP request to an HTTPS server/i.test(answer.text)) {
    return otherScheme(bucket, `it responded with HTTP ${status} that it expects HTTPS`);
  }
  return {
    title: 'Not an S3 response',
    reason: `${placeOf(bucket)} responded to ${purpose.permission} on ${bucket.uri(purpose.key)} with HTTP ${status} and ${said}, which is not an S3 response.`,
    remedy:
      "Check that 'endpoint-url' is the S3 address of the store, not its console's, and that no firewall, proxy or sign-in page answers instead; S3 permissions are not the cause.",
  };
}

function redirected(bucket: Bucket, purpose: RequestPurpose, status: number, location: string): Problem {
  const to = location === '' ? '' : ` to ${location}`;
  const isSecure = bucket.customEndpoint?.startsWith('http:') === true && location.startsWith('https:');
  return {
    title: 'Not an S3 response',
    reason: `${placeOf(bucket)} redirected ${purpose.permission} on ${bucket.uri(purpose.key)}${to} (HTTP ${status}), which S3 does not do.`,
    remedy: isSecure
      ? "Write 'endpoint-url' with https://."
      : "Check that 'endpoint-url' is the S3 address of the store, and that no sign-in page of a proxy answers instead.",
  };
}

/** What the answer to a put says of its size, and how large ours are. */
export function tooLarge(bucket: Bucket, purpose: RequestPurpose, said: string): Problem {
  const mib = (bytes: number) => `${bytes / 1024 ** 2} MiB`;
  return {
    title: 'Request too large',
    reason: `${placeOf(bucket)} does not accept a request as large as the one for ${bucket.uri(purpose.key)} (${said}).`,
    remedy: `In the proxy or load balancer in front of the store, allow bodies of ${mib(SINGLE_PUT_BYTES)} (such as client_max_body_size of nginx): a wheel of up to ${mib(SINGLE_PUT_BYTES)} goes up in one request, a larger one in parts of ${mib(PART_BYTES)} or more.`,
  };
}

/** Codes of OpenSSL and of Node's parser for a line whose other end speaks plain HTTP, or TLS. */
const PLAIN_BEHIND_TLS = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|HTTP_REQUEST|^EPROTO$/;
const NOT_HTTP = /^HPE_/;

/** `https://` to a port that speaks plain HTTP, and the reverse. */
export function explainScheme({ code, words }: Failure, bucket: Bucket): Problem | undefined {
  if (PLAIN_BEHIND_TLS.test(code)) return otherScheme(bucket, `it does not use TLS (${code})`);
  if (NOT_HTTP.test(code)) return otherScheme(bucket, `what came back is not HTTP (${code}: ${words})`);
  return undefined;
}

function otherScheme(bucket: Bucket, what: string): Problem {
  const isPlain = bucket.customEndpoint?.startsWith('http:') === true;
  return {
    title: 'Not an S3 response',
    reason: `${placeOf(bucket)} did not respond with ${isPlain ? 'HTTP' : 'HTTPS'}: ${what}.`,
    remedy: isPlain
      ? "Check the port; if it speaks TLS, write 'endpoint-url' with https://."
      : "Check the port; if it speaks plain HTTP, write 'endpoint-url' with http://. If a proxy itself uses plain HTTP, write it with http:// in HTTPS_PROXY, too.",
  };
}
