import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ROOT } from '../../testing/runner.ts';

const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');

/** A file of src/, and what it would import. */
type Probe = readonly [file: string, imports: string];

const FORBIDDEN: readonly Probe[] = [
  ['src/runner/probe-upward.ts', '../actions/store.ts'],
  ['src/slots/probe-log.ts', '../runner/log.ts'],
  ['src/slots/probe-core.ts', '@actions/core'],
  ['src/slots/probe-sdk.ts', '@aws-sdk/client-s3'],
  ['src/slots/probe-status.ts', '../bucket/failures.ts'],
  ['src/slots/probe-smithy.ts', '@smithy/core/protocols'],
  ['src/slots/layout.ts', './lookup.ts'],
  ['src/slots/layout.ts', '../bucket/objects.ts'],
  ['src/slots/index-page.ts', './publish.ts'],
  ['src/slots/trust.ts', './lookup.ts'],
  ['src/slots/pinned.ts', '../bucket/url.ts'],
  ['src/slots/probe-channel.ts', '../channel/facts.ts'],
  ['src/channel/probe-log.ts', '../runner/log.ts'],
  ['src/channel/probe-sdk.ts', '@aws-sdk/client-s3'],
  ['src/channel/probe-status.ts', '../bucket/failures.ts'],
  ['src/bucket/probe-wheel.ts', '../wheel/filename.ts'],
  ['src/bucket/probe-slots.ts', '../slots/layout.ts'],
  ['src/bucket/probe-github.ts', '@actions/github'],
  ['src/wheel/probe-slots.ts', '../slots/place.ts'],
  ['src/wheel/probe-bucket.ts', '../bucket/objects.ts'],
  ['src/disk/probe-wheel.ts', '../wheel/filename.ts'],
  ['src/untrusted/probe-errors.ts', '../errors.ts'],
  ['src/comment/probe-cache.ts', '../cache/cache.ts'],
  ['src/cache/probe-comment.ts', '../comment/post.ts'],
  ['src/provenance/probe-bucket.ts', '../bucket/objects.ts'],
  ['src/provenance/probe-slots.ts', '../slots/lookup.ts'],
  ['src/actions/probe-main.ts', '../main/find.ts'],
  ['src/actions/probe-sdk.ts', '@aws-sdk/client-s3'],
  ['src/errors.ts', './untrusted/quote.ts'],
  ['src/sizes.ts', './runner/log.ts'],
  ['src/backoff.ts', './errors.ts'],
  ['src/wheel/probe-backoff.ts', '../backoff.ts'],
];

const ALLOWED: readonly Probe[] = [
  ['src/actions/probe-allowed.ts', '../slots/place.ts'],
  ['src/runner/probe-allowed.ts', '@actions/core'],
  ['src/comment/probe-allowed.ts', '@actions/github'],
  ['src/provenance/probe-allowed.ts', '../slots/layout.ts'],
  ['src/slots/probe-allowed.ts', '../bucket/objects.ts'],
  ['src/channel/probe-allowed.ts', '../slots/layout.ts'],
  ['src/actions/probe-channel.ts', '../channel/pages.ts'],
  ['src/slots/index-page.ts', './html.ts'],
  ['src/slots/index-page.ts', '../sizes.ts'],
  ['src/slots/index-page.ts', './pinned.ts'],
  ['src/bucket/probe-allowed.ts', '@aws-sdk/client-s3'],
  ['src/bucket/probe-backoff.ts', '../backoff.ts'],
  ['src/slots/probe-backoff.ts', '../backoff.ts'],
  ['src/comment/probe-backoff.ts', '../backoff.ts'],
  ['src/wheel/probe-allowed.ts', '../untrusted/quote.ts'],
];

describe('the linter proves the direction of imports', () => {
  let folder: string;
  const faults = new Map<Probe, string[]>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'imports-'));
    await configure(folder);
    for (const probe of [...FORBIDDEN, ...ALLOWED]) faults.set(probe, await lint(folder, probe));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test.each(FORBIDDEN)('%s may not import %s', (...probe) => {
    expect(faultsOf(faults, probe)).toContain('lint/style/noRestrictedImports');
  });

  test.each(ALLOWED)('%s may import %s', (...probe) => {
    expect(faultsOf(faults, probe)).not.toContain('lint/style/noRestrictedImports');
  });

  test('a circle of types is a circle', async () => {
    await writeFile(join(folder, 'src/a.ts'), "import type { B } from './b.ts';\nexport type A = B;\n");
    await writeFile(join(folder, 'src/b.ts'), "import type { A } from './a.ts';\nexport type B = A;\n");
    expect(run(folder, ['src/a.ts', 'src/b.ts'])).toContain('lint/suspicious/noImportCycles');
  });

  test('each folder of src/ has its rule', async () => {
    const { overrides } = JSON.parse(await readFile(join(ROOT, 'biome.json'), 'utf8'));
    const ruled = (overrides as { includes: string[] }[]).flatMap(({ includes }) => includes);
    const rooms = await readdir(join(ROOT, 'src'));
    expect(
      rooms.filter((room) => !ruled.some((glob) => glob === `src/${room}` || glob === `src/${room}/**`)),
    ).toEqual([]);
  });
});

/** Our configuration, in a folder that no version control knows. */
async function configure(folder: string): Promise<void> {
  const settings = JSON.parse(await readFile(join(ROOT, 'biome.json'), 'utf8'));
  await writeFile(
    join(folder, 'biome.json'),
    JSON.stringify({ ...settings, $schema: undefined, vcs: undefined }),
  );
  await cp(join(ROOT, 'tsconfig.json'), join(folder, 'tsconfig.json'));
}

async function lint(folder: string, [file, imports]: Probe): Promise<string[]> {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await writeFile(join(folder, file), `export * from '${imports}';\n`);
  return run(folder, [file]);
}

/** The rules that the linter finds broken. */
function run(cwd: string, files: readonly string[]): string[] {
  const { stdout, stderr } = spawnSync(process.execPath, [BIOME, 'lint', '--reporter=json', ...files], {
    cwd,
    encoding: 'utf8',
  });
  try {
    const { diagnostics }: { diagnostics: { category: string }[] } = JSON.parse(stdout);
    return diagnostics.map(({ category }) => category);
  } catch {
    throw new Error(`The linter gave no report: ${stdout}${stderr}`);
  }
}

function faultsOf(faults: ReadonlyMap<Probe, string[]>, [file, imports]: Probe): string[] {
  const [, found] = [...faults].find(([probe]) => probe[0] === file && probe[1] === imports) ?? [];
  return found ?? [];
}
