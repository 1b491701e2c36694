import { describe, expect, test } from '@jest/globals';
import type { ListedMarker } from '../../src/channel/content.ts';
import { activeMarkers } from '../../src/channel/publishers.ts';

const HOUR = 3_600_000;
const at = (id: string, action: ListedMarker['action'], ageMs: number | undefined): ListedMarker => ({
  key: id,
  id,
  action,
  lastModified: ageMs === undefined ? undefined : new Date(Date.UTC(2026, 0, 1) - ageMs),
});
const OWN = at('own', 'publishing', 0);

describe('the markers of other steps', () => {
  test.each<[title: string, marker: ListedMarker, isActive: boolean]>([
    ['a step that publishes', at('a', 'publishing', HOUR), true],
    ['one that was killed', at('a', 'publishing', 7 * HOUR), false],
    ['a step that removes', at('a', 'removing', 30_000), true],
    ['one that was killed while it removed', at('a', 'removing', 61_000), false],
    ['of unknown age', at('a', 'removing', undefined), true],
    ['the own one', at('own', 'removing', 0), false],
  ])('%s', (_title, marker, isActive) => {
    expect(activeMarkers([OWN, marker], 'own')).toEqual(isActive ? [marker] : []);
  });

  test('age while we wait', () => {
    const marker = at('a', 'removing', 30_000);
    expect(activeMarkers([OWN, marker], 'own', 20_000)).toEqual([marker]);
    expect(activeMarkers([OWN, marker], 'own', 40_000)).toEqual([]);
  });
});
