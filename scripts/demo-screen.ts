/** How the demo shows on a terminal what a person sees on GitHub. */
import { shownText } from '../__tests__/stand-ins/runner.ts';

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

/** A job summary, its tables and code blocks as plain text. */
export function showSummary(markdown: string): void {
  console.log('  job summary:');
  for (const line of readable(markdown)) console.log(`    ▏ ${line}`);
}

function readable(markdown: string): string[] {
  const lines = markdown
    .trim()
    .split('\n')
    .filter((line) => !/^(\| --- |\| \| \||```)/.test(line));
  const cells = lines.map((line) => /^\| (.*?) \| (.*) \|$/.exec(line));
  const width = Math.max(0, ...cells.map((cell) => cell?.[1]?.length ?? 0));
  return lines.map((line, index) => {
    const cell = cells[index];
    return plain(cell ? `${cell[1]!.padEnd(width)}  ${cell[2]}` : line);
  });
}

function plain(markdown: string): string {
  return shownText(
    markdown
      .replace(/<\/?code>/g, '')
      .replace(/^### (.*)$/, (_, text: string) => bold(text))
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
  );
}
