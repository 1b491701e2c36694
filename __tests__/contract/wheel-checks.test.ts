/** Hostile and broken wheels in store: one error, exit 1, and nothing is sent; or a warning. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { makeBucket, type TestBucket } from '../../testing/bucket.ts';
import { startFaultProxy } from '../../testing/fault-proxy.ts';
import { COMMIT, type Job, startJob } from '../../testing/job.ts';
import { type StepResult, shownText } from '../../testing/runner.ts';
import { makeWheel, wheelBytes } from '../../testing/wheels.ts';
import { writeZip } from '../wheel/raw-zip.ts';

const W = 'demo-1.0-py3-none-any.whl';
const INVISIBLE = /[\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;
let bucket: TestBucket;
beforeAll(async () => {
  bucket = await makeBucket();
});

/** Runs store on the job's folder, and expects that the wheel is refused before the first request. */
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
  expect(result.log).not.toMatch(INVISIBLE);
  return result;
}

describe('case 50: a filename with a character that a shell interprets', () => {
  const names = [
    'demo-1.0-1$(id)-py3-none-any.whl',
    'demo-1.0-1`id`-py3-none-any.whl',
    'demo-1.0-1;id-py3-none-any.whl',
    'demo-1.0-1%PATH%-py3-none-any.whl',
    'démo-1.0-py3-none-any.whl',
    'demo-1.0-1\u202e-py3-none-any.whl',
  ];
  test.each(names)('%j is refused, and the error shows the character', async (name) => {
    await using job = await startJob(bucket);
    await mkdir(job.dist);
    await writeFile(join(job.dist, name), wheelBytes(W));
    const { errors } = await refused(job);
    expect(errors[0]).toMatch(/is not the filename of a wheel: it holds ".{1,6}"\./);
    expect(errors[0]).toContain('only letters (A to Z, a to z), digits and _ . + ! -');
  });
});

describe('case 50: a stored wheel with such a name', () => {
  const NAMES = [
    'demo-1.0-1$(id)-py3-none-any.whl',
    'demo-1.0-1`id`-py3-none-any.whl',
    'demo-1.0-py3-none-any.WHL',
  ];

  test.each(['find', 'fetch'] as const)('%s ignores it, with a warning', async (action) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W);
    await job.step('store');
    await rm(job.dist, { recursive: true });
    for (const name of NAMES) await bucket.put(`${job.prefix}/${COMMIT}/8_1/${name}`, wheelBytes(W));
    const { code, outputs, warnings } = await job.step(action);
    expect({ code, 'wheel-name': outputs['wheel-name'], run: outputs['run-id'] }).toEqual({
      code: 0,
      'wheel-name': W,
      run: '7',
    });
    expect(warnings).toHaveLength(NAMES.length);
    expect(warnings.join('\n')).toContain('$(id)-py3-none-any.whl" in the bucket');
    expect(warnings.join('\n')).toContain('its name is not a wheel filename, because it holds "$"');
  });

  test('five of many are named', async () => {
    await using job = await startJob(bucket);
    const names = Array.from({ length: 40 }, (_, index) => `demo-1.0-${index}$(id)-py3-none-any.whl`);
    await Promise.all(names.map((name) => bucket.put(`${job.prefix}/${COMMIT}/8_1/${name}`, 'not a wheel')));
    const { outputs, warnings } = await job.step('find');
    expect(outputs['skip-build']).toBe('false');
    expect(warnings).toHaveLength(6);
    expect(warnings.at(-1)).toContain('Ignored 35 more');
  });
});

test('case 50: characters of public-url that a shell interprets are percent-encoded in wheel-url', async () => {
  await using job = await startJob(bucket);
  await makeWheel(job.dist, W);
  const { outputs } = await job.step('store', { 'public-url': 'https://cdn.example.com/$(id)`id`"!;&|<>' });
  expect(outputs['wheel-url']).toBe(
    `https://cdn.example.com/%24%28id%29%60id%60%22%21%3B%26%7C%3C%3E/${job.key(W)}`,
  );
});

