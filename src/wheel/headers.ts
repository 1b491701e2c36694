/** Parses email-style header fields, the format of METADATA and WHEEL. */

/** Values by lower-case field name, in the order of the file. */
export type Headers = ReadonlyMap<string, readonly string[]>;

const FIELD = /^([\x21-\x39\x3b-\x7e]*):/;
const CONTINUATION = /^[ \t]/;

/**
 * Parses header fields as Python's `email.parser` does, which pip and packaging use for METADATA (core metadata
 * specification: "the format is … the email header format"). The first line that is not a field ends the headers. Only
 * leading white space of a value is removed, and a folded value keeps its line breaks.
 */
export function readHeaders(text: string): Headers {
  const headers = new Map<string, string[]>();
  let last: string[] | undefined;
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (CONTINUATION.test(line)) {
      // Ignored if it follows no field, or a line that the parser skips.
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
