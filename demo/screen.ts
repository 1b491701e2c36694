/** How the demo shows on a terminal what a person sees on GitHub. */
import { shownText } from '../testing/runner.ts';

const HAS_COLOUR = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const bold = (text: string) => (HAS_COLOUR ? `\u001b[1m${text}\u001b[0m` : text);
const dim = (text: string) => (HAS_COLOUR ? `\u001b[2m${text}\u001b[0m` : text);

/** A heading. */
export function title(text: string): void {
  console.log(`\n${bold(text)}`);
}

/** A step's `uses` and `with`, as a workflow writes them. */
export function showInputs(action: string, inputs: Readonly<Record<string, string>>): void {
  const uses = action === 'store' ? 'org/wheel-store-action@v1' : `org/wheel-store-action/${action}@v1`;
  console.log(dim(`  - uses: ${uses}`));
  for (const [name, value] of Object.entries(inputs)) console.log(dim(`      ${name}: ${value}`));
}

/** A step's outputs. */
export function showOutputs(outputs: Readonly<Record<string, string>>): void {
  console.log('  outputs:');
  const width = Math.max(...Object.keys(outputs).map((name) => name.length));
  for (const [name, value] of Object.entries(outputs))
    console.log(`    ${name.padEnd(width)}  ${value || dim('(empty)')}`);
}

/** A job summary, its tables and code blocks as plain text, its folds open. */
export function showSummary(markdown: string): void {
  console.log('  job summary:');
  for (const line of readable(markdown)) console.log(`    ▏ ${line}`);
}

function readable(markdown: string): string[] {
  const lines = markdown
    .trim()
    .split('\n')
    .filter((line) => !/^(\| :?-|```|<\/?details>)/.test(line))
    .filter((line, index, all) => line !== '' || (all[index - 1] ?? '') !== '');
  if (lines.at(-1) === '') lines.pop();
  const tables = lines.map((line) => (line.startsWith('| ') ? cellsOf(line) : undefined));
  return lines.map((line, index) => {
    const cells = tables[index];
    if (cells === undefined) return plain(line);
    // A column is as wide as its widest cell in the rows around this one.
    const start = tables.lastIndexOf(undefined, index) + 1;
    const end = tables.indexOf(undefined, index);
    const rows = tables.slice(start, end === -1 ? undefined : end);
    const widthOf = (column: number) => Math.max(...rows.map((row) => row![column]!.length));
    return cells
      .map((cell, column) => cell.padEnd(widthOf(column)))
      .join('  ')
      .trimEnd();
  });
}

function cellsOf(row: string): string[] {
  return row.slice(2, -2).split(' | ').map(plain);
}

function plain(markdown: string): string {
  return shownText(
    markdown
      .replace(/<summary>(.*)<\/summary>/, '▾ $1')
      .replace(/<\/?(?:code|a)\b[^>]*>/g, '')
      .replace(/^### (.*)$/, (_, text: string) => bold(text))
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll('&nbsp;', ' '),
  );
}
