/** Generates sets of wheel filenames for different interpreters and platforms. */
import fc from 'fast-check';

/** An interpreter and platform, in terms of pip's `--platform`, `--python-version`, `--abi` and `--implementation`. */
export interface Target {
  readonly version: readonly [number, number, number];
  readonly implementation: string;
  readonly abis: readonly string[] | null;
  readonly platforms: readonly string[];
}

export const PROJECT = 'foo';

/** Newest first, in the order of an interpreter on glibc 2.39. */
function manylinux(architecture: string, newest = 39): string[] {
  const old: Readonly<Record<number, string>> = { 17: 'manylinux2014', 12: 'manylinux2010', 5: 'manylinux1' };
  const minors = Array.from({ length: newest - 4 }, (_, index) => newest - index);
  return [
    ...minors.flatMap((minor) => [
      `manylinux_2_${minor}_${architecture}`,
      ...(old[minor] === undefined ? [] : [`${old[minor]}_${architecture}`]),
    ]),
    `linux_${architecture}`,
  ];
}

function musllinux(architecture: string): string[] {
  return [
    ...['1_2', '1_1', '1_0'].map((version) => `musllinux_${version}_${architecture}`),
    `linux_${architecture}`,
  ];
}

const python = (
  minor: number,
  platforms: readonly string[],
  abis: readonly string[] | null = null,
): Target => ({
  version: [3, minor, 2],
  implementation: 'cp',
  abis,
  platforms,
});

/** CPython 3.9 to 3.14, with and without the GIL, and PyPy, on the platforms that wheels are built for. */
export const TARGETS: readonly Target[] = [
  ...[9, 10, 11, 12, 13, 14].map((minor) => python(minor, manylinux('x86_64'))),
  python(12, manylinux('x86_64', 28)),
  python(11, manylinux('aarch64', 36)),
  python(12, musllinux('x86_64')),
  python(13, musllinux('aarch64')),
  python(13, manylinux('x86_64'), ['cp313t']),
  python(14, manylinux('x86_64'), ['cp314t']),
  python(14, ['win_amd64'], ['cp314t']),
  ...[9, 12, 14].map((minor) => python(minor, ['win_amd64'])),
  python(10, ['win32']),
  python(13, ['win_arm64']),
  ...[9, 11, 13].map((minor) => python(minor, ['macosx_14_0_arm64'])),
  python(12, ['macosx_13_0_x86_64']),
  python(14, ['macosx_26_0_arm64'], ['cp314t']),
  { version: [3, 11, 9], implementation: 'pp', abis: ['pypy311_pp73'], platforms: manylinux('x86_64') },
];

const pythonAndAbi = fc.oneof(
  fc.constantFrom(9, 10, 11, 12, 13, 14).map((minor) => `cp3${minor}-cp3${minor}`),
  fc.constantFrom(7, 9, 10, 11, 12, 13).map((minor) => `cp3${minor}-abi3`),
  fc.constantFrom(
    'cp313-cp313t',
    'cp314-cp314t',
    'cp311-none',
    'py3-none',
    'py3-none',
    'py2.py3-none',
    'py311-none',
  ),
  fc.constantFrom(
    'cp39.cp310.cp311.cp312-abi3',
    'pp311-pypy311_pp73',
    'py2-none',
    'cp27-cp27mu',
    'cp312-abi3.cp312',
  ),
);
const platform = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(5, 12, 17, 24, 27, 28, 31, 34, 35, 36, 39)
      .map((n) => `manylinux_2_${n}_x86_64`),
  },
  fc.constantFrom(
    ...[
      'any',
      'any',
      'any',
      'manylinux1_x86_64',
      'manylinux2010_x86_64',
      'manylinux2014_x86_64',
      'linux_x86_64',
    ],
    ...[
      'manylinux_2_17_x86_64.manylinux2014_x86_64',
      'manylinux_2_5_x86_64.manylinux1_x86_64',
      'manylinux_2_28_aarch64',
    ],
    ...['manylinux2014_aarch64', 'musllinux_1_1_x86_64', 'musllinux_1_2_x86_64', 'musllinux_1_2_aarch64'],
    ...[
      'macosx_10_9_universal2',
      'macosx_11_0_arm64',
      'macosx_14_0_arm64',
      'macosx_10_12_x86_64',
      'macosx_13_0_x86_64',
    ],
    ...['win_amd64', 'win32', 'win_arm64', 'win_amd64.win32'],
  ),
);
const version = fc.oneof(
  { weight: 4, arbitrary: fc.constant('1.0') },
  fc.constantFrom(
    '0.9',
    '1.0.1',
    '1.0+cu121',
    '1.0+cu118',
    '1.0.post1',
    '1.1rc1',
    '2.0.dev3',
    '1!0.1',
    '1.10',
    '1.9',
  ),
);
const build = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  fc.constantFrom('-1', '-2', '-10', '-1a', '-1b', '-20240131235959', '-20240201000000', '-0'),
);
const filename = fc
  .tuple(version, build, pythonAndAbi, platform)
  .map(([number, tag, pair, system]) => `${PROJECT}-${number}${tag}-${pair}-${system}.whl`);

/** Sets of two to twenty different filenames of one project. */
export const wheelSets: fc.Arbitrary<string[]> = fc.uniqueArray(filename, { minLength: 2, maxLength: 20 });
