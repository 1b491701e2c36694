/** Several projects of one commit: `for-python` selects a wheel of each, and `project` takes some. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Job, startJob } from '../../testing/job.ts';
import { tool } from '../../testing/python.ts';
import type { StepResult } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

async function store(job: Job, target: string, name: string, run = '7'): Promise<void> {
  const path = await makeWheel(job.workspace, `${target}${run}/${name}`);
  const { errors } = await job.step('store', { target, path }, { GITHUB_RUN_ID: run });
  expect(errors).toEqual([]);
}

const names = ({ outputs }: StepResult) =>
  JSON.parse(outputs.wheels!).map(({ name }: { name: string }) => name);

const PYTHON = { target: '*', 'for-python': tool('python') };

describe('for-python', () => {
  test('one wheel of each project, of which one has an old Python', async () => {
    await using job = await startJob(bucket);
    await store(job, 'hexa', 'hexa-1.0-py3-none-any.whl');
    await store(job, 'libhexa', 'libhexa-1.0-py3-none-any.whl');
    await store(job, 'libhexa-old', 'libhexa-1.0-cp27-none-any.whl');
    const fetched = await job.step('fetch', { ...PYTHON, path: 'new' });
    expect(fetched).toMatchObject({ code: 0, errors: [] });
    expect(names(fetched)).toEqual(['hexa-1.0-py3-none-any.whl', 'libhexa-1.0-py3-none-any.whl']);
    expect(JSON.parse(fetched.outputs['wheel-paths']!)).toHaveLength(2);
  });

  test('with equal tags, the higher version of another project does not win', async () => {
    await using job = await startJob(bucket);
    await store(job, 'a', 'foo-1.0-py3-none-any.whl');
    await store(job, 'b', 'libfoo-2.0-py3-none-any.whl');
    const found = await job.step('find', PYTHON);
    expect(names(found)).toEqual(['foo-1.0-py3-none-any.whl', 'libfoo-2.0-py3-none-any.whl']);
    expect(found.outputs).toMatchObject({ 'skip-build': 'true', 'wheel-url': '' });
  });

  test('a project whose wheels it cannot install: not complete, and fetch fails', async () => {
    await using job = await startJob(bucket);
    await store(job, 'a', 'hexa-1.0-py3-none-any.whl');
    await store(job, 'b', 'libhexa-1.0-cp27-none-any.whl');
    const found = await job.step('find', PYTHON);
    expect(found.outputs['skip-build']).toBe('false');
    const fetched = await job.step('fetch', { ...PYTHON, path: 'new' });
    expect(fetched).toMatchObject({
      code: 1,
      errors: [expect.stringMatching(/a wheel of libhexa that .* can install; there are libhexa-1\.0-cp27/)],
    });
    const one = await job.step('fetch', { ...PYTHON, project: 'hexa', path: 'new' });
    expect(names(one)).toEqual(['hexa-1.0-py3-none-any.whl']);
  });

  test('a target that another project used before: only its newest wheel counts', async () => {
    await using job = await startJob(bucket);
    await store(job, 'x', 'hexa-2.0-py3-none-any.whl', '5');
    await store(job, 'x', 'libhexa-1.0-py3-none-any.whl', '6');
    await store(job, 'y', 'hexa-1.0-py3-none-any.whl', '6');
    expect(names(await job.step('find', PYTHON))).toEqual([
      'hexa-1.0-py3-none-any.whl',
      'libhexa-1.0-py3-none-any.whl',
    ]);
  });
});

describe('project', () => {
  test('takes the wheels of the named projects, however they are written', async () => {
    await using job = await startJob(bucket);
    await store(job, 'a', 'foo_bar-1.0-py3-none-any.whl');
    await store(job, 'b', 'baz-1.0-py3-none-any.whl');
    await store(job, 'c', 'qux-1.0-py3-none-any.whl');
    const found = await job.step('find', { target: '*', project: 'Foo.Bar\nBAZ' });
    expect(names(found)).toEqual(['foo_bar-1.0-py3-none-any.whl', 'baz-1.0-py3-none-any.whl']);
    expect(found.outputs['skip-build']).toBe('true');
  });

  test('one that is not stored: not complete, and fetch names it', async () => {
    await using job = await startJob(bucket);
    await store(job, 'a', 'foo-1.0-py3-none-any.whl');
    for (const more of [{}, PYTHON]) {
      const inputs = { target: '*', project: 'foo,bar', ...more };
      const found = await job.step('find', inputs);
      expect(found.outputs['skip-build']).toBe('false');
      const fetched = await job.step('fetch', { ...inputs, path: 'new' });
      expect(fetched).toMatchObject({ code: 1, errors: [expect.stringContaining('any target of bar of')] });
    }
  });

  test('a target whose newest wheel is of another project falls back to the older one', async () => {
    await using job = await startJob(bucket);
    await store(job, 'x', 'hexa-1.0-py3-none-any.whl', '5');
    await store(job, 'x', 'libhexa-1.0-py3-none-any.whl', '6');
    const found = await job.step('find', { target: 'x', project: 'hexa' });
    expect(found.outputs).toMatchObject({ 'wheel-name': 'hexa-1.0-py3-none-any.whl', 'run-id': '5' });
  });

  test('a slot with a second wheel of another project is still ignored', async () => {
    await using job = await startJob(bucket);
    await store(job, '', 'foo-1.0-py3-none-any.whl');
    await bucket.put(job.key('bar-1.0-py3-none-any.whl'), 'wheel');
    const found = await job.step('find', { project: 'foo' });
    expect(found.outputs['skip-build']).toBe('false');
    expect(found.warnings).toEqual([expect.stringContaining('Ignored a slot with 2 wheels')]);
  });

  test.each(['foo bar', '-foo', 'foo;ls', `f${'o'.repeat(300)}`])('%j is rejected', async (project) => {
    await using job = await startJob(bucket);
    const result = await job.step('find', { project, 'endpoint-url': 'http://127.0.0.1:9' });
    expect(result).toMatchObject({ code: 1, errors: [expect.stringContaining("The input 'project'")] });
  });
});
