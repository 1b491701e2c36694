/** What store makes of wheels that are hostile or broken: a sentence, exit 1, and nothing sent; or a warning. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../stand-ins/bucket.ts';
import { startFaultProxy } from '../stand-ins/fault-proxy.ts';
import { type Job, startJob } from '../stand-ins/job.ts';
import { type StepResult, shownText } from '../stand-ins/runner.ts';
import { makeWheel, wheelBytes } from '../stand-ins/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const UNSEEN = /[\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Stores what lies in the job's folder, and shows that the wheel was refused before the first request. */
async function refused(job: Job): Promise<StepResult> {
  await using proxy = await startFaultProxy(bucket.endpoint);
  const result = await job.step('store', { 'endpoint-url': proxy.endpoint });
  expect({
    code: result.code,
    requests: proxy.requests.length,
    outputs: result.outputs['wheel-url'],
  }).toEqual({
    code: 1,
    requests: 0,
    outputs: undefined,
  });
  expect(result.errors).toHaveLength(1);
  expect(result.log).not.toMatch(UNSEEN);
  return result;
}

describe('case 50: a filename with a character that a shell acts on', () => {
  const names = [
    'demo-1.0-1$(id)-py3-none-any.whl',
    'demo-1.0-1`id`-py3-none-any.whl',
    'demo-1.0-1;id-py3-none-any.whl',
    'demo-1.0-1%PATH%-py3-none-any.whl',
    'démo-1.0-py3-none-any.whl',
    'demo-1.0-1\u202e-py3-none-any.whl',
  ];
  test.each(names)('%j is refused, and says which', async (name) => {
    await using job = await startJob(bucket);
    await mkdir(job.dist);
    await writeFile(join(job.dist, name), wheelBytes(W));
    const { errors } = await refused(job);
    expect(errors[0]).toMatch(/is not the filename of a wheel: it holds ".{1,6}"\./);
    expect(errors[0]).toContain('only letters (A to Z, a to z), digits and _ . + ! -');
  });
});

describe('case 52: a character that cannot be seen', () => {
  test('in the name of a file is escaped in the summary and the log', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, { files: { 'demo/a\u202ecod.exe\u2066\u200b': new Uint8Array(9) } });
    const { code, summary, log } = await job.step('store');
    expect(code).toBe(0);
    expect(`${summary}${log}`).not.toMatch(UNSEEN);
    expect(shownText(summary)).toContain('demo/a\\u202ecod.exe\\u2066\\u200b');
  });

  test('in a version or a project is escaped in the error', async () => {
    for (const recipe of [{ version: '1.0\u202e' }, { project: 'de\u2066mo' }]) {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W, recipe);
      expect((await refused(job)).errors[0]).toMatch(/\\u202e|\\u2066/);
    }
  });
});

describe('case 51: a text of a wheel that would keep a reader busy for ever', () => {
  const blanks = ' '.repeat(15_000);
  const recipes = {
    'a Version with blanks': { version: `1<${blanks}>x` },
    'a Version of 15,000 digits': { version: '1'.repeat(15_000) },
    'a WHEEL of 20,000 Tag lines': {
      tags: Array.from({ length: 20_000 }, (_, index) => `py3-none-x${index}`),
    },
    'a WHEEL of 500 Tag lines of 1,000 tags': {
      tags: Array(500).fill(Array(3).fill('a.b.c.d.e.f.g.h.i.j').join('-')),
    },
  };
  test.each(Object.entries(recipes))('%s is refused', async (_kind, recipe) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, recipe);
    const { errors } = await refused(job);
    expect(errors[0]).toMatch(/^"demo-1\.0-py3-none-any\.whl" (has the Version|has \d+ Tag lines)/);
    expect(errors[0]!.length).toBeLessThan(1_000);
  });

  test.each(Object.entries(recipes))(
    '%s does not keep the step from ending on SIGTERM',
    async (_kind, recipe) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W, recipe);
      const { code, signal } = await job.step('store', {}, {}, (child) => void child.kill('SIGTERM'));
      expect(code === 1 || signal === 'SIGTERM').toBe(true);
      expect(await job.keys()).toEqual([]);
    },
  );
});
