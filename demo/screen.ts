/** Prints what a user would see on GitHub: a summary of about two screens, or everything with `--verbose`. */
import { sep } from 'node:path';
import { type StepResult, shownText } from '../testing/runner.ts';

/** The parts of a step's result that are always printed. */
export interface Important {
  /** Names of outputs. */
  readonly outputs: readonly string[];
  /** Whether to print the beginning of the job summary. */
  readonly summary?: boolean;
}

/** Prints the demo. */
export interface Screen {
  /** A heading. */
  title(text: string): void;
  /** A line below the heading. */
  line(text: string): void;
  /** A step's `uses` and `with`, as in a workflow. */
  step(action: string, inputs: Readonly<Record<string, string>>): void;
  /** The log of a step, and its outputs and job summary: the important parts, or everything. */
  result(result: StepResult, important: Important): void;
}

const HAS_COLOUR = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const bold = (text: string) => (HAS_COLOUR ? `\u001b[1m${text}\u001b[0m` : text);
const dim = (text: string) => (HAS_COLOUR ? `\u001b[2m${text}\u001b[0m` : text);
const MAX_SUMMARY_LINES = 10;

/**
 * @param isVerbose - whether to print all outputs and summaries, without shortening anything
 * @param workspace - shortened paths are relative to this folder
 */
export function openScreen(isVerbose: boolean, workspace: string): Screen {
  const brief = (text: string) => (isVerbose ? text : shortened(text, workspace));
  const line = (text: string) => console.log(`  ${brief(text)}`);
  return {
    title: (text) => console.log(`\n${bold(text)}`),
    line,
    step(action, inputs) {
      const uses = `uses: org/wheel-store-action${action === 'store' ? '' : `/${action}`}@v1`;
      const given = Object.entries(inputs).map(([name, value]) => `${name}: ${value}`);
      const lines = isVerbose
        ? [`- ${uses}`, ...given.map((input) => `    ${input}`)]
        : [`- ${uses}  (${given.join(', ')})`];
      for (const text of lines) console.log(dim(`  ${brief(text)}`));
    },
    result({ log, outputs, summary }, important) {
      for (const text of log.trimEnd().split('\n')) line(`│ ${text}`);
      const names = isVerbose ? Object.keys(outputs) : important.outputs;
      const width = Math.max(...names.map((name) => name.length));
      for (const name of names) line(`→ ${name.padEnd(width)}  ${outputs[name] || dim('(empty)')}`);
      if (!isVerbose && important.summary !== true) return;
      const shown = readable(summary);
      line('job summary:');
      for (const text of isVerbose ? shown : excerpt(shown)) line(`  ▏ ${text}`);
    },
  };
}

/**
 * Shortens hashes to 7 digits, and omits the tags in wheel filenames of keys and URLs, and the path of the workspace.
 */
export function shortened(text: string, workspace: string): string {
  return text
    .replaceAll(`${workspace}${sep}`, '')
    .replaceAll(/\b([0-9a-f]{7})[0-9a-f]{33,57}\b/g, '$1…')
    .replaceAll(/(:\/\/[^\s"]*\/[^\s"/-]+-[^\s"/-]+)-[^\s"/]+\.whl/g, '$1-….whl');
}

/** The beginning of a summary, without blank lines and collapsed sections. */
function excerpt(lines: readonly string[]): string[] {
  const fold = lines.findIndex((line) => line.startsWith('▾'));
  const open = (fold === -1 ? lines : lines.slice(0, fold)).filter((line) => line !== '');
  return open.slice(0, MAX_SUMMARY_LINES);
}

/** A job summary as plain text, with collapsed sections expanded. */
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
