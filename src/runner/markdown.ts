/** Escapes text for GitHub-flavoured Markdown. */
import { printable } from './log.ts';

/** Escapes all characters that have a meaning in Markdown, in HTML or in a table. */
export function escapeCell(text: string): string {
  return printable(text).replace(/[&<>"'|`*_[\]\\~:@#]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * Formats a text as code, in which GitHub doesn't link @names and #numbers. The result is HTML, because a Markdown code
 * span cannot contain a backtick, nor a bar in a table.
 */
export function code(text: string): string {
  return `<code>${escapeCell(text)}</code>`;
}

/**
 * Renders a link.
 *
 * @param text - escaped
 */
export function link(url: string, text: string): string {
  return `<a href="${escapeCell(url)}">${text}</a>`;
}

/**
 * Renders a table.
 *
 * @param head - Markdown, as are the cells of the rows
 * @param right - the columns to align to the right
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const lines = head.map((_, column) => (right.includes(column) ? '--:' : ':--'));
  return [head, lines, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
