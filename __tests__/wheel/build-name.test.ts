import { expect, test } from '@jest/globals';
import { isTarget } from '../../src/slots/layout.ts';
import { buildName } from '../../src/wheel/build-name.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';

const CASES: [tags: string, name: string][] = [
  ['cp312-cp312-manylinux_2_28_x86_64', 'cp312-manylinux_x86_64'],
  ['cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64', 'cp312-manylinux_x86_64'],
  ['cp312-cp312-manylinux2014_aarch64', 'cp312-manylinux_aarch64'],
  ['cp38-cp38-manylinux1_i686', 'cp38-manylinux_i686'],
  ['cp37-cp37m-manylinux2010_x86_64', 'cp37-manylinux_x86_64'],
  ['cp27-cp27mu-manylinux1_x86_64', 'cp27-cp27mu-manylinux_x86_64'],
  ['cp313-cp313t-musllinux_1_2_aarch64', 'cp313t-musllinux_aarch64'],
  ['cp313-cp313td-linux_x86_64', 'cp313-cp313td-linux_x86_64'],
  ['pp311-pypy311_pp73-macosx_10_15_x86_64', 'pp311-macosx_x86_64'],
  ['pp310.pp311-pypy_pp73-win_amd64', 'pp310.pp311-pypy_pp73-win_amd64'],
  ['graalpy312-graalpy250_312_native-manylinux_2_28_x86_64', 'gp312_250-manylinux_x86_64'],
  ['graalpy311-graalpy242_310_native-win_amd64', 'graalpy311-graalpy242_310_native-win_amd64'],
  ['cp39-abi3-win_amd64', 'cp39-abi3-win_amd64'],
  ['cp315-abi3.abi3t-win_arm64', 'cp315-abi3.abi3t-win_arm64'],
  ['cp312-none-win32', 'cp312-none-win32'],
  ['cp311-cp312-linux_x86_64', 'cp311-cp312-linux_x86_64'],
  ['py3-none-any', 'py3-none-any'],
  ['py2.py3-none-any', 'py2.py3-none-any'],
  ['py3.py2-none-any', 'py2.py3-none-any'],
  ['cp310.cp311-cp310.cp311-linux_x86_64', 'cp310.cp311-cp310.cp311-linux_x86_64'],
  [
    'py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64',
    'py3-none-manylinux_x86_64.musllinux_x86_64',
  ],
  ['cp312-cp312-macosx_10_9_universal2', 'cp312-macosx_universal2'],
  ['cp312-cp312-macosx_10_12_x86_64.macosx_11_0_arm64.macosx_10_12_universal2', 'cp312-macosx_universal2'],
  ['cp312-cp312-macosx_10_12_x86_64.macosx_11_0_arm64', 'cp312-macosx_arm64.macosx_x86_64'],
  ['cp313-cp313-ios_13_0_arm64_iphonesimulator', 'cp313-ios_arm64_iphonesimulator'],
  ['cp313-cp313-android_21_arm64_v8a', 'cp313-android_arm64_v8a'],
  ['cp312-cp312-pyodide_2024_0_wasm32', 'cp312-pyodide_wasm32'],
  ['cp314-cp314-pyemscripten_2026_0_wasm32', 'cp314-pyodide_wasm32'],
  ['cp311-cp311-emscripten_3_1_58_wasm32', 'cp311-emscripten_wasm32'],
  ['cp312-cp312-linux_x86_64', 'cp312-linux_x86_64'],
  ['CP312-cp312-Win_AMD64', 'cp312-win_amd64'],
  ['cp312-cp312-freebsd_14_1_release_amd64', 'cp312-freebsd_14_1_release_amd64'],
];

test.each(CASES)('%s is %s', (tags, name) => {
  expect(buildName(parseWheelFilename(`demo-1.0-${tags}.whl`).tags)).toBe(name);
  expect(isTarget(name)).toBe(true);
});
