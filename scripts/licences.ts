/** Collects the licences of the bundled packages into LICENSES.txt, and allows only certain licences. */
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Metafile } from 'esbuild';

/** A package with at least one byte in the bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** The SPDX expression in its package.json; empty if there is none. */
  readonly licence: string;
  /** The contents of its LICENSE and NOTICE files; empty if there are none. */
  readonly text: string;
}

const ROOT = resolve(import.meta.dirname, '..');

/** SPDX identifiers of licences that require only that their text is included. */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);
const TEXT_FILES = /^(licen[cs]e|copying|notice)(\.|-|$)/i;
/** The copyright line in the appendix of Apache-2.0; the terms themselves mention copyright only without a year. */
const COPYRIGHT = /^ *Copyright (\(c\) )?\d.*$/m;
const RULE = '-'.repeat(80);

/**
 * The folders of the bundled packages, relative to the root, sorted. Packages that were removed by tree shaking do not
 * count.
 */
export function bundledFolders({ outputs }: Pick<Metafile, 'outputs'>): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const folders = inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0])
    .filter((folder) => folder !== undefined);
  return [...new Set(folders)].sort();
}

/** Reads the licence of a package. */
export async function readPackage(folder: string): Promise<BundledPackage> {
  const { name, version, license, author } = JSON.parse(
    await readFile(join(ROOT, folder, 'package.json'), 'utf8'),
  );
  const files = (await readdir(join(ROOT, folder))).filter((file) => TEXT_FILES.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(ROOT, folder, file), 'utf8')));
  return {
    name,
    version,
    licence: typeof license === 'string' ? license : '',
    text: texts.length === 0 && license === 'MIT' ? mitOf(author) : texts.map(tidy).join('\n\n'),
  };
}

/** The MIT licence for a package that declares it but does not include the text; empty if there is no author either. */
function mitOf(author: unknown): string {
  const holder = typeof author === 'string' ? author : (author as { name?: string } | undefined)?.name;
  return holder === undefined ? '' : `MIT License\n\nCopyright (c) ${holder}\n\n${MIT_TERMS}`;
}

/** From SPDX. */
const MIT_TERMS = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** Accepts an allowed identifier, or several joined by AND (SPDX specification, annex "License expressions"). */
function isAllowed(expression: string): boolean {
  const terms = /^\(([^()]*)\)$/.exec(expression)?.[1] ?? expression;
  return terms.split(' AND ').every((identifier) => ALLOWED.has(identifier));
}

/** Why a package must not be bundled; undefined if it may. */
export function faultOf({ name, version, licence, text }: BundledPackage): string | undefined {
  const subject = `${name} ${version} is bundled`;
  if (licence === '') return `${subject}, but its package.json declares no licence.`;
  if (!isAllowed(licence)) return `${subject} under ${licence}, which scripts/licences.ts does not allow.`;
  // The text of Apache-2.0 contains no copyright holder, so our own copy can be used.
  if (text === '' && licence !== 'Apache-2.0')
    return `${subject} under ${licence} without the licence's text.`;
  return undefined;
}

/**
 * Renders LICENSES.txt: each text once, after the packages that it applies to. The output is deterministic.
 *
 * @param apache - the text of Apache-2.0, with any copyright line, for packages with that text or without a text
 */
export function renderLicences(packages: readonly BundledPackage[], apache: string): string {
  const byText = new Map<string, Set<string>>();
  for (const { name, version, licence, text } of packages) {
    const holder = holderIn(text, apache);
    const shown = holder === undefined ? text : tidy(apache.replace(COPYRIGHT, ''));
    const line = [`${name} ${version} (${licence})`, holder ?? ''].join(' ').trimEnd();
    byText.set(shown, (byText.get(shown) ?? new Set()).add(line));
  }
  const parts = [...byText].map(([text, names]) => `${[...names].sort().join('\n')}\n\n${text}\n`).sort();
  return ['The files beside this one contain these packages.\n', ...parts].join(`\n${RULE}\n\n`);
}

/**
 * The copyright line of a copy of Apache-2.0, with or without the appendix. Copies differ in that line and in white
 * space.
 *
 * @returns empty if it has none; undefined if the text is not Apache-2.0
 */
function holderIn(text: string, apache: string): string | undefined {
  const isApache = normalised(apache.replace(COPYRIGHT, '')).startsWith(
    normalised(text.replace(COPYRIGHT, '')),
  );
  return isApache ? (COPYRIGHT.exec(text)?.[0].trim() ?? '') : undefined;
}

/** Normalises white space, and the placeholders of the appendix: "[]" in the original, "{}" in many copies. */
function normalised(text: string): string {
  return text.replaceAll('"{}"', '"[]"').replace(/\s+/g, ' ').trim();
}

/**
 * The text of LICENSES.txt for a bundle.
 *
 * @throws Error that lists every package with an unknown licence, or one that is not allowed
 */
export async function licencesOf(metafile: Pick<Metafile, 'outputs'>): Promise<string> {
  const packages = await Promise.all(bundledFolders(metafile).map(readPackage));
  const faults = packages.map(faultOf).filter((fault) => fault !== undefined);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return renderLicences(packages, await readFile(join(ROOT, 'LICENSE'), 'utf8'));
}

function tidy(text: string): string {
  return text.replace(/[ \t]*\r?\n/g, '\n').replace(/^\n+|\s+$/g, '');
}