describe('case 52: an invisible character', () => {
  test('in the name of a file is escaped in the summary and the log', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, { files: { 'demo/a\u202ecod.exe\u2066\u200b': new Uint8Array(9) } });
    const { code, summary, log } = await job.step('store');
    expect(code).toBe(0);
    expect(`${summary}${log}`).not.toMatch(INVISIBLE);
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

describe('case 51: text in a wheel that would take for ever to parse', () => {
  const spaces = ' '.repeat(15_000);
  const recipes = {
    'a Version with spaces': { version: `1<${spaces}>x` },
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
    '%s does not prevent the step from ending on SIGTERM',
    async (_kind, recipe) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W, recipe);
      const { code, signal } = await job.step('store', {}, {}, (child) => void child.kill('SIGTERM'));
      expect(code === 1 || signal === 'SIGTERM').toBe(true);
      expect(await job.keys()).toEqual([]);
    },
  );
});

/** Makes a wheel with these files, which may be invalid. RECORD lists all of its files. */
async function wheelWith(job: Job, files: Readonly<Record<string, Uint8Array>>): Promise<void> {
  await makeWheel(job.dist, W, { files });
}

/** Changes the bytes of the wheel in the job's folder. */
async function change(job: Job, edit: (bytes: Buffer) => void): Promise<void> {
  const path = join(job.dist, W);
  const bytes = await readFile(path);
  edit(bytes);
  await writeFile(path, bytes);
}

const INFO = 'demo-1.0.dist-info';
const text = (lines: string) => Buffer.from(lines);

describe('case 48: a wheel that pip does not install is refused before anything is sent', () => {
  test('an entry with a wrong checksum, small or large, stored or deflated', async () => {
    for (const [bytes, level] of [
      [100, 0],
      [100, 6],
      [3_000_000, 0],
      [3_000_000, 6],
    ] as const) {
      await using job = await startJob(bucket);
      const content = Buffer.from(Array.from({ length: bytes }, (_, index) => (index * index) % 251));
      await makeWheel(job.dist, W, { files: { 'demo/data.bin': content }, level });
      const crc = Buffer.alloc(4);
      crc.writeUInt32LE(crc32(content));
      await change(job, (wheel) => {
        let count = 0;
        for (let at = wheel.indexOf(crc); at !== -1; at = wheel.indexOf(crc, at)) {
          wheel[at]! ^= 1;
          count += 1;
        }
        expect(count).toBe(2);
      });
      const { errors } = await refused(job);
      expect(errors[0]).toContain('has a damaged "demo/data.bin" (its checksum differs)');
    }
  });

  const points = (lines: string) => ({ [`${INFO}/entry_points.txt`]: text(lines) });
  const files: Readonly<Record<string, Readonly<Record<string, Uint8Array>>>> = {
    'an entry_points.txt that is not an INI file': points('this is not an INI file\n'),
    'a line without a value': points('[console_scripts]\ndemo\n'),
    'a script without a callable': points('[console_scripts]\ndemo = demo\n'),
    'a script outside its folder': points('[console_scripts]\n../demo = demo:main\n'),
    'a script at an absolute path': points('[gui_scripts]\n/usr/bin/demo = demo:main\n'),
    'entry points in Latin-1': points(''),
    'a file that is also a folder': { 'demo/a': text('x'), 'demo/a/b': text('x') },
  };
  test.each(Object.keys(files))('%s', async (kind) => {
    await using job = await startJob(bucket);
    const latin = { [`${INFO}/entry_points.txt`]: Buffer.from([0x5b, 0xfc, 0x5d]) };
    await wheelWith(job, kind.endsWith('Latin-1') ? latin : files[kind]!);
    expect((await refused(job)).errors[0]).toMatch(/^"demo-1\.0-py3-none-any\.whl" has an? /);
  });

  test.each(['foo >>= 1', 'foo 1', 'foo; python_version', 'foo[x', 'foo>=1.*', ''])(
    'Requires-Dist: %s',
    async (line) => {
      await using job = await startJob(bucket);
      await makeWheel(job.dist, W, { metadata: [`Requires-Dist: ${line}`] });
      expect((await refused(job)).errors[0]).toContain(`has the Requires-Dist "${line}" in its METADATA`);
    },
  );

  test.each([
    ['four columns', 'demo/__init__.py,,,x\n'],
    ['an empty line', '\ndemo/__init__.py,,\n'],
    ['Latin-1', Buffer.from([0xfc, 0x2c, 0x2c])],
  ])('a RECORD with %s', async (_kind, record) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, { record });
    expect((await refused(job)).errors[0]).toMatch(/has a RECORD with|RECORD" that is not UTF-8/);
  });
});

