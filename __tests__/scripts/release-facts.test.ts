import { describe, expect, test } from '@jest/globals';
import { majorTagOf, sectionOf } from '../../scripts/release-facts.ts';

const CHANGELOG = `# Changes

Versions follow semantic versioning.

## Unreleased

- Not yet.

## 1.2.0 (2026-12-01)

- New.

### Details

- More.

## 1.1.10

- Old.

## 1.1.1
`;

describe('the section of the changelog for a version', () => {
  const cases: [version: string, section: string][] = [
    ['1.2.0', '- New.\n\n### Details\n\n- More.'],
    ['1.1.10', '- Old.'],
    ['1.1.1', ''],
    ['1.1', ''],
    ['9.9.9', ''],
  ];
  test.each(cases)('%s', (version, section) => {
    expect(sectionOf(CHANGELOG, version)).toBe(section);
  });
});

describe('which major tag moves', () => {
  const cases: [title: string, tag: string, tags: string[], moves: string][] = [
    ['the first release', 'v1.0.0', ['v1.0.0'], 'v1'],
    ['the newest of its major', 'v1.10.0', ['v1', 'v1.9.0', 'v1.10.0', 'v2.0.0', 'docs'], 'v1'],
    ['a new major', 'v2.0.0', ['v1.9.0', 'v2.0.0'], 'v2'],
    ['a fix of an old minor', 'v1.9.1', ['v1.10.0', 'v1.9.1'], ''],
    ['an old patch that is released late', 'v1.9.1', ['v1.9.2', 'v1.9.1'], ''],
  ];
  test.each(cases)('%s', (_title, tag, tags, moves) => {
    expect(majorTagOf(tag, tags)).toBe(moves);
  });

  test.each(['main', 'v1', '1.2.3', 'v1.2.3-rc.1', 'v1.2.3; rm'])('%s is not a version', (tag) => {
    expect(() => majorTagOf(tag, [])).toThrow('not a version tag');
  });
});
