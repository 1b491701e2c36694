/** The name of a wheel's build, from its tags, as cibuildwheel names builds: `cp312-manylinux_x86_64`. Pure functions. */

/**
 * Names the build that a wheel is from, as cibuildwheel does (cibuildwheel docs, "build, skip"; its list is
 * `resources/build-platforms.toml`). Version numbers of platforms are left out, because they depend on the compiler
 * image and not on what was meant to be built.
 *
 * | Tags | Name |
 * | --- | --- |
 * | `cp312-cp312-manylinux_2_28_x86_64` | `cp312-manylinux_x86_64` |
 * | `cp313-cp313t-macosx_11_0_arm64` | `cp313t-macosx_arm64` |
 * | `cp39-abi3-win_amd64` | `cp39-abi3-win_amd64`, which cibuildwheel doesn't name |
 * | `py2.py3-none-any` | `py2.py3-none-any`, the same |
 *
 * Several names remain if the tags are for several systems. They are sorted and joined by a dot, as in a filename.
 *
 * @param tags - of one wheel, expanded, lower case (`WheelName.tags`)
 * @returns letters, digits, `_`, `-` and dots. Of any length, since tags can be
 */
export function buildName(tags: readonly string[]): string {
  const segments = tags.map((tag) => tag.split('-') as [string, string, string]);
  const [pythons, abis, platforms] = [0, 1, 2].map((at) => distinct(segments.map((parts) => parts[at]!))) as [
    string[],
    string[],
    string[],
  ];
  return `${interpreterName(pythons, abis)}-${platformName(platforms)}`;
}

/** Of the interpreters that cibuildwheel builds for; undefined for any other pair of tags. */
function implementationName(python: string, abi: string): string | undefined {
  // Up to CPython 3.7, the ABI had an "m" for its allocator (PEP 3149). A "t" is for free-threading (PEP 703).
  if (/^cp[0-9]+$/.test(python) && [python, `${python}m`].includes(abi)) return python;
  if (/^cp[0-9]+$/.test(python) && abi === `${python}t`) return abi;
  if (/^pp[0-9]+$/.test(python) && abi.startsWith(`pypy${python.slice(2)}_`)) return python;
  const [, version] = /^graalpy([0-9]+)$/.exec(python) ?? [];
  const [, release, of] = /^graalpy([0-9]+)_([0-9]+)_native$/.exec(abi) ?? [];
  return version !== undefined && of === version ? `gp${version}_${release}` : undefined;
}

function interpreterName(pythons: readonly string[], abis: readonly string[]): string {
  const [python = '', abi = ''] = [pythons.join('.'), abis.join('.')];
  return implementationName(python, abi) ?? `${python}-${abi}`;
}

/** Matches a platform tag with version numbers, which its first and last group leave out. */
const VERSIONED = [
  // PEP 600, and PEP 513, 571 and 599 before it; PEP 656.
  /^(manylinux)(?:1|2010|2014|_[0-9]+_[0-9]+)_(.+)$/,
  /^(musllinux)_[0-9]+_[0-9]+_(.+)$/,
  /^(macosx)_[0-9]+_[0-9]+_(.+)$/,
  // PEP 730 and 738.
  /^(ios)_[0-9]+_[0-9]+_(.+)$/,
  /^(android)_[0-9]+_(.+)$/,
  /^(pyodide)_[0-9]+_[0-9]+_(.+)$/,
  /^(emscripten)_[0-9]+_[0-9]+_[0-9]+_(.+)$/,
];

function platformName(platforms: readonly string[]): string {
  const names = distinct(platforms.map(withoutVersion));
  // A wheel for both architectures may list them besides (delocate, maturin).
  const isUniversal = names.includes('macosx_universal2');
  const isPart = (name: string) => isUniversal && ['macosx_arm64', 'macosx_x86_64'].includes(name);
  return names.filter((name) => !isPart(name)).join('.');
}

function withoutVersion(platform: string): string {
  // PEP 783 gave Pyodide's tag another name, and cibuildwheel kept its own.
  const tag = platform.replace(/^pyemscripten_/, 'pyodide_');
  for (const pattern of VERSIONED) {
    const [, system, rest] = pattern.exec(tag) ?? [];
    if (system !== undefined) return `${system}_${rest}`;
  }
  return tag;
}

/** Sorted, as build tools sort the parts of a compressed tag set. */
function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}
