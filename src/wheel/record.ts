/** Parses RECORD, the list of a wheel's files. */

import { firstOf, quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import type { WheelName } from './filename.ts';
import type { Finding } from './metadata.ts';
import type { ZipEntry } from './zip.ts';

/** One row of RECORD. */
export interface RecordRow {
  /** Such as sha256; empty if the row has no digest. */
  readonly algorithm: string;
  /** Base64url without padding. */
  readonly digest: string;
  /** Bytes, as written; may be empty. */
  readonly size: string;
}

/** The rows of RECORD by filename; if a name is listed twice, the last row counts. */
export interface RecordRows extends Finding {
  readonly rows: ReadonlyMap<string, RecordRow>;
}

/**
 * Larger unpacked files are not compared with RECORD's digests, which would take as long as hashing the wheel again.
 */
export const MAX_HASHED_BYTES = 16 * 1024 * 1024;
/** The limit of Python's csv reader (`csv.field_size_limit`). */
const MAX_FIELD_CHARACTERS = 131_072;
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python splits lines at them
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
/** Files that RECORD need not list (binary distribution format, "Signed wheel files"). */
const UNLISTED = /\.dist-info\/RECORD(?:\.jws|\.p7s)?$/;
const MAX_NAMED = 3;

/**
 * Parses RECORD as pip does, which runs Python's csv reader over its lines (binary distribution format, "The .dist-info
 * directory"; recording installed projects, "The RECORD file").
 *
 * @throws WheelStoreError for rows that make pip fail, and for rows with more than three columns
 */
export function readRecord(text: string, { filename }: WheelName): RecordRows {
  const rows = new Map<string, RecordRow>();
  let isShort = false;
  for (const fields of readCsv(text)) {
    const fault = rowFault(fields);
    if (fault !== undefined) throw broken(filename, `has a RECORD with ${fault}`);
    isShort ||= fields.length < 3 || !/^[0-9]*$/.test(fields[2]!);
    const [path, hash = '', size = ''] = fields as [string, string?, string?];
    const sign = hash.indexOf('=');
    const algorithm = hash.slice(0, Math.max(sign, 0)).toLowerCase();
    rows.set(path, { algorithm, digest: hash.slice(sign + 1).replace(/={1,3}$/, ''), size });
  }
  const warnings = isShort
    ? [
        `${quote(filename)} has a RECORD with rows that are not a path, a hash and a size: pip accepts it, uv does not.`,
      ]
    : [];
  return { rows, warnings };
}

/**
 * Compares RECORD with the entries of the archive.
 *
 * @param digests - SHA-256 of the unpacked entries, base64url without padding, where known
 * @returns warnings, not errors: PyPI checks this, pip does not
 */
export function compareRecord(
  { rows }: RecordRows,
  entries: readonly ZipEntry[],
  digests: ReadonlyMap<ZipEntry, string>,
  { filename }: WheelName,
): string[] {
  const files = new Map(
    entries.filter(({ name }) => !name.endsWith('/')).map((entry) => [entry.name, entry]),
  );
  const unlisted = [...files.keys()].filter((name) => !rows.has(name) && !UNLISTED.test(name));
  const missing = [...rows.keys()].filter(
    (name) => !files.has(name) && !name.endsWith('/') && !UNLISTED.test(name),
  );
  const different = [...files].filter(([name, entry]) =>
    isDifferent(rows.get(name), entry, digests.get(entry)),
  );
  const found = [
    ...(unlisted.length === 0 ? [] : [`does not list ${list(unlisted)}`]),
    ...(missing.length === 0 ? [] : [`lists ${list(missing)}, which it does not contain`]),
    ...(different.length === 0
      ? []
      : [`has another hash or size for ${list(different.map(([name]) => name))}`]),
  ];
  if (found.length === 0) return [];
  return [
    `${quote(filename)} has a RECORD that ${found.join(', and ')}: pip and uv install it, PyPI refuses it.`,
  ];
}

function isDifferent(row: RecordRow | undefined, { size }: ZipEntry, digest: string | undefined): boolean {
  if (row === undefined) return false;
  if (row.size !== '' && Number(row.size) !== size) return true;
  return digest !== undefined && row.algorithm === 'sha256' && row.digest !== digest;
}

function list(names: readonly string[]): string {
  return firstOf(names.map(quote), MAX_NAMED);
}

function rowFault(fields: readonly string[]): string | undefined {
  if (fields.length === 0) return 'an empty line';
  if (fields.length > 3) return `${fields.length} columns instead of 3 for ${quote(fields[0]!)}`;
  return fields.some((field) => field.length > MAX_FIELD_CHARACTERS)
    ? `a field of more than ${MAX_FIELD_CHARACTERS} characters`
    : undefined;
}

/** Splits a text into lines as Python's `str.splitlines` does. */
export function splitLines(text: string): string[] {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/**
 * Python's csv reader over lines without their line ends: after an open quote, the next line is joined to the field.
 */
function* readCsv(text: string): Generator<string[]> {
  let row: CsvRow | undefined;
  for (const line of splitLines(text)) {
    row ??= new CsvRow();
    row.read(line);
    if (row.isOpen) continue;
    yield row.fields;
    row = undefined;
  }
  if (row !== undefined) yield row.fields;
}

/** One row, parsed as leniently as by `csv.reader` without `strict`. */
class CsvRow {
  readonly fields: string[] = [];
  isOpen = false;
  #field = '';

  read(line: string): void {
    if (line === '' && !this.isOpen) return;
    if (this.isOpen) this.fields.pop();
    for (let at = 0; at <= line.length; ) at = this.isOpen ? this.#quoted(line, at) : this.#plain(line, at);
  }

  #quoted(line: string, at: number): number {
    const end = line.indexOf('"', at);
    this.#field += line.slice(at, end === -1 ? undefined : end);
    if (end === -1) {
      this.fields.push(this.#field);
      return line.length + 1;
    }
    if (line[end + 1] === '"') {
      this.#field += '"';
      return end + 2;
    }
    this.isOpen = false;
    return this.#rest(line, end + 1);
  }

  #plain(line: string, at: number): number {
    this.#field = '';
    this.isOpen = line[at] === '"';
    return this.isOpen ? at + 1 : this.#rest(line, at);
  }

  /** Reads up to the next comma; quotes within the field are literal. */
  #rest(line: string, at: number): number {
    const comma = line.indexOf(',', at);
    this.fields.push(this.#field + line.slice(at, comma === -1 ? undefined : comma));
    return comma === -1 ? line.length + 1 : comma + 1;
  }
}
