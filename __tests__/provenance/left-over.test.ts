import { describe, expect, test } from '@jest/globals';
import { provenanceOf } from '../../src/provenance/left-over.ts';

describe('where a wheel is from, by its times and the start of the job', () => {
  const BEGAN = 1_000_000;
  const cases: [title: string, modified: number, changed: number, origin: string][] = [
    ['built by the job', BEGAN + 5_000, BEGAN + 5_000, 'this job'],
    ['built when the job began', BEGAN, BEGAN, 'this job'],
    ['within the resolution of a coarse clock', BEGAN - 2_000, BEGAN - 2_000, 'this job'],
    ['left over from an earlier job', BEGAN - 2_001, BEGAN - 2_001, 'left over'],
    ['restored with its old modification time', BEGAN - 60_000, BEGAN + 5_000, 'restored'],
    ['a modification time in the future', BEGAN + 60_000, BEGAN - 60_000, 'this job'],
  ];
  test.each(cases)('%s', (_title, modified, changed, origin) => {
    expect(provenanceOf({ modified, changed }, BEGAN)).toBe(origin);
  });
});
