import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WheelStoreError } from '../../src/errors.ts';
import { parseWheelFilename } from '../../src/wheel/filename.ts';
import { readWheel } from '../../src/wheel/read-wheel.ts';
import { askPython } from '../../testing/python.ts';

interface Answer {
  readonly pip: string;
  readonly usesPkgResources: boolean;
  readonly kinds: Readonly<
    Record<
      string,
      { readonly path: string; readonly byPath: boolean; readonly byName: boolean; readonly byUv: boolean }
    >
  >;
}

/** What we refuse though pip installs it, each for a reason. */
const REFUSED_ON_PURPOSE = [
  // By its path only: pip refuses the same wheel by its project's name.
  'Version 2.0',
  // Damage that pip does not look at.
  'a cut comment',
  'another count of entries',
  'an entry with a size that is too large',
  // It drops what is in no section, so scripts are missing.
  'entry points: a byte order mark',
  'entry points: an open section',
  'entry points: no INI',
  'entry points: no section',
  // uv refuses a row that differs from the others, and nothing says what the fourth column is.
  'RECORD: four columns in a row',
  'RECORD: four columns throughout',
  // Node has no decoder of these, so nothing could be checked.
  'METADATA in bzip2',
  'RECORD in LZMA',
  'WHEEL in LZMA',
  // pip refuses these on Windows, where they lead out of the folder.
  ...(process.platform === 'win32'
    ? []
    : [
        ...['an entry with a climbing backslash', 'an entry with a drive'],
        ...['entry points: a script of a drive', 'entry points: a script that climbs by a backslash'],
      ]),
];
/**
 * Before Python 3.11, pip reads METADATA by pkg_resources: it looks for a name nowhere, and for a version
 * anywhere. A wheel is not made for one of these Pythons alone, so the stricter reading counts.
 */
const PKG_RESOURCES = {
  takes: [
    ...[
      'METADATA twice, the last wrong',
      'METADATA with a byte order mark',
      'METADATA with an empty line first',
    ],
    ...['METADATA with a line of none first', 'METADATA with a line of none within'],
    ...['Name bar', 'Name with a space behind', 'no Name'],
  ],
  refuses: ['Version folded'],
};
/** What pip installs and we warn of. */
const WARNED_OF = [
  'a zip64 field of the wrong length',
  'Requires-Python >=3.x',
  'Requires-Python: 3',
  'Requires-Python: >=3.x',
  'Requires-Python: >=3;',
  'Requires-Python: latest',
  'RECORD: a byte order mark',
  'RECORD: a quote within',
  'RECORD: a size that is no number',
  'RECORD: an open quote',
  'RECORD: another hash',
  'RECORD: another size',
  'RECORD: one column',
  'RECORD: text behind a quote',
  'RECORD: two columns',
  'RECORD: with a file too many',
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
  'folder of no version',
  'a file twice',
  'METADATA twice, the last right',
  'an entry with a backslash',
  'bytes behind',
  'bytes before',
  'an entry in bzip2',
  'an entry in LZMA',
];

/** What uv refuses and pip takes, so rare that nothing is said of it. */
const UNKNOWN_TO_UV = ['Requires-Dist: foo ()'];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wrong-wheels-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('cases 48, 49: what pip refuses to install is refused, what uv refuses is warned of, and nothing else', async () => {
  const { pip, usesPkgResources, kinds } = askPython<Answer>(
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
    `wrong wheels: ${Object.keys(kinds).length} kinds, of which pip ${pip} installs ${installed} and we refuse ${Object.keys(sentences).length}\n`,
  );
  const { takes, refuses } = usesPkgResources ? PKG_RESOURCES : { takes: [], refuses: [] };
  expect({ tooLax, tooStrict: tooStrict!.sort() }).toEqual({
    tooLax: refuses,
    tooStrict: [...REFUSED_ON_PURPOSE, ...takes].sort(),
  });
  expect(warned!.sort()).toEqual(WARNED_OF.toSorted());
  expect(unwarned).toEqual(UNKNOWN_TO_UV);
  expect(sentences).toMatchSnapshot();
});
