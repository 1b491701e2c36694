/** The values of `path` in store and fetch. */
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { type Job, startJob } from '../../testing/job.ts';
import type { ActionName, StepResult } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

const W = 'demo-1.0-py3-none-any.whl';
const OTHER = 'demo-1.0-cp312-cp312-win_amd64.whl';
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Runs a step with the workspace's `home` as home folder, and counts its requests. */
async function step(
  job: Job,
  action: ActionName,
  path: string,
): Promise<StepResult & { readonly requests: number }> {
  await using proxy = await startFaultProxy(bucket.endpoint);
  const home = join(job.workspace, 'home');
  const inputs = { path, 'endpoint-url': proxy.endpoint };
  const result = await job.step(action, inputs, { HOME: home, USERPROFILE: home });
  return { ...result, requests: proxy.requests.length };
}

describe('case 53: store finds the wheel', () => {
  test.each<[path: string, files: string[]]>([
    ['~/wheels', [`home/wheels/${W}`]],
    ['~/wheels/*.whl', [`home/wheels/${W}`]],
    ['~', [`home/${W}`]],
    ['wheelhouse\ndist', [`dist/${W}`]],
    ['# from cibuildwheel\nwheelhouse/*.whl\n\n  dist  ', [`wheelhouse/${W}`]],
    ['dist/*.whl\n!dist/*win*', [`dist/${W}`, `dist/${OTHER}`]],
    ['dist\n!**/*win*', [`dist/${W}`, `dist/${OTHER}`]],
    ['dist/**/*.whl\n!dist/old', [`dist/${W}`, `dist/old/a/${OTHER}`]],
    ['dist\n!dist\ndist/*none*', [`dist/${W}`, `dist/${OTHER}`]],
    ['dist/*.whl\ndist', [`dist/${W}`]],
    ['py/*/build/wheel', [`py/40/build/wheel/${W}`]],
    ['{out,dist}/*-{py2,py3}-*.whl', [`dist/${W}`]],
    ['./dist/[!.]*.whl', [`dist/${W}`]],
    ['[x]', [`[x]/${W}`, `x/${OTHER}`]],
    ['{a,b}', [`{a,b}/${W}`, `a/${OTHER}`]],
    ['$OUT', [`$OUT/${W}`]],
    ['!odd', [`!odd/${W}`]],
    ['#odd', [`#odd/${W}`]],
    ['~odd', [`~odd/${W}`]],
  ])('%j', async (path, files) => {
    await using job = await startJob(bucket);
    for (const file of files) await makeWheel(job.workspace, file);
    const result = await step(job, 'store', path);
    expect(result.errors).toEqual([]);
    expect(result.outputs['wheel-name']).toBe(W);
  });

  test('through links to folders, one of which is a loop', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.workspace, `real/${W}`);
    await mkdir(job.dist);
    await symlink(join(job.workspace, 'real'), join(job.dist, 'linked'));
    await symlink(job.workspace, join(job.dist, 'loop'));
    expect((await step(job, 'store', 'dist/**/*.whl')).outputs['wheel-name']).toBe(W);
  });
});

describe('case 53: an invalid path in store: an error with the reason, before any request', () => {
  test.each<[path: string, texts: string[]]>([
    ['$GITHUB_WORKSPACE/dist', ['"$GITHUB_WORKSPACE/dist"', 'not expanded', 'workspace']],
    ['${GITHUB_WORKSPACE}/dist', ['not expanded']],
    ['%USERPROFILE%/wheels', ['not expanded', '~']],
    ['$RUNNER_TEMP/*.whl', ['not expanded', '${{ runner.temp }}']],
    ['${{ github.workspace }}/dist', ['did not evaluate', 'paths begin in the workspace']],
    ['${{ runner.temp }}/dist', ['did not evaluate', 'workflow file']],
    ['dist\n$OUT/wheels', ['$OUT', '${{ env.OUT }}']],
    ['dist\n!$OUT/wheels', ['$OUT', '${{ env.OUT }}']],
    ['~runner/wheels', ['~runner/wheels', 'another user']],
    ['!dist', ['nothing to look for']],
    ['# dist', ['nothing to look for']],
    ['{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}', ['1000']],
    [`dist/${'x'.repeat(300)}`, ['ENAMETOOLONG', 'name too long']],
    ['loop/dist', ['ELOOP', 'loop/dist']],
  ])('%j', async (path, texts) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await symlink('loop', join(job.workspace, 'loop'));
    const result = await step(job, 'store', path);
    expect(result.code).toBe(1);
    expect(result.errors).toHaveLength(1);
    for (const text of texts) expect(result.errors[0]).toContain(text);
    expect(result.errors[0]).not.toContain('defect');
    expect(result.requests).toBe(0);
  });

  test('two wheels in two folders: the error contains both paths', async () => {
    await using job = await startJob(bucket);
    const paths = [await makeWheel(job.workspace, `a/${W}`), await makeWheel(job.workspace, `b/${W}`)];
    const result = await step(job, 'store', 'a\nb');
    for (const path of paths) expect(result.errors[0]).toContain(path);
  });

  test('no wheel at several lines: the error contains each line, its folder and the files there', async () => {
    await using job = await startJob(bucket);
    await mkdir(job.dist);
    await writeFile(join(job.dist, 'demo-1.0.tar.gz'), 'sdist');
    const result = await step(job, 'store', 'dist\nout/*.whl\n~/wheels\n!dist/old');
    expect(result.code).toBe(1);
    for (const text of [
      job.dist,
      'demo-1.0.tar.gz',
      "'out/*.whl'",
      "'~/wheels'",
      join(job.workspace, 'home'),
    ])
      expect(result.errors[0]).toContain(text);
  });
});

