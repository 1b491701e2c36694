/** Generates the tables of inputs and outputs in docs/reference.md from the action.yml files. */
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ACTION_NAMES, type Manifest, readManifest } from '../scripts/actions.ts';

const ROOT = resolve(import.meta.dirname, '..');
const REFERENCE = resolve(ROOT, 'docs/reference.md');

/**
 * Fills in each `<!-- inputs of … -->` and `<!-- outputs of … -->` of docs/reference.md.
 *
 * @returns the text as it is, and as it should be
 * @throws Error if the page has no place for a table
 */
export async function referenceWithTables(): Promise<{ is: string; shouldBe: string }> {
  const is = await readFile(REFERENCE, 'utf8');
  let shouldBe = is;
  for (const action of ACTION_NAMES) {
    const { inputs, outputs } = await readManifest(action);
    shouldBe = fill(shouldBe, `inputs of ${action}`, inputTable(inputs));
    shouldBe = fill(shouldBe, `outputs of ${action}`, outputTable(outputs));
  }
  return { is, shouldBe };
}

function inputTable(inputs: Manifest['inputs']): string {
  const rows = Object.entries(inputs).map(([name, { description, default: fallback = '', required }]) => [
    `\`${name}\``,
    required === true ? '**required**' : fallback === '' ? '' : `\`${fallback}\``,
    description,
  ]);
  return table(['Input', 'Default', 'Description'], rows);
}

function outputTable(outputs: Manifest['outputs']): string {
  const rows = Object.entries(outputs).map(([name, { description }]) => [`\`${name}\``, description]);
  return table(['Output', 'Description'], rows);
}

function fill(text: string, name: string, content: string): string {
  const [start, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from === -1 || to === -1)
    throw new Error(`docs/reference.md has no place for the ${name}: ${start} … ${end}`);
  return `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

if (import.meta.main) await writeFile(REFERENCE, (await referenceWithTables()).shouldBe);
