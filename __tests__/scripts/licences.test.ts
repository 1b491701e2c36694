import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type BundledPackage, bundledFolders, faultOf, renderLicences } from '../../scripts/licences.ts';
import { ROOT } from '../../testing/runner.ts';

const APACHE = readFileSync(join(ROOT, 'LICENSE'), 'utf8');
const MIT = { name: 'left', version: '1.0.0', licence: 'MIT', text: 'MIT License\n\nCopyright (c) 2020 Ann' };

describe('which packages are in the bundle', () => {
  const outputs = (inputs: Record<string, number>) => ({
    outputs: {
      'dist/store.js': {
        bytes: 1,
        imports: [],
        exports: [],
        inputs: Object.fromEntries(
          Object.entries(inputs).map(([path, bytesInOutput]) => [path, { bytesInOutput }]),
        ),
      },
    },
  });
  const cases: [title: string, inputs: Record<string, number>, folders: string[]][] = [
    ['our own sources are not packages', { 'src/actions/store.ts': 9 }, []],
    [
      'a package with two files is listed once',
      { 'node_modules/a/x.js': 1, 'node_modules/a/y.js': 1 },
      ['node_modules/a'],
    ],
    ['the scope is part of the name', { 'node_modules/@s/a/x.js': 1 }, ['node_modules/@s/a']],
    ['a package that is dropped entirely is not listed', { 'node_modules/a/x.js': 0 }, []],
    [
      'a package of a package',
      { 'node_modules/a/node_modules/b/dist/x.js': 1 },
      ['node_modules/a/node_modules/b'],
    ],
  ];
  test.each(cases)('%s', (_title, inputs, folders) => {
    expect(bundledFolders(outputs(inputs))).toEqual(folders);
  });
});

describe('which licences may be in the bundle', () => {
  const cases: [title: string, change: Partial<BundledPackage>, fault: string | undefined][] = [
    ['MIT with its text', {}, undefined],
    ['Apache-2.0 without its text, which names no holder', { licence: 'Apache-2.0', text: '' }, undefined],
    ['MIT without its text', { text: '' }, "without the licence's text"],
    ['no licence', { licence: '' }, 'declares no licence'],
    ['one with further conditions', { licence: 'GPL-3.0-only' }, 'under GPL-3.0-only'],
    ['two that both apply', { licence: '(Apache-2.0 AND BSD-3-Clause)' }, undefined],
    [
      'two that both apply, one with further conditions',
      { licence: '(MIT AND GPL-2.0-only)' },
      'does not allow',
    ],
    ['a choice of two, which nobody has made yet', { licence: '(MIT OR GPL-2.0-only)' }, 'does not allow'],
  ];
  test.each(cases)('%s', (_title, change, fault) => {
    const found = faultOf({ ...MIT, ...change });
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(fault);
  });
});

describe('LICENSES.txt', () => {
  const amazon = (text: string) => ({ name: 'sdk', version: '3.0.0', licence: 'Apache-2.0', text });

  test('contains each text once, below the packages that it applies to', () => {
    const text = renderLicences([MIT, { ...MIT, name: 'right' }], APACHE);
    expect(text.split(MIT.text)).toHaveLength(2);
    expect(text).toContain('left 1.0.0 (MIT)\nright 1.0.0 (MIT)\n\nMIT License');
  });

  test('contains Apache-2.0 once, with the copyright holder that each package names', () => {
    const theirs = APACHE.replace(/Copyright 2026 .*/, 'Copyright 2019 Amazon.com, Inc.');
    const text = renderLicences([amazon(theirs), { ...amazon(''), name: 'bare' }], APACHE);
    expect(text.split('TERMS AND CONDITIONS FOR USE')).toHaveLength(2);
    expect(text).toContain(
      'bare 3.0.0 (Apache-2.0)\nsdk 3.0.0 (Apache-2.0) Copyright 2019 Amazon.com, Inc.\n',
    );
    expect(text).not.toContain('wheel-store-action');
  });

  test('keeps everything that a NOTICE adds to the terms', () => {
    const text = renderLicences([amazon(`${APACHE}\n\nThis product includes software of Ann.`)], APACHE);
    expect(text).toContain('This product includes software of Ann.');
  });

  test('does not depend on the order of the packages', () => {
    const packages = [MIT, amazon(''), { ...MIT, name: 'right', text: 'other' }];
    expect(renderLicences(packages.toReversed(), APACHE)).toBe(renderLicences(packages, APACHE));
  });
});
