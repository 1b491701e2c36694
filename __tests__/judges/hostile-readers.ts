/**
 * Passes hostile texts of one mebibyte to every function that parses untrusted text, and prints the CPU time of each
 * call. hostile-texts.test.ts runs it in a separate process, since a function that hangs cannot be stopped otherwise.
 */
import { posix } from 'node:path';
import { interpretResult, maskSecrets, parseLine } from '../../src/cache/result.ts';
import { readMarker } from '../../src/comment/text.ts';
import { covers, isGlob, readGlobs } from '../../src/disk/glob.ts';
import { readFolder, readPathLines, unexpandedIn } from '../../src/disk/path-lines.ts';
import { commitInVersion } from '../../src/provenance/commits.ts';
import { printable } from '../../src/runner/log.ts';
import { escapeCell } from '../../src/runner/markdown.ts';
import { linksOf } from '../../src/slots/index-page.ts';
import { isCommit, isTarget, readSlotMarker, readWheelKey } from '../../src/slots/layout.ts';
import { oneLine, quote } from '../../src/untrusted/quote.ts';
import { shellSafe } from '../../src/untrusted/shell.ts';
import { checkEntryNames } from '../../src/wheel/entry-names.ts';
import { checkEntryPoints } from '../../src/wheel/entry-points.ts';
import { parseWheelFilename, readWheelFilename, wheelNameFault } from '../../src/wheel/filename.ts';
import { readHeaders } from '../../src/wheel/headers.ts';
import { checkMetadata, checkWheelFile } from '../../src/wheel/metadata.ts';
import { readRecord } from '../../src/wheel/record.ts';
import { isRequirement } from '../../src/wheel/requirement.ts';
import { allowsPython, isSpecifierSet } from '../../src/wheel/requires-python.ts';
import { readVersion, stripSpace } from '../../src/wheel/version.ts';

const BYTES = 1024 * 1024;
const name = parseWheelFilename('demo-1.0-py3-none-any.whl');
/** A line of `path` is not longer, nor a filename. */
const [MAX_LINE, LONGEST_NAME] = [4_096, 'a'.repeat(255)];
const place = { prefix: '', commit: 'a'.repeat(40) };
const python = { executable: 'python', version: '3.12.1', tags: [] };

