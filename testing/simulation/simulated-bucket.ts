/** Replaces the modules that send requests, wait or create ids. The names and types are the same. */
import type { Bucket } from '../../src/bucket/bucket.ts';
import type { ListedObject, ListingOptions, ObjectHead } from '../../src/bucket/objects.ts';
import type { NewText, StoredText } from '../../src/bucket/text.ts';
import type { PutOutcome, Upload } from '../../src/bucket/upload.ts';
import {
  type Fate,
  hash,
  newId,
  patientSignal,
  pause,
  request,
  SimulatedError,
  type World,
} from './world.ts';

/** The bucket of one step. */
export type SimulatedBucket = Bucket & { readonly world: World };

const IDEMPOTENT: readonly Fate[] = ['done', 'refused'];
const WRITE: readonly Fate[] = ['done', 'lost', 'refused'];
const PUT: readonly Fate[] = ['done', 'lost', 'repeated', 'refused', 'failed'];

/** A signal for clean-up. It never aborts, because the schedule decides when a request ends. */
export const cleanUpDeadline = (signal: AbortSignal) => patientSignal(signal, 'clean-up');
/** A signal for requests that may still end after the step was cancelled. See bucket/deadline.ts. */
export const withGracePeriod = (signal: AbortSignal) => patientSignal(signal, 'grace');
/** `randomUUID` of `node:crypto`: the id of the step that is starting. */
export const randomUUID = newId;

/** `setTimeout` of `node:timers/promises`. */
export function setTimeout(
  _ms: number,
  value: unknown,
  { signal }: { signal: AbortSignal },
): Promise<unknown> {
  return pause(signal).then(() => value);
}

/** See bucket/objects.ts. Lists the whole prefix in one request. */
export function listObjects(
  bucket: Bucket,
  prefix: string,
  { signal, keep, shallow = false }: ListingOptions,
): Promise<ListedObject[]> {
  const { world } = bucket as SimulatedBucket;
  return request(signal, `list ${prefix.length}`, IDEMPOTENT, (fate) => {
    failIf(fate, 'refused');
    return [...world.objects]
      .filter(
        ([key]) =>
          key.startsWith(prefix) && keep(key) && !(shallow && key.slice(prefix.length).includes('/')),
      )
      .map(([key, { size, etag }]) => ({ key, size, etag, lastModified: undefined }))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }) as Promise<ListedObject[]>;
}

/** See bucket/objects.ts. */
export function headObject(
  bucket: Bucket,
  key: string,
  signal: AbortSignal,
): Promise<ObjectHead | undefined> {
  const { world } = bucket as SimulatedBucket;
  return request(signal, `head ${nameOf(key)}`, IDEMPOTENT, (fate) => {
    failIf(fate, 'refused');
    const object = world.objects.get(key);
    return object === undefined
      ? undefined
      : {
          key,
          size: object.size,
          etag: object.etag,
          lastModified: undefined,
          metadata: object.metadata,
        };
  }) as Promise<ObjectHead | undefined>;
}

/** Never called. */
export function hashObject(): Promise<string> {
  throw new Error('Each simulated wheel has a SHA-256.');
}

/** See bucket/objects.ts. */
export function deleteObject(bucket: Bucket, key: string, signal: AbortSignal): Promise<void> {
  const { world } = bucket as SimulatedBucket;
  return request(signal, `delete ${nameOf(key)}`, WRITE, (fate) => {
    failIf(fate, 'refused');
    world.objects.delete(key);
    failIf(fate, 'lost');
  }) as Promise<void>;
}

/** See bucket/objects.ts. */
export function putEmptyObject(
  bucket: Bucket,
  key: string,
  _onBehalfOf: string,
  signal: AbortSignal,
): Promise<void> {
  const { world } = bucket as SimulatedBucket;
  return request(signal, `put ${nameOf(key)}`, WRITE, (fate) => {
    failIf(fate, 'refused');
    world.objects.set(key, { size: 0, etag: '"empty"', metadata: {} });
    failIf(fate, 'lost');
  }) as Promise<void>;
}

/** See bucket/upload.ts for the outcomes. Its request may end when the step is cancelled, after the grace period. */
export function putFile(bucket: Bucket, upload: Upload): Promise<PutOutcome> {
  const { world } = bucket as SimulatedBucket;
  const { key, size, metadata, onlyIfAbsent, signal } = upload;
  return request(withGracePeriod(signal), `put ${nameOf(key)}`, PUT, (fate): PutOutcome => {
    failIf(fate, 'refused');
    const error = new SimulatedError(fate);
    if (fate === 'failed') return { outcome: 'unknown', error };
    if (onlyIfAbsent && world.engine === 'rejects') return { outcome: 'unsupported', error };
    const isTaken = onlyIfAbsent && world.engine === 'honours' && world.objects.has(key);
    const etag = `"${metadata.sha256!.slice(0, 4)}"`;
    if (!isTaken) world.objects.set(key, { size, etag, metadata });
    if (fate === 'lost') return { outcome: 'unknown', error };
    const isRepeatTaken = fate === 'repeated' && onlyIfAbsent && world.engine === 'honours';
    return isTaken || isRepeatTaken ? { outcome: 'taken' } : { outcome: 'created', etag };
  }) as Promise<PutOutcome>;
}

/** See bucket/text.ts. */
export function getText(bucket: Bucket, key: string, signal: AbortSignal): Promise<StoredText | undefined> {
  const { world } = bucket as SimulatedBucket;
  return request(signal, `get ${nameOf(key)}`, IDEMPOTENT, (fate) => {
    failIf(fate, 'refused');
    const object = world.objects.get(key);
    if (object === undefined) return undefined;
    const { contentType = '', cacheControl = '' } = object.metadata;
    return { text: object.text, etag: object.etag, contentType, cacheControl, hasMoreHeaders: false };
  }) as Promise<StoredText | undefined>;
}

/** See bucket/text.ts. */
export function replaceText(
  bucket: Bucket,
  key: string,
  { text, contentType, cacheControl }: NewText,
  before: StoredText | undefined,
  signal: AbortSignal,
): Promise<'written' | 'changed'> {
  const { world } = bucket as SimulatedBucket;
  return request(signal, `put ${nameOf(key)}`, WRITE, (fate) => {
    failIf(fate, 'refused');
    const isChanged = world.objects.get(key)?.etag !== before?.etag;
    if (isChanged && world.engine === 'honours') return 'changed';
    const etag = `"${hash(text)}"`;
    world.objects.set(key, { size: text.length, etag, metadata: { contentType, cacheControl }, text });
    failIf(fate, 'lost');
    return 'written';
  }) as Promise<'written' | 'changed'>;
}

/** The URL of a key. Sends nothing. */
export async function plainUrl(_bucket: Bucket, key: string): Promise<string> {
  return `https://example.com/${key}`;
}

function failIf(fate: Fate, ...failures: readonly Fate[]): void {
  if (failures.includes(fate)) throw new SimulatedError(fate);
}

function nameOf(key: string): string {
  return key
    .slice(key.lastIndexOf('/') + 1)
    .replace(/^\.([0-9a-f]{4})[0-9a-f]*\.[0-9a-f-]*?(\d)\./, '.$1.$2.');
}
