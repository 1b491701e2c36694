/**
 * What the release workflow has to know of a version tag: writes the version's section of CHANGELOG.md into a file
 * and prints which major tag moves with it (`major-tag=v1`, or nothing behind the equals sign).
 *
 *     npm run release-facts -- v1.2.3 NOTES_FILE
 */
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');
const VERSION_TAG = /^v(\d+)\.(\d+)\.(\d+)$/;

/**
 * The text below the heading `## {version}` (a date may follow), up to the next heading of that level.
 *
 * @returns empty where there is no such section, or nothing in it
 */
export function sectionOf(changelog: string, version: string): string {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
  return section === undefined ? '' : section.replace(/^.*\n?/, '').trim();
}

/**
 * The major tag that has to point to a version from now on.
 *
 * @param tags - all tags of the repository, those that are no versions included
 * @returns empty where a newer version of the same major exists: a fix of an old one must not move readers back
 */
export function majorTagOf(tag: string, tags: readonly string[]): string {
  const [major, ...rest] = numbersOf(tag);
  const isNewer = (other: readonly number[]) =>
    other[0] === major && (other[1]! - rest[0]! || other[2]! - rest[1]!) > 0;
  return tags.filter((other) => VERSION_TAG.test(other)).some((other) => isNewer(numbersOf(other)))
    ? ''
    : `v${major}`;
}

/** @throws Error where it is no tag of a version */
function numbersOf(tag: string): number[] {
  const found = VERSION_TAG.exec(tag);
  if (found === null) throw new Error(`${tag} is no tag of a version: it has to be like v1.2.3.`);
  return found.slice(1).map(Number);
}

async function main(tag: string, notesFile: string): Promise<void> {
  const version = numbersOf(tag).join('.');
  const read = (name: string) => readFile(join(ROOT, name), 'utf8');
  const declared: unknown = JSON.parse(await read('package.json')).version;
  if (declared !== version) throw new Error(`package.json says ${declared}, the tag says ${version}.`);
  const notes = sectionOf(await read('CHANGELOG.md'), version);
  if (notes === '') throw new Error(`CHANGELOG.md says nothing below '## ${version}'.`);
  await writeFile(notesFile, `${notes}\n`);
  const { stdout } = spawnSync('git', ['tag', '--list'], { cwd: ROOT, encoding: 'utf8' });
  console.log(`major-tag=${majorTagOf(tag, stdout.split('\n'))}`);
}

if (import.meta.main) {
  const [tag = '', notesFile = ''] = process.argv.slice(2);
  await main(tag, notesFile).catch((error: Error) => {
    console.error(`::error::${error.message}`);
    process.exitCode = 1;
  });
}
