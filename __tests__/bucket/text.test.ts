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

/** Replaces a text in a store that answers its requests in this order. */
async function replace(before: StoredText | undefined, answers: readonly Answer[], over = {}) {
  const { bucket, requests } = await answeringBucket((_, nth) => answers[nth - 1]!, over);
  const outcome = await replaceText(bucket, 'index.html', PAGE, before, new AbortController().signal);
  const conditions = requests.map(({ headers }) => headers['if-match'] ?? headers['if-none-match'] ?? 'none');
  return { outcome, conditions };
}

describe('a text is replaced only as it was read', () => {
  test.each<[title: string, before: StoredText | undefined, answers: Answer[], outcome: string, string[]]>([
    ['as it was', BEFORE, [DONE], 'written', ['"abc"']],
    ['and still absent', undefined, [DONE], 'written', ['*']],
    ['but changed', BEFORE, [DIFFERS], 'changed', ['"abc"']],
    ['but created', undefined, [DIFFERS], 'changed', ['*']],
    ['but being put by another', BEFORE, [UNDER_WAY], 'changed', ['"abc"']],
    ['but deleted', BEFORE, [GONE], 'changed', ['"abc"']],
    ['in a store without conditions', BEFORE, [NO_CONDITIONS, DONE], 'written', ['"abc"', 'none']],
    ['absent, without conditions', undefined, [NO_CONDITIONS, DONE], 'written', ['*', 'none']],
  ])('%s', async (_title, before, answers, outcome, conditions) => {
    expect(await replace(before, answers)).toEqual({ outcome, conditions });
  });

  test.each<[title: string, answers: Answer[], outcome: string, conditions: string[]]>([
    ['knows it without its quotes', [DIFFERS, DONE], 'written', ['"abc"', 'abc']],
    ['has another', [DIFFERS, DIFFERS], 'changed', ['"abc"', 'abc']],
  ])('an engine that is not AWS %s', async (_title, answers, outcome, conditions) => {
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
