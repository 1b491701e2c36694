import { describe, expect, test } from '@jest/globals';
import { gateFaults, unpinned } from '../../checks/workflow-rules.ts';

const HASH = 'a'.repeat(40);

describe('how actions are pinned', () => {
  const cases: [line: string, fault: RegExp | undefined][] = [
    [`- uses: actions/checkout@${HASH} # v7.0.1`, undefined],
    [`  uses: github/codeql-action/init@${HASH}  # v4.36.2`, undefined],
    ['- uses: ./', undefined],
    ['- uses: ./fetch', undefined],
    ['    uses: ./.github/workflows/ci.yml', undefined],
    [`- uses: docker://alpine@sha256:${'b'.repeat(64)}`, undefined],
    ['# - uses: actions/checkout@v5', undefined],
    ['- uses: actions/checkout@v7', /not pinned/],
    ['- uses: actions/checkout@v7.0.1 # v7.0.1', /not pinned/],
    ['- uses: actions/checkout@main', /not pinned/],
    ['- uses: actions/checkout', /not pinned/],
    [`- uses: actions/checkout@${HASH.slice(1)} # v7.0.1`, /not pinned/],
    [`- uses: actions/checkout@${HASH}`, /no comment/],
    [`- uses: actions/checkout@${HASH} # v7`, /no comment/],
    ['- uses: docker://alpine:3', /no digest/],
  ];
  test.each(cases)('%s', (line, fault) => {
    const found = unpinned(`jobs:\n${line}\n`);
    if (fault === undefined) expect(found).toEqual([]);
    else expect(found).toEqual([expect.stringMatching(fault)]);
  });
});

describe('what the last job waits for', () => {
  const workflow = (on: string, last: string) => `on: ${on}\njobs:\n  a: {}\n  b: {}\n  passed: ${last}\n`;
  const cases: [title: string, text: string, faults: string[]][] = [
    ['everything', workflow('[push, pull_request]', '{ needs: [a, b], if: always() }'), []],
    ['in an expression', workflow('{ pull_request: }', '{ needs: [a, b], if: "${{ always() }}" }'), []],
    ['one is missing', workflow('pull_request', '{ needs: a, if: always() }'), ['does not need b']],
    ['all are missing', workflow('push', '{}'), ['does not need a', 'does not need b']],
    ['skipped if one fails', workflow('pull_request', '{ needs: [a, b] }'), ['does not have if: always()']],
    ['a release, which must stop if one fails', workflow('push', '{ needs: [a, b] }'), []],
    ['a single job', 'on: pull_request\njobs:\n  only: {}\n', []],
  ];
  test.each(cases)('%s', (_title, text, faults) => {
    expect(gateFaults(text)).toEqual(faults.map((fault) => expect.stringContaining(fault)));
  });
});
