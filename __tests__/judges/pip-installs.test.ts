import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WheelStoreError } from '../../src/errors.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';
import { readWheel } from '../../src/wheel/read-wheel.ts';
import { runPython } from '../../testing/python.ts';

interface Installs {
  readonly pip: string;
  readonly usesPkgResources: boolean;
  readonly kinds: Readonly<
    Record<
      string,
      { readonly path: string; readonly byPath: boolean; readonly byName: boolean; readonly byUv: boolean }
    >
  >;
}

/** Kinds that pip installs and the action refuses, with the reasons. */
const REFUSED_ON_PURPOSE = [
  // pip installs it by path, but not by name.
  'Version 2.0',
  // Damage that pip does not check for.
  'a truncated comment',
  'a wrong number of entries',
  'an entry with a size that is too large',
  // pip ignores text outside all sections, so scripts would be missing.
  'entry points: a byte order mark',
  'entry points: an open section',
  'entry points: not INI',
  'entry points: no section',
  // uv refuses a row that differs from the others, and no specification defines a fourth column.
  'RECORD: four columns in a row',
  'RECORD: four columns throughout',
  // Node has no decoder for these, so nothing could be checked.
  'METADATA in bzip2',
  'RECORD in LZMA',
  'WHEEL in LZMA',
  // pip refuses these only on Windows, where they lead out of the folder.
  ...(process.platform === 'win32'
    ? []
    : [
        ...['an entry with a climbing backslash', 'an entry with a drive letter'],
        ...[
          'entry points: a script with a drive letter',
          'entry points: a script that climbs by a backslash',
        ],
      ]),
];
/**
 * Before Python 3.11, pip reads METADATA with pkg_resources, which does not read the name at all and finds a version on
 * any line. Since wheels are also installed on newer Pythons, the action is as strict as those.
 */
const PKG_RESOURCES = {
  takes: [
    ...[
      'METADATA twice, the last wrong',
      'METADATA with a byte order mark',
      'METADATA with an empty line first',
    ],
    ...['METADATA with a junk line first', 'METADATA with a junk line inside'],
    ...['Name bar', 'Name with a trailing space', 'no Name'],
  ],
  refuses: ['Version folded'],
};
/** Kinds that pip installs and the action warns about. */
const WARNED_OF = [
  'a zip64 field of the wrong length',
  'Requires-Python >=3.x',
  'Requires-Python: 3',
  'Requires-Python: >=3.x',
  'Requires-Python: >=3;',
  'Requires-Python: latest',
  'RECORD: a byte order mark',
  'RECORD: a quote within',
  'RECORD: a size that is not a number',
  'RECORD: an open quote',
  'RECORD: a wrong hash',
  'RECORD: a wrong size',
  'RECORD: one column',
  'RECORD: text after a quote',
  'RECORD: two columns',
  'RECORD: with an extra file',
  'RECORD: without a file',
  'empty RECORD',
  'entry points: a name twice',
  'entry points: a section twice',
  'a file beside the entry of a folder',
  'Wheel-Version 1',
  'Wheel-Version 1.9',
  'no Tag',
  'another Tag',
  'another Build',
  'Version 1.0+cu1',
  'filename 1.0+cu1',
  'folder of version 2.0',
  'folder of foobar',
  'folder without a version',
  'a file twice',
  'METADATA twice, the last right',
  'an entry with a backslash',
  'trailing bytes',
  'leading bytes',
  'an entry in bzip2',
  'an entry in LZMA',
];

/** Kinds that uv refuses and pip installs, too rare for a warning. */
const NOT_WARNED_OF = ['Requires-Dist: foo ()'];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wrong-wheels-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('cases 48, 49: wheels that pip refuses are refused, wheels that uv refuses get a warning, and no others', async () => {
  const { pip, usesPkgResources, kinds } = runPython<Installs>(
    join(import.meta.dirname, 'install_wheels.py'),
    folder,
  );
  const [tooStrict, tooLax, warned, unwarned]: string[][] = [[], [], [], []];
  const sentences: Record<string, string> = {};
  for (const [kind, { path, byPath, byName, byUv }] of Object.entries(kinds)) {
    try {
      const name = parseWheelFilename(basename(path));
      const { wheel, contents } = await readWheel(path, name, new AbortController().signal);
      await wheel.file.close();
      if (!byPath && !byName) tooLax!.push(kind);
      if (contents.warnings.length > 0) warned!.push(kind);
      else if (!byUv) unwarned!.push(kind);
    } catch (error) {
      if (!(error instanceof WheelStoreError)) throw error;
      sentences[kind] = error.reason;
      if (byPath || byName) tooStrict!.push(kind);
    }
  }
  const installed = Object.values(kinds).filter(({ byPath }) => byPath).length;
  process.stdout.write(
    `wrong wheels: ${Object.keys(kinds).length} kinds, pip ${pip} installs ${installed}, the action refuses ${Object.keys(sentences).length}\n`,
  );
  const { takes, refuses } = usesPkgResources ? PKG_RESOURCES : { takes: [], refuses: [] };
  expect({ tooLax, tooStrict: tooStrict!.sort() }).toEqual({
    tooLax: refuses,
    tooStrict: [...REFUSED_ON_PURPOSE, ...takes].sort(),
  });
  expect(warned!.sort()).toEqual(WARNED_OF.toSorted());
  expect(unwarned).toEqual(NOT_WARNED_OF);
  expect(sentences).toMatchSnapshot();
});