describe('no wheel at path, and none stored: the error says what would have matched', () => {
  test.each<[path: string, files: string[], texts: string[]]>([
    ['dist', [`target/wheels/${W}`], ['there is no', `only home/, target/ in`, 'path: target/wheels?']],
    ['dist', [`home/target/wheels/${W}`], ['path: home/target/wheels?']],
    ['Wheelhouse/*.whl', [`wheelhouse/${W}`, `build/${OTHER}`], ['path: wheelhouse or path: build?']],
    ['dist', [`dist/linux/${W}`], ['contains only linux/', 'path: dist/linux?']],
    ['dist/other-*.whl', [`dist/${W}`], [`contains only ${W}`, 'path: dist?']],
    ['dist\n!dist/demo*', [`dist/${W}`], ["by '!dist/demo*'", 'begin with !']],
    ['"dist/*.whl"', [`dist/${W}`], ['without the quotes', 'path: dist/*.whl.']],
    ['dist/*.whl # built', [`dist/${W}`], ['comment on its own line: path: dist/*.whl.']],
    ['dist/*.whl, out/*.whl', [`dist/${W}`], ['each pattern on its own line']],
    ['dist/*/', [`dist/${W}`], [`contains only ${W}`, 'path: dist?']],
    ...(process.platform === 'win32'
      ? []
      : ([['dist\\*.whl', [`dist/${W}`], ['separated by /', 'path: dist/*.whl.']]] as [
          string,
          string[],
          string[],
        ][])),
  ])('%j, with %j', async (path, files, texts) => {
    await using job = await startJob(bucket);
    await mkdir(join(job.workspace, 'home'));
    for (const file of files) await makeWheel(job.workspace, file);
    const result = await step(job, 'store', path);
    expect(result.code).toBe(1);
    expect(result.errors).toHaveLength(1);
    for (const text of texts) expect(result.errors[0]).toContain(text);
  });

  test('files that are no wheels, with the reason', async () => {
    await using job = await startJob(bucket);
    await mkdir(join(job.dist, 'unpacked.whl'), { recursive: true });
    await symlink('gone', join(job.dist, 'linked.whl'));
    for (const name of ['.hidden.whl', 'demo-1.0.tar.gz', 'demo.whl.zip'])
      await writeFile(join(job.dist, name), 'x');
    const result = await step(job, 'store', 'dist');
    const names =
      '.hidden.whl (hidden), demo-1.0.tar.gz, demo.whl.zip, linked.whl (a dangling link), unpacked.whl (a folder)';
    expect(result.errors[0]).toContain(`contains only ${names}`);
    expect(result.errors[0]).toContain('build the wheel too');
  });
});

test('the log names the other files at path', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  await mkdir(join(job.dist, 'sub'));
  for (let index = 10; index < 25; index += 1) await writeFile(join(job.dist, `notes-${index}.txt`), 'x');
  await writeFile(join(job.dist, 'demo-1.0.tar.gz'), 'sdist');
  const result = await step(job, 'store', 'dist');
  expect(result.errors).toEqual([]);
  expect(result.log).toContain("Also at 'path', not stored: demo-1.0.tar.gz, notes-10.txt,");
  expect(result.log).toContain('notes-18.txt and 7 more.');
  expect((await step(job, 'store', 'dist/*.whl')).log).not.toContain('not stored');
});

// /proc contains links to everything, and nothing can be created in it.
if (process.platform === 'linux') {
  test('case 53: a search in /proc ends', async () => {
    await using job = await startJob(bucket);
    const paths = ['/proc/self/x', '/proc/self/task/**/*.whl', '/proc/self/**'];
    for (const result of await Promise.all(paths.map((path) => step(job, 'store', path)))) {
      expect(result.code).toBe(1);
      expect(result.errors).toHaveLength(1);
      expect(result.errors[0]).not.toContain('defect');
    }
  });
}

describe('case 54: fetch', () => {
  test.each([
    ['~/w', 'home/w'],
    ['~', 'home'],
    ['./~', '~'],
  ])('into %s', async (path, folder) => {
    await using job = await startJob(bucket);
    await makeWheel(job.workspace, `built/${W}`);
    await job.step('store', { path: 'built' });
    const result = await step(job, 'fetch', path);
    expect(result.errors).toEqual([]);
    expect(result.outputs['wheel-path']).toBe(join(job.workspace, folder, W));
    expect(await readdir(join(job.workspace, folder))).toEqual([W]);
  });

  test.each(['$HOME/w', '${RUNNER_TEMP}/w', '%TEMP%\\w', 'out/$NAME', '~runner/w', 'dist\nout'])(
    'refuses %j before any request, and creates nothing',
    async (path) => {
      await using job = await startJob(bucket);
      const result = await step(job, 'fetch', path);
      expect(result.code).toBe(1);
      expect(result.errors).toHaveLength(1);
      expect(result.requests).toBe(0);
      expect(await readdir(job.workspace)).toEqual([]);
    },
  );
});
