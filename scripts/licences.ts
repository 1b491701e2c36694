/** The licences of what esbuild put into dist/: one file of texts beside the code, and a list of what may go in. */
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Metafile } from 'esbuild';

/** A package of which at least one byte is in the bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression, as its package.json has it; empty where that names none. */
  readonly licence: string;
  /** What it brings along as LICENSE and NOTICE; empty where it brings neither. */
  readonly text: string;
}

const ROOT = resolve(import.meta.dirname, '..');

/** SPDX identifiers that ask for no more than their text beside the code. */
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
/** As the appendix of Apache-2.0 has it; its own terms speak of copyright without a year. */
const COPYRIGHT = /^ *Copyright (\(c\) )?\d.*$/m;
const RULE = '-'.repeat(80);

/**
 * The folders of the packages that are in the bundle, relative to the root, sorted. What was read and fell away
 * whole does not count.
 */
export function bundledFolders({ outputs }: Pick<Metafile, 'outputs'>): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const folders = inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0])
    .filter((folder) => folder !== undefined);
  return [...new Set(folders)].sort();
}

/** Reads what a package says of its licence. */
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

/** For a package that names MIT and its author, and forgot the text; empty where it names no author either. */
function mitOf(author: unknown): string {
  const holder = typeof author === 'string' ? author : (author as { name?: string } | undefined)?.name;
  return holder === undefined ? '' : `MIT License\n\nCopyright (c) ${holder}\n\n${MIT_TERMS}`;
}

/** As SPDX has them. */
const MIT_TERMS = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** One of the allowed identifiers, or several that all hold (SPDX specification, annex "License expressions"). */
function isAllowed(expression: string): boolean {
  const terms = /^\(([^()]*)\)$/.exec(expression)?.[1] ?? expression;
  return terms.split(' AND ').every((identifier) => ALLOWED.has(identifier));
}

/** What keeps a package out of the bundle; undefined when nothing does. */
export function faultOf({ name, version, licence, text }: BundledPackage): string | undefined {
  const subject = `${name} ${version} is bundled`;
  if (licence === '') return `${subject} and its package.json names no licence.`;
  if (!isAllowed(licence)) return `${subject} under ${licence}, which scripts/licences.ts does not allow.`;
  // The text of Apache-2.0 names no holder, so that ours serves; every other one does.
  if (text === '' && licence !== 'Apache-2.0')
    return `${subject} under ${licence} without the licence's text.`;
  return undefined;
}

/**
 * Renders LICENSES.txt: each text once, below the packages that are under it. The same packages make the same
 * text.
 *
 * @param apache - the text of Apache-2.0, with any copyright line, for all whose text is that one or none
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
 * The copyright line of a text that is else that of Apache-2.0, its appendix included or not; packages differ
 * in that line and in blanks.
 *
 * @returns empty where it has none; undefined when the text is another one
 */
function holderIn(text: string, apache: string): string | undefined {
  const isApache = words(apache.replace(COPYRIGHT, '')).startsWith(words(text.replace(COPYRIGHT, '')));
  return isApache ? (COPYRIGHT.exec(text)?.[0].trim() ?? '') : undefined;
}

/** The fields of the appendix are enclosed by "[]" in the text of 2004 and by "{}" in its copies. */
function words(text: string): string {
  return text.replaceAll('"{}"', '"[]"').replace(/\s+/g, ' ').trim();
}

/**
 * The text of LICENSES.txt for a bundle.
 *
 * @throws Error that names every package whose licence is unknown, or not allowed
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
