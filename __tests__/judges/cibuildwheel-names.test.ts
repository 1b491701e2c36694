/** cibuildwheel's own list of build identifiers judges the names that we give to wheels. */
import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { strFromU8, unzipSync } from 'fflate';
import { isTarget } from '../../src/slots/layout.ts';
import { buildName } from '../../src/wheel/build-name.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';
import { realWheels } from './real-wheels.ts';

const LIST = 'cibuildwheel/resources/build-platforms.toml';
const MINUTE = 60_000;

/** The platform tags of the wheels that cibuildwheel and its repair tools write, by the platform in its identifiers. */
const PLATFORM_TAGS: readonly [identifier: RegExp, tags: readonly string[]][] = [
  [
    /^manylinux_(\w+)$/,
    [
      'manylinux_2_28_$1',
      'manylinux_2_17_$1.manylinux2014_$1',
      'manylinux1_$1.manylinux_2_5_$1',
      'manylinux_2_12_$1.manylinux2010_$1',
    ],
  ],
  [/^musllinux_(\w+)$/, ['musllinux_1_2_$1', 'musllinux_1_1_$1.musllinux_1_2_$1']],
  [
    /^macosx_universal2$/,
    ['macosx_10_13_universal2', 'macosx_10_9_x86_64.macosx_11_0_arm64.macosx_10_9_universal2'],
  ],
  [/^macosx_(\w+)$/, ['macosx_11_0_$1', 'macosx_10_9_$1']],
  [/^(win\w+)$/, ['$1']],
  [/^pyodide_wasm32$/, ['pyodide_2024_0_wasm32', 'pyemscripten_2026_0_wasm32']],
  [/^android_(\w+)$/, ['android_21_$1', 'android_24_$1']],
  [/^ios_(\w+)$/, ['ios_13_0_$1']],
];

/** Each identifier in the list, with the python and abi tags of its wheels. */
let identifiers: { readonly identifier: string; readonly interpreter: string }[];

beforeAll(async () => {
  const [wheel] = await realWheels('cibuildwheel');
  const toml = strFromU8(unzipSync(await readFile(wheel!))[LIST]!);
  // Only images for Linux name the ABI, in the path of the interpreter.
  const onLinux = [...toml.matchAll(/identifier = "([^"-]+)-.*path_str = "\/opt\/python\/([^"]+)"/g)];
  const interpreters = new Map(onLinux.map(([, python, tags]) => [python, tags!]));
  identifiers = [...toml.matchAll(/identifier = "(([^"-]+)-[^"]+)"/g)].map(([, identifier, python]) => ({
    identifier: identifier!,
    interpreter: interpreters.get(python)!,
  }));
}, 10 * MINUTE);

test('the list is read completely', () => {
  expect(identifiers.length).toBeGreaterThan(200);
  for (const { interpreter } of identifiers) expect(interpreter).toMatch(/^\w+-\w+$/);
});

test('each identifier is the name of the wheels of that build', () => {
  const wrong: string[] = [];
  let wheels = 0;
  for (const { identifier, interpreter } of identifiers) {
    for (const platform of platformTags(identifier)) {
      const name = buildName(parseWheelFilename(`demo-1.0-${interpreter}-${platform}.whl`).tags);
      if (name !== identifier || !isTarget(name))
        wrong.push(`${interpreter}-${platform}: ${name} for ${identifier}`);
      wheels += 1;
    }
  }
  process.stdout.write(`cibuildwheel: ${identifiers.length} identifiers, ${wheels} wheels\n`);
  expect(wrong).toEqual([]);
  expect(wheels).toBeGreaterThan(identifiers.length);
});

/** @throws Error for a platform that this table doesn't know */
function platformTags(identifier: string): string[] {
  const platform = identifier.slice(identifier.indexOf('-') + 1);
  for (const [pattern, tags] of PLATFORM_TAGS) {
    if (pattern.test(platform)) return tags.map((tag) => platform.replace(pattern, tag));
  }
  throw new Error(`No platform tag is known for ${identifier}`);
}
