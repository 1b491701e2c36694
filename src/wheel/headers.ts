/** Header fields in the form of email, as METADATA and WHEEL hold them. */

/** Fields by lower-case name, each with its values in the order of the file. */
export type Headers = ReadonlyMap<string, readonly string[]>;

const FIELD = /^([\x21-\x39\x3b-\x7e]*):/;
const CONTINUATION = /^[ \t]/;

/**
 * Reads the header fields of a text as Python's `email.parser` does, by which pip and packaging read METADATA
 * (core metadata specification: "the format is … the email header format"): the first line that is no field
 * ends them, a field's value loses white space at its beginning alone, and a folded value keeps its line ends.
 */
export function readHeaders(text: string): Headers {
  const headers = new Map<string, string[]>();
  let last: string[] | undefined;
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (CONTINUATION.test(line)) {
      // It belongs to nothing where no field, or a line that the parser skips, comes before it.
      if (last !== undefined) last[last.length - 1] += `\n${line}`;
      continue;
    }
    last = undefined;
    if (line.startsWith('From ')) continue;
    const name = FIELD.exec(line)?.[1];
    if (name === undefined) break;
    if (name === '') continue;
    last = headers.get(name.toLowerCase()) ?? [];
    last.push(line.slice(name.length + 1).replace(/^[ \t]+/, ''));
    headers.set(name.toLowerCase(), last);
  }
  return headers;
}
