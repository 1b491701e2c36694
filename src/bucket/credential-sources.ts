/** Collects why each source of the SDK's credential chain failed. The chain's own error doesn't contain this. */
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { foreignText } from '../untrusted/foreign-text.ts';

/** Why the sources provided no credentials, in the order in which they were tried. */
export interface CredentialFailures {
  readonly sources: readonly string[];
  /** Failures of the instance metadata service, which is tried last, even on machines that don't have one. */
  readonly metadataService: readonly string[];
}

/** A chain is short; more messages than this mean a loop. */
const MAX_REASONS = 50;
/** Messages of sources that aren't configured, which are not failures. */
const NOT_CONFIGURED =
  /^(AWS_PROFILE is set, skipping|Unable to find environment variable|Skipping SSO provider|Could not resolve credentials using profile: |Profile \S+ (could not be found|did not contain)|Web identity configuration not specified|EC2 Instance Metadata Service access disabled|Could not load credentials from any|No HTTP credential provider host|Not found in (ENV|config files)|AWS_EC2_METADATA_V1_DISABLED not set)/;
const SOURCE_MESSAGE = /^@smithy\/property-provider (?:->|\(!\)) ([\s\S]*)/;
/** Logged before the first source is tried. The SDK logs similar messages for other settings before that. */
const CHAIN_STARTS = 'credential-provider-node - defaultProvider::';
const TRIES_METADATA_SERVICE = 'remoteProvider::fromInstanceMetadata';
/** If a credential endpoint fails, the SDK logs no reason, only that it was tried. */
const TRIES_CONTAINER = 'remoteProvider::fromHttp';

/** A logger for the SDK that collects the failures of the credential chain and discards all other messages. */
export function collectSourceFailures(): {
  logger: NonNullable<S3ClientConfig['logger']>;
  failures: CredentialFailures;
} {
  const failures = { sources: [] as string[], metadataService: [] as string[] };
  let current: string[] | undefined;
  const debug = (text: unknown) => {
    if (typeof text !== 'string') return;
    if (text.includes(CHAIN_STARTS)) current ??= failures.sources;
    if (text.includes(TRIES_CONTAINER)) failures.sources.push(CONTAINER_FAILED);
    if (text.includes(TRIES_METADATA_SERVICE)) {
      current = failures.metadataService;
      current.push('it provided none');
    }
    const message = SOURCE_MESSAGE.exec(text)?.[1];
    if (message === undefined || current === undefined || NOT_CONFIGURED.test(message)) return;
    if (current.length < MAX_REASONS) current.push(message);
  };
  const silent = () => undefined;
  return { logger: { debug, info: silent, warn: silent, error: silent, trace: silent }, failures };
}

const CONTAINER_FAILED =
  'the credential endpoint that AWS_CONTAINER_CREDENTIALS_FULL_URI or AWS_CONTAINER_CREDENTIALS_RELATIVE_URI names did not give them';

/** Joins reasons into one phrase, without duplicates and secrets; empty if there are none. */
export function joinReasons(reasons: readonly string[]): string {
  const texts = reasons.map((reason) => foreignText(withoutCommand(reason), 300).replace(/[.\s]+$/, ''));
  return [...new Set(texts)].filter((text) => text !== '').join('; ');
}

/** Node's message contains the whole command of a `credential_process`, whose arguments may be secret. */
function withoutCommand(reason: string): string {
  return reason.replace(/^Command failed: [^\n]*\n?/, 'credential_process failed: ').replace(/: $/, '');
}
