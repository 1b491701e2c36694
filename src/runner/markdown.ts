/** Makes texts fit for GitHub-flavoured Markdown. */
import { printable } from './log.ts';

/** Escapes what Markdown, HTML and a table would read as more than text. */
export function escapeCell(text: string): string {
  return printable(text).replace(/[&<>"'|`*_[\]\\~:@#]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * A text as code, in which GitHub looks for no @names and #numbers. Its own rules for code spans allow no backtick, and
 * no bar in a table's cell, so HTML carries the text.
 */
export function code(text: string): string {
  return `<code>${escapeCell(text)}</code>`;
}