describe('case 49: a wheel that pip installs, but PyPI or uv refuses, is stored with a warning', () => {
  const good = `demo/__init__.py,,\n${INFO}/METADATA,,\n${INFO}/WHEEL,,\n${INFO}/RECORD,,\n`;
  const wrong = 'demo/__init__.py,sha256=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA,16';
  test.each([
    [
      'a file that RECORD does not list',
      good.replace('demo/__init__.py,,\n', ''),
      'does not list "demo/__init__.py"',
    ],
    ['a listed file that is missing', `demo/x.py,,\n${good}`, 'lists "demo/x.py", which it does not contain'],
    [
      'a wrong hash',
      good.replace('demo/__init__.py,,', wrong),
      'has another hash or size for "demo/__init__.py"',
    ],
    [
      'a wrong size',
      good.replace('demo/__init__.py,,', 'demo/__init__.py,,3'),
      'has another hash or size for',
    ],
  ])('%s', async (_kind, record, warning) => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, { record });
    const { code, warnings } = await job.step('store');
    expect({ code, warnings }).toEqual({ code: 0, warnings: [expect.stringContaining(warning)] });
    expect(warnings[0]).toContain('PyPI refuses it');
    expect(await job.keys()).toHaveLength(1);
  });

  test.each([
    ['bzip2', 12],
    ['LZMA', 14],
  ])('a file in %s, which is not checked', async (_kind, method) => {
    await using job = await startJob(bucket);
    const data: Record<string, string> = {
      'demo/__init__.py': 'x = 1\n',
      [`${INFO}/METADATA`]: 'Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n',
      [`${INFO}/WHEEL`]: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
      [`${INFO}/RECORD`]: good.replace('demo/__init__.py,,', `demo/__init__.py,sha256=${'A'.repeat(43)},99`),
    };
    await mkdir(job.dist);
    await writeZip(
      join(job.dist, W),
      Object.entries(data).map(([name, lines]) =>
        name.startsWith(INFO)
          ? { name, data: text(lines) }
          : { name, data: text(lines), method, size: 99, crc: 1 },
      ),
    );
    const { code, warnings } = await job.step('store');
    expect({ code, warnings }).toEqual({
      code: 0,
      warnings: [
        expect.stringContaining(
          'holds "demo/__init__.py" in bzip2 or LZMA, which were not unpacked and so not checked: pip accepts it, uv does not.',
        ),
      ],
    });
  });

  test('a zip64 field of the wrong length', async () => {
    await using job = await startJob(bucket);
    const data: Record<string, string> = {
      'demo/__init__.py': 'x = 1\n',
      [`${INFO}/METADATA`]: 'Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n',
      [`${INFO}/WHEEL`]: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
      [`${INFO}/RECORD`]: good,
    };
    const localExtra = Buffer.from('01000800c513000000000000', 'hex');
    await mkdir(job.dist);
    await writeZip(
      join(job.dist, W),
      Object.entries(data).map(([name, lines]) => ({ name, data: text(lines), localExtra })),
    );
    const { code, warnings } = await job.step('store');
    expect({ code, warnings }).toEqual({
      code: 0,
      warnings: [
        expect.stringMatching(/zip64 field of the wrong length .* pip accepts it, uv and PyPI do not/),
      ],
    });
  });

  test('a valid wheel is stored without a warning', async () => {
    await using job = await startJob(bucket);
    await makeWheel(job.dist, W, { metadata: ["Requires-Dist: foo[x] >=1,<2 ; python_version < '3'"] });
    expect((await job.step('store')).warnings).toEqual([]);
  });
});
