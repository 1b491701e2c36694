import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { blocksOf, exampleFaults, shellFaults, trustFaults } from '../../checks/example-rules.ts';
import { ROOT } from '../../testing/runner.ts';

test('README, docs and examples follow the rules', async () => {
  expect(await exampleFaults()).toEqual([]);
});

describe('what reaches a shell', () => {
  const step = (run: string) => `jobs:\n  a:\n    steps:\n      - run: ${JSON.stringify(run)}\n`;
  const cases: [run: string, isSafe: boolean][] = [
    ['pip install "$WHEEL"', true],
    ['echo "$GITHUB_SHA"', true],
    ['pip install "${{ steps.wheel.outputs.wheel-path }}"', false],
    ['pip install "${{ needs.build.outputs.wheel-url }}"', false],
    ['git checkout ${{ github.head_ref }}', false],
    ['echo "${{ github.event.pull_request.title }}"', false],
    ['pytest "tests/${{ matrix.suite }}"', false],
    ['run.py ${{ inputs.commit }}', false],
    ['set -e\necho "hash=${{ hashFiles(\'src/**\') }}" >> "$GITHUB_OUTPUT"', false],
    ['echo ${{env.X}}', false],
  ];
  test.each(cases)('%s', (run, isSafe) => {
    const expected = isSafe ? [] : [expect.stringContaining('instead of env')];
    expect(shellFaults(step(run))).toEqual(expected);
    // Steps alone, and those of a composite action.
    expect(shellFaults(`- run: ${JSON.stringify(run)}\n`)).toEqual(expected);
    expect(shellFaults(`runs: { steps: [{ run: ${JSON.stringify(run)} }] }`)).toEqual(expected);
  });

  test('blocks in lists are read, other languages are not', () => {
    expect(
      blocksOf('a\n```yaml\n- run: x\n```\n- b\n\n  ```yml\n  - run: y\n  ```\n```json\n{}\n```\n'),
    ).toEqual(['- run: x\n', '- run: y\n']);
  });
});

const STORE = 'org/wheel-store-action@v1';
const CREDENTIALS = 'aws-actions/configure-aws-credentials@v6';
const PREFIX = "${{ github.event_name == 'pull_request' && 'pull-requests' || 'builds' }}";
const ROLE = "${{ github.event_name == 'pull_request' && vars.PULL_REQUEST_ROLE || vars.WHEEL_ROLE }}";

interface Parts {
  readonly on?: unknown;
  readonly env?: object;
  readonly job?: object;
  readonly step: object;
}

/** JSON is YAML. */
function workflow({ on = ['pull_request'], env = {}, job = {}, step }: Parts): string {
  return JSON.stringify({ on, env, jobs: { build: { ...job, steps: [step] } } });
}

function storing(prefix: string | undefined, more: object = {}): object {
  return { uses: STORE, with: { bucket: 'b', ...(prefix === undefined ? {} : { prefix }) }, ...more };
}

describe('case 77: where a pull request may store', () => {
  const cases: [title: string, parts: Parts, fault: RegExp | undefined][] = [
    ['by default, main’s', { step: storing(undefined) }, /prefix 'builds'/],
    ['main’s by name', { step: storing('builds') }, /prefix 'builds'/],
    ['main’s with slashes', { step: storing('/builds//') }, /where releases read/],
    ['a folder of main’s', { step: storing('builds/pull-requests') }, /where releases read/],
    ['the whole bucket', { step: storing('') }, /where releases read/],
    ['its own', { step: storing('pull-requests') }, undefined],
    ['its own, by the event', { step: storing(PREFIX) }, undefined],
    ['its own, in the job’s env', { job: { env: { P: PREFIX } }, step: storing('${{ env.P }}') }, undefined],
    ['its own, in the env', { env: { P: PREFIX }, step: storing('${{ env.P }}') }, undefined],
    ['main’s, in the env', { env: { P: 'builds' }, step: storing('${{ env.P }}') }, /where releases read/],
    ['a variable that is not set', { step: storing('${{ env.P }}') }, /where releases read/],
    [
      'the wrong way round',
      { step: storing("${{ github.event_name == 'pull_request' && 'builds' || 'pull-requests' }}") },
      /prefix 'builds'/,
    ],
    ['an unknown expression', { step: storing('${{ inputs.prefix }}') }, /is unknown/],
    ['not at all', { step: storing('builds', { if: "github.event_name != 'pull_request'" }) }, undefined],
    [
      'not at all, by the job',
      { job: { if: "github.event_name == 'push'" }, step: storing('builds') },
      undefined,
    ],
    [
      'only on pull requests',
      { step: storing('builds', { if: "github.event_name == 'pull_request'" }) },
      /where releases read/,
    ],
    ['no pull request runs it', { on: { push: { branches: ['main'] } }, step: storing('builds') }, undefined],
    ['the event as a string', { on: 'pull_request', step: storing('builds') }, /where releases read/],
    [
      'pull_request_target',
      { on: { pull_request_target: null }, step: storing('builds') },
      /where releases read/,
    ],
    [
      'find and fetch only read',
      { step: { uses: 'org/wheel-store-action/fetch@v1', with: { bucket: 'b' } } },
      undefined,
    ],
  ];
  test.each(cases)('%s', (_title, parts, fault) => {
    expect(trustFaults(workflow(parts))).toEqual(fault === undefined ? [] : [expect.stringMatching(fault)]);
  });
});

