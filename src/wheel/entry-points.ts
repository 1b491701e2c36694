/** Checks entry_points.txt, from which installers generate scripts. */

import { quote } from '../untrusted/quote.ts';
import { broken } from './broken.ts';
import { leavesFolder } from './entry-names.ts';
import type { WheelName } from './filename.ts';
import type { Finding } from './metadata.ts';
import { splitLines } from './record.ts';
import { stripSpace } from './version.ts';

const GROUPS = new Set(['console_scripts', 'gui_scripts']);
/** SCRIPT takes time quadratic in the length of a line. */
const MAX_LINE_CHARACTERS = 1_000;
/** `ENTRY_RE` of pip's distlib, with Python's `\w`. */
const SCRIPT =
  /[^[]\S*\s*=\s*(?<callable>[\p{L}\p{N}_]+(?:[:.][\p{L}\p{N}_]+)*)\s*(?<flags>\[\s*[\p{L}\p{N}_-]+(?:=[\p{L}\p{N}_]+)?(?:,\s*[\p{L}\p{N}_]+(?:=[\p{L}\p{N}_]+)?)*\s*\])?/u;

/**
 * Checks entry_points.txt (entry points specification, "File format" and "Use for scripts") as pip does when it
 * generates the scripts, and that each script would be in the scripts folder.
 *
 * @throws WheelStoreError for anything that pip does not install, for text outside all sections, and for a script that
 *   would be written to another folder
 */
export function checkEntryPoints(text: string, { filename }: WheelName): Finding {
  let group: string | undefined;
  const seen = new Set<string>();
  const duplicates: string[] = [];
  for (const line of splitLines(text).map(stripSpace)) {
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('[') && line.endsWith(']')) {
      group = line.slice(1, -1);
      if (seen.size === seen.add(`[${group}]`).size) duplicates.push(line);
      continue;
    }
    const fault = lineFault(line, group);
    if (fault !== undefined) throw broken(filename, `has an entry_points.txt with ${quote(line)}, ${fault}`);
    const name = stripSpace(line.slice(0, line.indexOf('=')));
    if (seen.size === seen.add(`${group}\n${name}`).size) duplicates.push(name);
  }
  const [first] = duplicates;
  return {
    warnings:
      first === undefined
        ? []
        : [
            `${quote(filename)} has ${quote(first)} twice in its entry_points.txt: pip accepts it, uv does not.`,
          ],
  };
}

function lineFault(line: string, group: string | undefined): string | undefined {
  if (group === undefined) return 'which is in no section';
  const sign = line.indexOf('=');
  if (sign === -1) return 'which is not of the form name = value';
  if (!GROUPS.has(group)) return undefined;
  const [name, value] = [stripSpace(line.slice(0, sign)), stripSpace(line.slice(sign + 1))];
  if (line.length > MAX_LINE_CHARACTERS) return `which is longer than ${MAX_LINE_CHARACTERS} characters`;
  if (leavesFolder(name) || name === '.') return 'a script outside the folder of scripts';
  return isCallable(`${name} = ${value}`) ? undefined : 'a script without a callable (module:function)';
}

/** Like distlib's `get_export_entry` and pip's `_raise_for_invalid_entrypoint`. */
function isCallable(specification: string): boolean {
  const { callable = '', flags } = SCRIPT.exec(specification)?.groups ?? {};
  return callable.split(':').length === 2 && (flags !== undefined || !/[[\]]/.test(specification));
}
