import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readHeaders } from '../../src/wheel/headers.ts';
import { askPython } from '../../testing/python.ts';

const SEED = 20_240_131;
const COUNT = 5_000;

const line = fc.oneof(
  fc.constantFrom(
    'Name: foo',
    'Version: 1.0',
    'name:foo',
    'NAME:  two  spaces  ',
    'Requires-Python: >=3.9,\t<4 ',
  ),
  fc.constantFrom(
    '',
    ' ',
    '\t',
    '  folded',
    '\tfolded',
    ':',
    ': x',
    'junk',
    'From me',
    'From: me',
    'A b: c',
    'Ä: x',
    'X:',
  ),
  fc.constantFrom(
    'Description: a\u2028b',
    'X: a\fb',
    'X: a\vb\x1cc',
    'X: a\x85b',
    '\ufeffName: x',
    'Name : foo',
    '-: -',
    'X: ü名',
  ),
);
const end = fc.constantFrom('\n', '\n', '\n', '\r\n', '\r');
const text = fc
  .array(fc.tuple(line, end), { maxLength: 8 })
  .chain((lines) => fc.constantFrom('', '\n\nbody: text\n').map((body) => lines.flat().join('') + body));

test("header fields are read as Python's email parser reads them", () => {
  const texts = fc.sample(text, { numRuns: COUNT, seed: SEED });
  const theirs = askPython<Record<string, string[]>[]>(join(import.meta.dirname, 'parse_headers.py'), texts);
  // Which of the three line ends folds a value is no part of it.
  const plain = (values: readonly string[]) => values.map((value) => value.replace(/\r\n?/g, '\n'));
  const different = texts.flatMap((input, index) => {
    const ours = Object.fromEntries([...readHeaders(input)].map(([name, values]) => [name, plain(values)]));
    const python = Object.fromEntries(
      Object.entries(theirs[index]!).map(([name, values]) => [name, plain(values)]),
    );
    return JSON.stringify(ours) === JSON.stringify(python) ? [] : [{ input, ours, python }];
  });
  process.stdout.write(
    `headers: ${texts.length} texts, ${theirs.reduce((sum, fields) => sum + Object.keys(fields).length, 0)} fields\n`,
  );
  expect(different.slice(0, 5)).toEqual([]);
});
