import { describe, expect, test } from '@jest/globals';
import { replaceText, type StoredText } from '../../src/bucket/text.ts';
import { type Answer, answeringBucket } from '../../testing/answering-bucket.ts';

const PAGE = { text: 'new', contentType: 'text/html', cacheControl: 'no-cache' };
const BEFORE: StoredText = { ...PAGE, text: 'old', etag: '"abc"', hasMoreHeaders: false };
const ELSEWHERE = { endpoint: 'https://s3.example.com' };
const DONE: Answer = { status: 200 };
const DIFFERS: Answer = { status: 412, code: 'PreconditionFailed' };
const UNDER_WAY: Answer = { status: 409, code: 'ConditionalRequestConflict' };
const GONE: Answer = { status: 404, code: 'NoSuchKey' };
const NO_CONDITIONS: Answer = { status: 501, code: 'NotImplemented' };

/** Replaces a text in a store that returns these responses in order. */
async function replace(before: StoredText | undefined, answers: readonly Answer[], over = {}) {
  const { bucket, requests } = await answeringBucket((_, nth) => answers[nth - 1]!, over);
  const outcome = await replaceText(bucket, 'index.html', PAGE, before, new AbortController().signal);
  const conditions = requests.map(({ headers }) => headers['if-match'] ?? headers['if-none-match'] ?? 'none');
  return { outcome, conditions };
}

describe('a text is replaced only if it is unchanged', () => {
  test.each<[title: string, before: StoredText | undefined, answers: Answer[], outcome: string, string[]]>([
    ['unchanged', BEFORE, [DONE], 'written', ['"abc"']],
    ['still absent', undefined, [DONE], 'written', ['*']],
    ['changed', BEFORE, [DIFFERS], 'changed', ['"abc"']],
    ['created by another step', undefined, [DIFFERS], 'changed', ['*']],
    ['being put by another step', BEFORE, [UNDER_WAY], 'changed', ['"abc"']],
    ['deleted', BEFORE, [GONE], 'changed', ['"abc"']],
    ['in a store without conditions', BEFORE, [NO_CONDITIONS, DONE], 'written', ['"abc"', 'none']],
    ['absent, in a store without conditions', undefined, [NO_CONDITIONS, DONE], 'written', ['*', 'none']],
  ])('%s', async (_title, before, answers, outcome, conditions) => {
    expect(await replace(before, answers)).toEqual({ outcome, conditions });
  });

  test.each<[title: string, answers: Answer[], outcome: string, conditions: string[]]>([
    ['matches the ETag only without quotes', [DIFFERS, DONE], 'written', ['"abc"', 'abc']],
    ['has another ETag', [DIFFERS, DIFFERS], 'changed', ['"abc"', 'abc']],
  ])('a custom endpoint %s', async (_title, answers, outcome, conditions) => {
    expect(await replace(BEFORE, answers, ELSEWHERE)).toEqual({ outcome, conditions });
  });

  test.each<[title: string, answers: Answer[]]>([
    ['No such bucket', [{ status: 404, code: 'NoSuchBucket' }]],
    ['Access denied', [{ status: 403, code: 'AccessDenied' }]],
    ['Access denied', [NO_CONDITIONS, { status: 403, code: 'AccessDenied' }]],
  ])('%s', async (title, answers) => {
    await expect(replace(BEFORE, answers)).rejects.toMatchObject({ title });
  });
});
