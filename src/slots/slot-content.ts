/**
 * What a slot holds, from the viewpoint of one step: wheels, and the markers with which steps tell each other what they
 * do. See ARCHITECTURE.md.
 */
import type { Bucket } from '../bucket/bucket.ts';
import { type ListedObject, listObjects } from '../bucket/objects.ts';
import type { OpenWheel } from '../disk/open-wheel.ts';
import { readSlotMarker, readWheelKey, type Slot, type SlotMarker, slotFolder, wheelKey } from './layout.ts';

/** A wheel, and the slot in which to place it. */
export interface SlotWheel {
  readonly slot: Slot;
  readonly wheel: Pick<OpenWheel, 'filename' | 'size' | 'sha256'>;
}

/** What a slot holds. */
export interface SlotContent {
  /** The object with the key of our wheel. */
  readonly ours: ListedObject | undefined;
  /** Wheels with other filenames. */
  readonly others: readonly ListedObject[];
  /** Claims for other bytes. */
  readonly otherClaims: readonly SlotMarker[];
  /** Claims for our bytes, including our own. */
  readonly sameClaims: readonly SlotMarker[];
  /** Removal markers for our bytes. */
  readonly removals: readonly SlotMarker[];
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
  const keep = (key: string) => readSlotMarker(key) !== undefined || readWheelKey(slot, key) !== undefined;
  const objects = await listObjects(bucket, slotFolder(slot), { shallow: true, keep, signal });
  const ourKey = wheelKey(slot, wheel.filename);
  const markers = objects.map(({ key }) => readSlotMarker(key)).filter((marker) => marker !== undefined);
  const isSame = ({ sha256 }: SlotMarker) => sha256 === wheel.sha256;
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
