/** What the SDK's chain of credentials says of each source, which its last error does not repeat. */
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { foreignText } from '../untrusted/foreign-text.ts';

/** Why sources gave no credentials, in the order in which they were asked. */
export interface CredentialNotes {
  readonly sources: readonly string[];
  /** What the instance metadata service answered, which is asked last, on machines that have none too. */
  readonly metadataService: readonly string[];
}

/** A chain is short; what says more goes round in circles. */
const MAX_NOTES = 50;
/** What a source says that nobody configured, so its silence is not a failure. */
const NOT_CONFIGURED =
  /^(AWS_PROFILE is set, skipping|Unable to find environment variable|Skipping SSO provider|Could not resolve credentials using profile: |Profile \S+ (could not be found|did not contain)|Web identity configuration not specified|EC2 Instance Metadata Service access disabled|Could not load credentials from any|No HTTP credential provider host|Not found in (ENV|config files)|AWS_EC2_METADATA_V1_DISABLED not set)/;
const SAID = /^@smithy\/property-provider (?:->|\(!\)) ([\s\S]*)/;
/** What the SDK says before it asks the first source; its other settings have notes of their own. */
const BEGINS = 'credential-provider-node - defaultProvider::';
const ASKS_METADATA_SERVICE = 'remoteProvider::fromInstanceMetadata';
/** The SDK passes on no reason of a credential endpoint that answers with an error, only that it was asked. */
const ASKS_CONTAINER = 'remoteProvider::fromHttp';

/** Listens to the chain of credentials; what the SDK says besides goes nowhere, its console included. */
export function listenToSources(): { logger: NonNullable<S3ClientConfig['logger']>; notes: CredentialNotes } {
  const notes = { sources: [] as string[], metadataService: [] as string[] };
  let current: string[] | undefined;
  const debug = (text: unknown) => {
    if (typeof text !== 'string') return;
    if (text.includes(BEGINS)) current ??= notes.sources;
    if (text.includes(ASKS_CONTAINER)) notes.sources.push(CONTAINER_FAILED);
    if (text.includes(ASKS_METADATA_SERVICE)) {
      current = notes.metadataService;
      current.push('it provided none');
    }
    const said = SAID.exec(text)?.[1];
    if (said === undefined || current === undefined || NOT_CONFIGURED.test(said)) return;
    if (current.length < MAX_NOTES) current.push(said);
  };
  const silent = () => undefined;
  return { logger: { debug, info: silent, warn: silent, error: silent, trace: silent }, notes };
}

const CONTAINER_FAILED =
  'the credential endpoint that AWS_CONTAINER_CREDENTIALS_FULL_URI or AWS_CONTAINER_CREDENTIALS_RELATIVE_URI names did not give them';

/** Several reasons in one sentence, each once, without secrets; empty when there is none. */
export function inOneSentence(reasons: readonly string[]): string {
  const words = reasons.map((reason) => foreignText(withoutCommand(reason), 300).replace(/[.\s]+$/, ''));
  return [...new Set(words)].filter((text) => text !== '').join('; ');
}

/** Node repeats the whole command of a `credential_process`, whose arguments may be secret. */
function withoutCommand(reason: string): string {
  return reason.replace(/^Command failed: [^\n]*\n?/, 'credential_process failed: ').replace(/: $/, '');
}