describe('case 77: which role a pull request may take', () => {
  const main = '${{ vars.WHEEL_ROLE }}';
  const cases: [title: string, on: unknown, role: string, fault: RegExp | undefined][] = [
    ['main’s', ['push', 'pull_request'], main, /assumes main's role/],
    ['its own', ['pull_request'], '${{ vars.PULL_REQUEST_ROLE }}', undefined],
    ['the readers’', ['pull_request'], '${{ vars.WHEEL_READER_ROLE }}', undefined],
    ['its own, by the event', { push: { branches: ['main'] }, pull_request: null }, ROLE, undefined],
    [
      'the wrong way round',
      ['pull_request'],
      ROLE.replace('PULL_REQUEST_ROLE || vars.WHEEL_ROLE', 'WHEEL_ROLE || vars.PULL_REQUEST_ROLE'),
      /assumes main's role/,
    ],
    ['main’s on every branch', { push: null }, main, /names no branches/],
    ['main’s on every branch, in the short form', 'push', main, /names no branches/],
    ['main’s on main', { push: { branches: ['main'] } }, main, undefined],
  ];
  test.each(cases)('%s', (_title, on, role, fault) => {
    const step = { uses: CREDENTIALS, with: { 'role-to-assume': role } };
    const found = trustFaults(workflow({ on, step }));
    if (fault === undefined) expect(found).toEqual([]);
    else expect(found).toContainEqual(expect.stringMatching(fault));
  });
});

describe('what a release takes', () => {
  const cases: [title: string, inputs: object, fault: RegExp | undefined][] = [
    ['the tested run’s', { 'run-id': '${{ steps.tested.outputs.run-id }}' }, undefined],
    ['this run’s', { scope: 'run' }, undefined],
    ['any run’s', {}, /any run/],
    ['any run’s of the commit', { scope: 'commit' }, /any run/],
    ['a pull request’s', { prefix: 'pull-requests', scope: 'run' }, /reads the prefix 'pull-requests'/],
  ];
  test.each(cases)('%s', (_title, inputs, fault) => {
    const steps = [
      { uses: 'org/wheel-store-action/fetch@v1', with: { bucket: 'b', ...inputs } },
      { uses: 'pypa/gh-action-pypi-publish@release/v1' },
    ];
    const text = JSON.stringify({ on: { release: null }, jobs: { publish: { steps } } });
    expect(trustFaults(text)).toEqual(fault === undefined ? [] : [expect.stringMatching(fault)]);
  });
});

describe('cases 77 and 78: the trust policies that the docs show', () => {
  test.each([['README.md'], ['docs/permissions.md']])(
    '%s names refs, and the audience exactly',
    async (name) => {
      const document = await readFile(join(ROOT, name), 'utf8');
      const policies = [...document.matchAll(/^```json\n(.*?)^```$/gms)]
        .map(([, block]) => JSON.parse(block!))
        .filter(({ Statement }) => Statement?.[0].Action === 'sts:AssumeRoleWithWebIdentity');
      expect(policies.length).toBeGreaterThan(0);
      for (const { Statement } of policies) {
        const { StringEquals = {}, StringLike = {} } = Statement[0].Condition;
        const issuer = 'token.actions.githubusercontent.com';
        expect(StringEquals[`${issuer}:aud`]).toBe('sts.amazonaws.com');
        const subjects = [StringEquals[`${issuer}:sub`] ?? StringLike[`${issuer}:sub`]].flat();
        for (const subject of subjects) {
          expect(subject).toMatch(
            /^repo:my-org\/my-project:(ref:refs\/(heads\/main|tags\/v\*)|pull_request)$/,
          );
        }
      }
      expect(document).toContain('repo:my-org/my-project:environment:pypi');
    },
  );
});
