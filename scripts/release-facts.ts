/**
 * Prepares a release: writes the version's section of CHANGELOG.md to a file, and prints the major tag to move
 * (`major-tag=v1`, or `major-tag=` if none).
 *
 *     npm run release-facts -- v1.2.3 NOTES_FILE
 */
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');
const VERSION_TAG = /^v(\d+)\.(\d+)\.(\d+)$/;

/**
 * The text of the section `## {version}`, whose heading may end in a date.
 *
 * @returns empty if the section is missing or empty
 */
export function sectionOf(changelog: string, version: string): string {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
  return section === undefined ? '' : section.replace(/^.*\n?/, '').trim();
}

/**
 * The major tag that must be moved to a version.
 *
 * @param tags - all tags of the repository, including those that are not versions
 * @returns empty if a newer version with the same major exists: a fix for an old version must not downgrade users
 */
export function majorTagOf(tag: string, tags: readonly string[]): string {
  const [major, ...rest] = numbersOf(tag);
  const isNewer = (other: readonly number[]) =>
    other[0] === major && (other[1]! - rest[0]! || other[2]! - rest[1]!) > 0;
  return tags.filter((other) => VERSION_TAG.test(other)).some((other) => isNewer(numbersOf(other)))
    ? ''
    : `v${major}`;
}

/** @throws Error if the tag is not that of a version */
function numbersOf(tag: string): number[] {
  const found = VERSION_TAG.exec(tag);
  if (found === null) throw new Error(`${tag} is not a version tag, such as v1.2.3.`);
  return found.slice(1).map(Number);
}

async function main(tag: string, notesFile: string): Promise<void> {
  const version = numbersOf(tag).join('.');
  const read = (name: string) => readFile(join(ROOT, name), 'utf8');
  const declared: unknown = JSON.parse(await read('package.json')).version;
  if (declared !== version)
    throw new Error(`The version is ${declared} in package.json, but ${version} in the tag.`);
  const notes = sectionOf(await read('CHANGELOG.md'), version);
  if (notes === '') throw new Error(`CHANGELOG.md has no text below '## ${version}'.`);
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
