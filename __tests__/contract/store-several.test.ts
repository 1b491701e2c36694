/** A job that leaves several wheels, and stores each in its own slot with `target: "*"`. */
import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { type Fault, type SeenRequest, s3Error, startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { tool } from '../../testing/python.ts';
import { type StepResult, shownText } from '../../testing/runner.ts';
import { makeWheel } from '../../testing/wheels.ts';

/** As cibuildwheel leaves them for three Pythons on Linux, by target. */
const BUILT: Readonly<Record<string, string>> = {
  'cp312-manylinux_x86_64': 'demo-1.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl',
  'cp313-manylinux_x86_64': 'demo-1.0-cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64.whl',
  'cp313t-musllinux_x86_64': 'demo-1.0-cp313-cp313t-musllinux_1_2_x86_64.whl',
};
const TARGETS = Object.keys(BUILT);
const [FIRST, SECOND, THIRD] = TARGETS as [string, string, string];
const MIB = 1024 * 1024;
const NEVER = new Promise<never>(() => undefined);
const LARGE = { files: { 'demo/noise.bin': new Uint8Array(20 * MIB) }, level: 0 } as const;

let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

async function build(job: Job, targets = TARGETS, recipe = {}): Promise<void> {
  for (const target of targets) await makeWheel(job.dist, BUILT[target]!, recipe);
}

/** The key of a wheel of {@link BUILT} in run 7, attempt 1. */
const keyOf = (job: Job, target: string) => job.key(`${target}/${BUILT[target]}`);

/** The targets in the output `wheels`. */
function targetsIn({ outputs }: StepResult): string[] {
  return (JSON.parse(outputs.wheels ?? '[]') as { target: string }[]).map(({ target }) => target);
}

/** The title of the error annotation. */
const titleOf = ({ commands }: StepResult) => commands.find(({ name }) => name === 'error')?.properties.title;

describe('each wheel has its own slot', () => {
  test('three of cibuildwheel: outputs, log, summary and index page name all, and find and fetch find them', async () => {
    await using job = await startJob(bucket);
    await build(job);
    const result = await job.step('store', { target: '*', expect: `${FIRST}, ${SECOND}\n${THIRD}` });
    expect({ errors: result.errors, warnings: result.warnings, code: result.code }).toEqual({
      errors: [],
      warnings: [],
      code: 0,
    });
    expect(await job.keys()).toEqual(TARGETS.map((target) => keyOf(job, target)));
    expect(targetsIn(result)).toEqual(TARGETS);
    expect(result.outputs).toMatchObject({
      'skip-build': 'false',
      'wheel-url': '',
      sha256: '',
      'run-id': '',
    });
    const page = await job.page();
    for (const target of TARGETS) {
      expect(result.log).toContain(`Stored s3://${bucket.name}/${keyOf(job, target)}.`);
      for (const shown of [result.summary, page]) expect(shownText(shown)).toContain(BUILT[target]);
    }
    expect(result.summary).toContain('3 wheels stored');

    const found = await job.step('find', { target: TARGETS.join(',') }, { GITHUB_RUN_ID: '8' });
    expect(found.outputs).toMatchObject({ 'skip-build': 'true', 'missing-targets': '[]' });
    const fetched = await job.step('fetch', { target: SECOND, path: 'fetched' });
    expect(await readFile(fetched.outputs['wheel-path']!)).toEqual(
      await readFile(join(job.dist, BUILT[SECOND]!)),
    );
  });

  test('a step that runs again uploads nothing', async () => {
    await using job = await startJob(bucket);
    await build(job);
    await job.step('store', { target: '*' });
    await using proxy = await startFaultProxy(bucket.endpoint);
    const again = await job.step('store', { target: '*', 'endpoint-url': proxy.endpoint });
    expect(again.errors).toEqual([]);
    expect(targetsIn(again)).toEqual(TARGETS);
    expect(
      proxy.requests.filter(({ operation, path }) => operation === 'put' && path.endsWith('.whl')),
    ).toEqual([]);
  });

  test('two projects: targets begin with the project, and each has its page, written once', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, 'libfoo-1.0-py3-none-any.whl');
    await makeWheel(job.dist, 'foo-2.0-py3-none-any.whl');
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('store', { target: '*', 'endpoint-url': proxy.endpoint });
    expect(result.errors).toEqual([]);
    expect(targetsIn(result)).toEqual(['foo.py3-none-any', 'libfoo.py3-none-any']);
    const pages = proxy.requests.filter(
      ({ operation, path }) => operation === 'put' && path.endsWith('.html'),
    );
    const folder = `/${bucket.name}/${job.prefix}/${COMMIT}`;
    expect(pages.map(({ path }) => path).sort()).toEqual(
      ['foo/', '', 'libfoo/'].map((project) => `${folder}/${project}index.html`),
    );
    for (const [project, name] of [
      ['foo', 'foo-2.0-py3-none-any.whl'],
      ['libfoo', 'libfoo-1.0-py3-none-any.whl'],
    ]) {
      const page = await job.page(project);
      expect(page).toContain(name);
    }
  });

  test('only one wheel: the outputs about a single wheel are set', async () => {
    await using job = await startJob(bucket);
    await build(job, [FIRST]);
    const result = await job.step('store', { target: '*' });
    expect(result.outputs['wheel-key']).toBe(keyOf(job, FIRST));
    expect(result.summary).toContain('Wheel stored');
  });
});

