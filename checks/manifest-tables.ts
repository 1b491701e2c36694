/** Makes the README's tables of inputs and outputs from the action.yml files. */
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ACTION_NAMES, readManifest } from '../scripts/actions.ts';

const ROOT = resolve(import.meta.dirname, '..');
const README = resolve(ROOT, 'README.md');

/** The README as it should be: each `<!-- inputs of … -->` and `<!-- outputs of … -->` filled in. */
export async function readmeWithTables(): Promise<{ is: string; shouldBe: string }> {
  const is = await readFile(README, 'utf8');
  let shouldBe = is;
  for (const action of ACTION_NAMES) {
    const { inputs, outputs } = await readManifest(action);
    const rows = Object.entries(inputs).map(([name, { description, default: fallback, required }]) => [
      `\`${name}\``,
      required === true ? '**required**' : fallback === undefined || fallback === '' ? '' : `\`${fallback}\``,
      description,
    ]);
    shouldBe = fill(shouldBe, `inputs of ${action}`, table(['Input', 'Default', 'Meaning'], rows));
    const meanings = Object.entries(outputs).map(([name, { description }]) => [`\`${name}\``, description]);
    shouldBe = fill(shouldBe, `outputs of ${action}`, table(['Output', 'Meaning'], meanings));
  }
  return { is, shouldBe };
}

function fill(text: string, name: string, content: string): string {
  const [start, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from === -1 || to === -1) throw new Error(`README.md has no place for the ${name}: ${start} … ${end}`);
  return `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

if (import.meta.main) await writeFile(README, (await readmeWithTables()).shouldBe);
