/** The input `commit-label`, in everything that people read. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startGitHubApi } from '../../testing/github-api.ts';
import { startJob } from '../../testing/job.ts';
import { shownText } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';
import { comment, expectSuccess, W } from './commenting.ts';

/** A hash of two commits. */
const COMMIT = 'd'.repeat(64);
const LABEL = 'duckdb v1.4.0 + <b>httpfs</b> 1a2b3c4 @octocat #1 [x](y) `z` |';
const SHORT = new RegExp(`\\b${COMMIT.slice(0, 7)}\\b`);
const inputs = { commit: COMMIT, 'commit-label': LABEL };

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket({ isPublic: true });
});

describe('a label is shown instead of the commit', () => {
  test('in summary, comment and page, as text; the log has the hash once', async () => {
    await using job = await startJob(bucket);
    await using api = await startGitHubApi();
    await makeWheel(job.dist, W);
    const result = await comment(job, api, { ...inputs, index: 'true' });
    expectSuccess(result);
    expect(result.outputs['wheel-key']).toBe(`${job.prefix}/${COMMIT}/7_1/${W}`);
    expect(result.log.split(`Commit ${COMMIT}.`)).toHaveLength(2);
    const page = (await bucket.get(`${job.prefix}/${COMMIT}/index.html`)).toString('utf8');
    const body = api.comments[0]!.body;
    for (const text of [result.summary, body, page]) {
      expect(shownText(text)).toContain(LABEL);
      expect(text).not.toContain('<b>');
      expect(text).not.toMatch(SHORT);
      expect(text).not.toContain(`/commit/${COMMIT}`);
    }
    expect(page).not.toContain('Commit');
    expect(body).not.toContain('commit]');
  });

  test('in the reason for a build', async () => {
    await using job = await startJob(bucket);
    const { summary, log, outputs } = await job.step('find', inputs);
    expect(outputs['skip-build']).toBe('false');
    expect(shownText(summary)).toContain(`of ${LABEL}, from any run`);
    expect(summary).not.toContain('<b>');
    expect(log).toContain(`Commit ${COMMIT}.`);
  });

  test('and in the error of fetch', async () => {
    await using job = await startJob(bucket);
    const { errors } = await job.step('fetch', inputs);
    expect(errors).toEqual([expect.stringContaining(`of ${LABEL}, from any run`)]);
  });

  test('the look-up goes by the commit', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await job.step('store', inputs);
    const found = await job.step('find', { commit: COMMIT, 'commit-label': 'another' });
    expect(found.outputs['skip-build']).toBe('true');
    const other = await job.step('find', { ...inputs, commit: 'e'.repeat(64) });
    expect(other.outputs['skip-build']).toBe('false');
  });

  test('of 100 characters', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    const label = '😀'.repeat(100);
    const { summary, code } = await job.step('store', { ...inputs, 'commit-label': label });
    expect(code).toBe(0);
    expect(summary).toContain(label);
  });
});