describe('an error before anything is sent', () => {
  async function refused(job: Job, inputs: Record<string, string>, env = {}): Promise<StepResult> {
    await using proxy = await startFaultProxy(bucket.endpoint);
    const result = await job.step('store', { 'endpoint-url': proxy.endpoint, ...inputs }, env);
    expect(result.code).toBe(1);
    expect(result.outputs).toEqual({ 'skip-build': 'false' });
    expect(result.errors).toHaveLength(1);
    expect(proxy.requests).toEqual([]);
    return result;
  }

  test('two wheels would have the same target', async () => {
    await using job = await startJob(bucket);
    await build(job);
    const other = 'demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl';
    await makeWheel(job.dist, other);
    const result = await refused(job, { target: '*' });
    expect(titleOf(result)).toBe('Two wheels with the same target');
    for (const text of [FIRST, BUILT[FIRST]!, other]) expect(result.errors[0]).toContain(text);
  });

  test('an expected wheel is missing', async () => {
    await using job = await startJob(bucket);
    await build(job, [FIRST, SECOND]);
    const result = await refused(job, { target: '*', expect: TARGETS.join('\n') });
    expect(titleOf(result)).toBe('Expected wheel missing');
    expect(result.errors[0]).toContain(`1 of the 3 wheels in 'expect' is not at 'path': ${THIRD}.`);
    expect(result.errors[0]).toContain(`${SECOND} (${BUILT[SECOND]})`);
  });

  test('the last of them is damaged, or was left over from an earlier job', async () => {
    await using job = await startJob(bucket);
    await build(job, [FIRST, SECOND]);
    const path = join(job.dist, BUILT[THIRD]!);
    await writeFile(path, 'no wheel');
    expect(titleOf(await refused(job, { target: '*' }))).toBe('Broken wheel');
    await rm(path);
    const event = join(job.workspace, 'event/event.json');
    await mkdir(join(job.workspace, 'event'));
    await writeFile(event, '{}');
    const later = new Date(Date.now() + 3_600_000);
    for (const file of [event, join(job.workspace, 'event')]) await utimes(file, later, later);
    const result = await refused(job, { target: '*' }, { GITHUB_EVENT_PATH: event });
    expect(titleOf(result)).toBe('Wheel older than the job');
  });

  test("'expect' without target: '*', or with an invalid name", async () => {
    await using job = await startJob(bucket);
    await build(job, [FIRST]);
    expect((await refused(job, { target: FIRST, expect: FIRST })).errors[0]).toContain("'target' is not *");
    expect((await refused(job, { target: '*', expect: 'a/b' })).errors[0]).toContain("'expect'");
  });

  test("several wheels for one name: the remedy is target: '*'", async () => {
    await using job = await startJob(bucket);
    await build(job);
    expect((await refused(job, { target: 'linux' })).errors[0]).toContain("set target: '*'");
  });
});

