import { describe, expect, test } from '@jest/globals';
import { type InspectedWheel, signsOfBuild } from '../../src/provenance/skipped-build.ts';

describe('what suggests that a build ran', () => {
  const wheel: InspectedWheel = {
    path: '/w',
    project: 'demo',
    isStored: false,
    isFetched: false,
    isOld: false,
  };
  const cases: [
    title: string,
    change: Partial<InspectedWheel>,
    verdict: 'skip' | undefined,
    isSign: boolean,
  ][] = [
    ['another wheel of the project', {}, undefined, true],
    ['the same, although find allowed skipping the build', {}, 'skip', true],
    ['the stored bytes, without a find step', { isStored: true }, undefined, true],
    ['the stored bytes, if find allowed skipping the build', { isStored: true }, 'skip', false],
    ['a wheel that fetch wrote', { isFetched: true }, undefined, false],
    ['a wheel from before the job', { isOld: true }, undefined, false],
    ['another project', { project: 'six' }, undefined, false],
    ['an invalid filename', { project: undefined }, undefined, false],
  ];
  test.each(cases)('%s', (_title, change, verdict, isSign) => {
    expect(signsOfBuild(['demo'], verdict, [{ ...wheel, ...change }])).toHaveLength(isSign ? 1 : 0);
  });
});
