/** Makes text from filenames and wheels safe to print on one line of the log. */
import { foreignText } from './foreign-text.ts';

const MAX_CHARACTERS = 200;

/**
 * Characters that end a line, control a terminal, change the direction or order of the text (Unicode Standard Annex 9),
 * or are invisible.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Puts a text in double quotes and on one line, cuts it if long, and shows unprintable characters as JSON escapes. */
export function quote(text: string): string {
  const isLong = text.length > MAX_CHARACTERS;
  return escapeUnprintable(JSON.stringify(isLong ? `${text.slice(0, MAX_CHARACTERS)}…` : text));
}

/** Joins the first `max` names, and appends how many more there are. */
export function firstOf(names: readonly string[], max: number, separator = ', '): string {
  const more = names.length > max ? ` and ${names.length - max} more` : '';
  return names.slice(0, max).join(separator) + more;
}

/** Like {@link quote}, but without quotes and without secrets: for text from another program. */
export function oneLine(text: string): string {
  return quote(foreignText(text))
    .slice(1, -1)
    .replace(/\\(["\\])/g, '$1');
}

/**
 * Shows each unprintable character as a JSON escape, such as `\u202e`.
 *
 * @param short - the prefix for control characters, which then get two digits; without it, they get `\u` and four
 *   digits
 */
export function escapeUnprintable(text: string, short?: '\\x'): string {
  return text.replace(UNPRINTABLE, (character) =>
    [...Array(character.length).keys()]
      .map((index) => {
        const code = character.charCodeAt(index);
        const isShort = short !== undefined && code < 0xa0;
        return `${isShort ? short : '\\u'}${code.toString(16).padStart(isShort ? 2 : 4, '0')}`;
      })
      .join(''),
  );
}