describe('one that fails', () => {
  /** Rejects the upload of one wheel. */
  const without =
    (target: string) =>
    ({ operation, path }: SeenRequest): Fault =>
      operation === 'put' && path.endsWith(`${BUILT[target]}`) ? s3Error(403, 'AccessDenied') : undefined;

  test('leaves the others stored; the error, the outputs, the summary and the page say which', async () => {
    await using job = await startJob(bucket);
    await build(job);
    await using proxy = await startFaultProxy(bucket.endpoint, without(SECOND));
    const result = await job.step('store', { target: '*', 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(titleOf(result)).toBe('Not all wheels stored');
    expect(result.errors[0]).toContain(
      `Stored: ${BUILT[FIRST]}, ${BUILT[THIRD]}. Not stored: ${BUILT[SECOND]} (Access denied). `,
    );
    expect(result.errors[0]).toContain('s3:PutObject');
    expect(await job.keys()).toEqual([keyOf(job, FIRST), keyOf(job, THIRD)]);
    expect(targetsIn(result)).toEqual([FIRST, THIRD]);
    expect(result.outputs['skip-build']).toBe('false');
    expect(shownText(result.summary)).toContain('2 of 3 wheels stored');
    expect(shownText(result.summary)).toContain(`Not stored: ${BUILT[SECOND]}`);
    const page = await job.page();
    expect(TARGETS.map((target) => page.includes(BUILT[target]!))).toEqual([true, false, true]);
    const found = await job.step('find', { target: TARGETS.join(',') });
    expect(JSON.parse(found.outputs['missing-targets']!)).toEqual([SECOND]);
  });

  test('all fail: none is stored, and the error has the cause', async () => {
    await using job = await startJob(bucket);
    await build(job);
    await using proxy = await startFaultProxy(bucket.endpoint, () => s3Error(403, 'AccessDenied'));
    const result = await job.step('store', { target: '*', 'endpoint-url': proxy.endpoint });
    expect(result.code).toBe(1);
    expect(result.outputs).toEqual({ 'skip-build': 'false' });
    expect(result.errors).toHaveLength(1);
    expect(result.errors[0]).toMatch(/^No wheel is stored\. Not stored: demo.*Access denied/);
    expect(await job.keys()).toEqual([]);
  });
});

test('cancelled during the uploads: what is not complete is removed, and what is complete stays', async () => {
  await using job = await startJob(bucket);
  await build(job, [FIRST]);
  await build(job, [SECOND, THIRD], LARGE);
  const isSmallStored = Promise.withResolvers<void>();
  const areLargeBegun = Promise.withResolvers<void>();
  const begun = new Set<string>();
  await using proxy = await startFaultProxy(bucket.endpoint, ({ operation, path }) => {
    if (operation === 'create-upload') return { after: isSmallStored.promise };
    if (operation !== 'part') return undefined;
    if (begun.add(path).size === 2) areLargeBegun.resolve();
    return { after: NEVER };
  });
  const result = await job.step('store', { target: '*', 'endpoint-url': proxy.endpoint }, {}, (child) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes(`Stored s3://${bucket.name}/${keyOf(job, FIRST)}`))
        isSmallStored.resolve();
    });
    void areLargeBegun.promise.then(() => child.kill('SIGTERM'));
  });
  expect({ code: result.code, title: titleOf(result) }).toEqual({ code: 1, title: 'Cancelled' });
  expect(await job.keys()).toEqual([keyOf(job, FIRST)]);
  expect((await bucket.openUploads()).filter((key) => key.startsWith(job.prefix))).toEqual([]);
  expect(targetsIn(result)).toEqual([FIRST]);
});

