/** Limits on the jobs of .github/workflows/release.yml, one of which has write tokens. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { ROOT } from '../../testing/runner.ts';

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly needs?: readonly string[];
  readonly steps?: readonly { readonly run?: string; readonly uses?: string }[];
}

const REGISTRIES = /\b(npm|npx|pip|pipx|uv|bootstrap\.mjs)\b/;

async function jobs(): Promise<Record<string, Job>> {
  return parse(await readFile(join(ROOT, '.github/workflows/release.yml'), 'utf8')).jobs;
}

test('the job with write tokens runs no code from a package registry', async () => {
  const writing = Object.values(await jobs()).filter(({ permissions = {} }) =>
    Object.values(permissions).includes('write'),
  );
  expect(writing).toHaveLength(1);
  for (const { run = '', uses = '' } of writing.flatMap(({ steps = [] }) => steps)) {
    expect(run).not.toMatch(REGISTRIES);
    expect(uses).not.toMatch(/setup-python|\.github\/actions/);
  }
});

test('the build job has read permission only, runs no install scripts, and comes first', async () => {
  const { build, release } = await jobs();
  expect(build?.permissions).toEqual({ contents: 'read' });
  const installs = (build?.steps ?? []).filter(({ run = '' }) => REGISTRIES.test(run));
  expect(installs.map(({ run }) => run)).toEqual(['npm ci --ignore-scripts']);
  expect(release?.needs).toContain('build');
});

test('release-facts imports only modules that come with Node', async () => {
  const source = await readFile(join(ROOT, 'scripts/release-facts.ts'), 'utf8');
  const imports = [...source.matchAll(/from '([^']+)'/g)].map(([, name]) => name!);
  expect(imports.filter((name) => !name.startsWith('node:'))).toEqual([]);
});
