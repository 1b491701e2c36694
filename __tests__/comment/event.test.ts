import { describe, expect, test } from '@jest/globals';
import { endedRunOf, pullRequestOf } from '../../src/runner/event.ts';

describe('the event', () => {
  test.each<[event: unknown, number: number | undefined]>([
    [undefined, undefined],
    [{}, undefined],
    [{ pull_request: { number: 5 } }, 5],
    [{ pull_request: { number: 5.5 } }, undefined],
    [{ pull_request: { number: -5 } }, undefined],
    [{ issue: { number: 5, pull_request: {} } }, 5],
    [{ issue: { number: 5 } }, undefined],
    [{ workflow_run: { pull_requests: [{ number: 5 }, { number: 6 }] } }, 5],
    [{ workflow_run: { pull_requests: [] } }, undefined],
  ])('%j: pull request %p', (event, number) => {
    expect(pullRequestOf(event as Parameters<typeof pullRequestOf>[0])).toBe(number);
  });

  test.each<[event: unknown, origin: object | undefined]>([
    [{ workflow_run: { id: 12, run_attempt: 3 } }, { run: '12', attempt: '3' }],
    [{ workflow_run: { id: 12 } }, undefined],
    [{ pull_request: { number: 5 } }, undefined],
  ])('%j: run %p', (event, origin) => {
    expect(endedRunOf(event as Parameters<typeof endedRunOf>[0])).toEqual(origin);
  });
});
