/**
 * What a slot holds, from the viewpoint of one step: wheels, and the markers with which steps tell each other what they
 * do. See ARCHITECTURE.md.
 */
import type { Bucket } from '../bucket/bucket.ts';
import { type ListedObject, listObjects } from '../bucket/objects.ts';
import type { OpenWheel } from '../disk/open-wheel.ts';
import { readWheelKey, type Slot, slotFolder, wheelKey } from './layout.ts';

/** A wheel, and the slot in which to place it. */
export interface SlotWheel {
  readonly slot: Slot;
  readonly wheel: Pick<OpenWheel, 'filename' | 'size' | 'sha256'>;
}

/** An empty object that says what the step with this put id does with a wheel. */
export interface Marker {
  readonly key: string;
  /** Of the wheel, lower-case hex. */
  readonly sha256: string;
  readonly putId: string;
  /** `claim`: the step puts the wheel or relies on it. `removing`: the step is about to remove it. */
  readonly kind: 'claim' | 'removing';
}

/** What a slot holds. */
export interface SlotContent {
  /** The object with the key of our wheel. */
  readonly ours: ListedObject | undefined;
  /** Wheels with other filenames. */
  readonly others: readonly ListedObject[];
  /** Claims for other bytes. */
  readonly otherClaims: readonly Marker[];
  /** Claims for our bytes, including our own. */
  readonly sameClaims: readonly Marker[];
  /** Removal markers for our bytes. */
  readonly removals: readonly Marker[];
}

const MARKER = /\/\.([0-9a-f]{64})\.([0-9a-f-]{36})\.(claim|removing)$/;

/** The key of the marker of the step with this put id. */
export function markerKey({ slot, wheel }: SlotWheel, putId: string, kind: Marker['kind']): string {
  return `${slotFolder(slot)}.${wheel.sha256}.${putId}.${kind}`;
}

/** @returns undefined if it is not the key of a marker */
export function readMarker(key: string): Marker | undefined {
  const [, sha256, putId, kind] = MARKER.exec(key) ?? [];
  if (sha256 === undefined || putId === undefined) return undefined;
  return { key, sha256, putId, kind: kind as Marker['kind'] };
}

/**
 * Lists the slot of a wheel.
 *
 * @throws WheelStoreError if the store rejects the request
 */
export async function listSlotContent(
  bucket: Bucket,
  { slot, wheel }: SlotWheel,
  signal: AbortSignal,
): Promise<SlotContent> {
  const keep = (key: string) => readMarker(key) !== undefined || readWheelKey(slot, key) !== undefined;
  const objects = await listObjects(bucket, slotFolder(slot), { shallow: true, keep, signal });
  const ourKey = wheelKey(slot, wheel.filename);
  const markers = objects.map(({ key }) => readMarker(key)).filter((marker) => marker !== undefined);
  const isSame = ({ sha256 }: Marker) => sha256 === wheel.sha256;
  const claims = markers.filter(({ kind }) => kind === 'claim');
  return {
    ours: objects.find(({ key }) => key === ourKey),
    others: objects.filter(
      ({ key, size }) => key !== ourKey && size > 0 && readWheelKey(slot, key) !== undefined,
    ),
    otherClaims: claims.filter((claim) => !isSame(claim)),
    sameClaims: claims.filter(isSame),
    removals: markers.filter((marker) => marker.kind === 'removing' && isSame(marker)),
  };
}