/** Throwing a WheelStoreError is fine too. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  readVersion,
  stripSpace,
  readWheelFilename,
  readWheelFilenameOfAnySuffix: (text) => readWheelFilename(`${text}.whl`),
  wheelNameFault: (text) => wheelNameFault(`${text}.whl`),
  parseWheelFilename,
  readHeaders,
  metadata: (text) => checkMetadata(readHeaders(text), name),
  metadataVersion: (text) =>
    checkMetadata(
      new Map([
        ['name', ['demo']],
        ['version', [text]],
      ]),
      name,
    ),
  wheel: (text) => checkWheelFile(readHeaders(`Wheel-Version: 1.0\n${text}`), name),
  wheelVersion: (text) => checkWheelFile(new Map([['wheel-version', [text]]]), name),
  wheelTag: (text) =>
    checkWheelFile(
      new Map([
        ['wheel-version', ['1.0']],
        ['tag', [text]],
        ['build', [text]],
      ]),
      name,
    ),
  wheelTags: (text) =>
    checkWheelFile(
      new Map([
        ['wheel-version', ['1.0']],
        ['tag', text.split('\n')],
      ]),
      name,
    ),
  entryNames: (text) => checkEntryNames([{ name: text } as never], name),
  allowsPython: (text) => allowsPython(text, python),
  allowsPythonClause: (text) => allowsPython(`>${text}`, python),
  requirement: isRequirement,
  requirementOfMarkers: (text) => isRequirement(`foo; ${text}`),
  requirementOfExtras: (text) => isRequirement(`foo[${text.slice(0, 16_000)}`),
  requirementOfVersions: (text) => isRequirement(`foo ==${text.slice(0, 16_000)}`),
  requirementOfName: (text) => isRequirement(text.slice(0, 16_000)),
  requirements: (text) => checkMetadata(readHeaders(`Name: demo\nVersion: 1\n${text}`), name),
  specifiers: isSpecifierSet,
  record: (text) => readRecord(text, name),
  recordOfQuotes: (text) => readRecord(`"${text}`, name),
  recordOfSizes: (text) => readRecord(text.replaceAll('\n', ',sha256=a,1\n'), name),
  entryPoints: (text) => checkEntryPoints(text, name),
  scripts: (text) => checkEntryPoints(`[console_scripts]\n${text}`, name),
  script: (text) => checkEntryPoints(`[console_scripts]\na = ${text.slice(0, 990)}`, name),
  quote,
  oneLine,
  printable,
  escapeCell,
  shellSafe,
  readMarker,
  commitInVersion,
  linksOf,
  linksOfOne: (text) => linksOf(`<a href="${text}`),
  readWheelKey: (text) => readWheelKey(place, `${place.commit}/${text}`),
  readSlotMarker,
  unexpandedIn,
  readPathLines,
  readFolder: (text) => readFolder(text, '/home/me', posix),
  isGlob: (text) => isGlob(text.slice(0, MAX_LINE)),
  globs: (text) =>
    readGlobs(text.slice(0, MAX_LINE), '/w', posix).map((glob) => covers(glob, `/w/${LONGEST_NAME}`, posix)),
  isCommit,
  isTarget,
  cacheLine: parseLine,
  cacheAnswer: (text) => interpretResult(undefined, [parseLine(text), { kind: 'fault', text }]),
  maskSecrets: (text) => maskSecrets(text, ['secret']),
};

const fill = (text: string) => text.repeat(Math.ceil(BYTES / text.length));
const TEXTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...[
        ' ',
        '\n',
        '\t',
        '\u3000',
        '0',
        '1',
        'a',
        '-',
        '_',
        '.',
        '/',
        ':',
        '"',
        "'",
        '(',
        ')',
        '[',
        '<',
        '=',
        ',',
        ';',
      ],
      ...[
        '1.',
        '.1',
        '1!',
        'a1',
        '-1',
        'rc1',
        '+a',
        'a.',
        ' a',
        'a ',
        'a\n',
        '\r',
        '\r\n ',
        '\\',
        '%2',
        '%0A',
        '::',
        ' ::',
      ],
      ...[
        '::a ',
        'http://',
        'https://x?',
        '.whl#',
        '<a href="',
        '<a href=".whl',
        'a: b\n',
        ' b\n',
        'Tag: a-b-c\n',
      ],
      ...[
        'a.a-',
        '*',
        '.*',
        '==1',
        '>=1,',
        '../',
        'é',
        '\ud800',
        '\u202e',
        '##[',
        'foo>1,',
        '[a]\n',
        'a=b\n',
        '"",',
        '\n,',
      ],
      ...['${', '${{ ', '$(', '%A', '`', '{', '{a,', '*a'],
    ].map((text) => [JSON.stringify(text), fill(text)]),
  ),
  'a version with blanks': `1<${' '.repeat(BYTES)}>x`,
  'blanks, then x': `${' '.repeat(BYTES)}x`,
  'a clause with blanks and lines': `>${' '.repeat(BYTES)}\nx\ny`,
  '1, blanks, x': `1${' '.repeat(BYTES)}x`,
  'METADATA with blanks': `Name: demo\nVersion: 1<${' '.repeat(BYTES)}>x\n`,
  'tags in 20,000 lines': fill('Tag: a.b.c.d.e.f.g-a.b.c.d.e.f.g-a.b.c.d.e.f.g\n'),
  'tags without a field': fill('a.b.c.d.e.f.g-a.b.c.d.e.f.g-a.b.c.d.e.f.g\n'),
  'tags in three sets': `Tag: ${fill('a.').slice(0, 9999)}-${fill('a.').slice(0, 9999)}-${fill('a.').slice(0, 9999)}\n`,
  'an invalid command': `::a ${fill(':: ')}\u2028x`,
  parentheses: `foo; ${fill('(')}`,
  'requirements in lines': fill('Requires-Dist: foo>=1\n'),
  'rows of a RECORD': fill('a,sha256=x,1\n'),
  'scripts in lines': fill('[console_scripts]\na = b:c\n'),
  'an unterminated link': `<a href="${fill('.whl#')}`,
  'digits and a letter': `1.0+${fill('1')}é`,
};

for (const [reader, read] of Object.entries(READERS)) {
  for (const [text, input] of Object.entries(TEXTS)) {
    const before = process.cpuUsage();
    try {
      read(input);
    } catch (error) {
      if ((error as Error).name !== 'WheelStoreError')
        throw new Error(`${reader} of ${text}`, { cause: error });
    }
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(`${JSON.stringify({ reader, text, milliseconds: (user + system) / 1000 })}\n`);
  }
}
process.stdout.write('"end"\n');