describe('no wheel at path', () => {
  /** Stores wheels in an earlier run. */
  async function stored(job: Job, targets = TARGETS): Promise<Record<string, string>> {
    await build(job, targets);
    expect((await job.step('store', { target: '*' }, { GITHUB_RUN_ID: '6' })).errors).toEqual([]);
    await rm(job.dist, { recursive: true });
    const temp = join(job.workspace, '_temp');
    await mkdir(temp);
    return { RUNNER_TEMP: temp };
  }
  const EXPECT = { target: '*', expect: [FIRST, SECOND].join(',') };

  test('exactly the expected ones are reused', async () => {
    await using job = await startJob(bucket);
    const env = await stored(job);
    const result = await job.step('store', EXPECT, env);
    expect(result.errors).toEqual([]);
    expect(result.outputs['skip-build']).toBe('true');
    expect(targetsIn(result)).toEqual([FIRST, SECOND]);
    expect(result.summary).toContain('2 stored wheels reused');
  });

  test('one of the expected is not stored: an error that names it', async () => {
    await using job = await startJob(bucket);
    const env = await stored(job, [FIRST, THIRD]);
    const result = await job.step('store', EXPECT, env);
    expect(titleOf(result)).toBe('No wheel');
    expect(result.errors[0]).toContain(`target ${SECOND} either`);
  });

  test("nothing is expected: an error that says to set 'expect'", async () => {
    await using job = await startJob(bucket);
    const env = await stored(job);
    const result = await job.step('store', { target: '*' }, env);
    expect(titleOf(result)).toBe('No wheel');
    expect(result.errors[0]).toContain("'expect'");
    expect(result.outputs).toEqual({ 'skip-build': 'false' });
  });

  test('find said that one of them has to be built: an error', async () => {
    await using job = await startJob(bucket);
    const env = await stored(job);
    await job.step('find', { target: [FIRST, 'cp314-manylinux_x86_64'].join(',') }, env);
    const result = await job.step('store', { target: '*', expect: `${FIRST},cp314-manylinux_x86_64` }, env);
    expect(result.errors[0]).toContain(
      'said that the build is needed for target cp314-manylinux_x86_64, but',
    );
  });

  test('a build left another wheel elsewhere: an error; the stored ones there, after find: reused', async () => {
    await using job = await startJob(bucket);
    const env = await stored(job);
    await job.step('find', { target: EXPECT.expect }, env);
    const elsewhere = join(job.workspace, 'wheelhouse');
    for (const target of [FIRST, SECOND]) await makeWheel(elsewhere, BUILT[target]!);
    expect((await job.step('store', EXPECT, env)).outputs['skip-build']).toBe('true');
    const path = await makeWheel(elsewhere, BUILT[SECOND]!, { metadata: ['Summary: again'] });
    const result = await job.step('store', EXPECT, env);
    expect(result.code).toBe(1);
    expect(result.errors[0]).toContain(path);
  });
});

/** Runs a command, and prints the most memory that it used at any time. */
const MEASURED = [
  tool('python'),
  '-c',
  `import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print("peak: %d MiB" % (peak // (1024 * 1024 if sys.platform == "darwin" else 1024)))
sys.exit(code)`,
];

// Python's module `resource` is not on Windows.
if (process.platform !== 'win32') {
  test('twelve large wheels: all are stored, with as little memory as one takes', async () => {
    await using job = await startJob(bucket);
    const minors = Array.from({ length: 12 }, (_, index) => 10 + index);
    for (const minor of minors) {
      await makeWheel(job.dist, `demo-1.0-cp3${minor}-cp3${minor}-win_amd64.whl`, LARGE);
    }
    const result = await job.step('store', { target: '*' }, {}, undefined, MEASURED);
    expect(result.errors).toEqual([]);
    expect(targetsIn(result)).toEqual(minors.map((minor) => `cp3${minor}-win_amd64`));
    expect(await job.keys()).toHaveLength(12);
    const peak = Number(/^peak: (\d+) MiB$/m.exec(result.log)![1]);
    process.stdout.write(`memory: ${peak} MiB for twelve wheels of 20 MiB\n`);
    // The wheels have 240 MiB in all.
    expect(peak).toBeLessThan(200);
  });
}
