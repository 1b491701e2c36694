import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readHeaders } from '../../src/wheel/headers.ts';
import { runPython } from '../../testing/python.ts';

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

test("header fields are parsed as by Python's email parser", () => {
  const texts = fc.sample(text, { numRuns: COUNT, seed: SEED });
  const parsed = runPython<Record<string, string[]>[]>(join(import.meta.dirname, 'parse_headers.py'), texts);
  // The kind of line break within a folded value does not matter.
  const normalised = (values: readonly string[]) => values.map((value) => value.replace(/\r\n?/g, '\n'));
  const different = texts.flatMap((input, index) => {
    const ours = Object.fromEntries(
      [...readHeaders(input)].map(([name, values]) => [name, normalised(values)]),
    );
    const python = Object.fromEntries(
      Object.entries(parsed[index]!).map(([name, values]) => [name, normalised(values)]),
    );
    return JSON.stringify(ours) === JSON.stringify(python) ? [] : [{ input, ours, python }];
  });
  process.stdout.write(
    `headers: ${texts.length} texts, ${parsed.reduce((sum, fields) => sum + Object.keys(fields).length, 0)} fields\n`,
  );
  expect(different.slice(0, 5)).toEqual([]);
});
