/** Text from filenames and wheels, made fit for one line of a log. */
import { foreignText } from './foreign-text.ts';

const MAX_CHARACTERS = 200;

/**
 * Characters that end a line, steer a terminal, change the direction or place of what follows (Unicode Standard
 * Annex 9), or take no room at all.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A text in double quotes, on one line, cut when it is long, with everything unseen as a JSON escape. */
export function quote(text: string): string {
  const isLong = text.length > MAX_CHARACTERS;
  return escapeUnseen(JSON.stringify(isLong ? `${text.slice(0, MAX_CHARACTERS)}…` : text));
}

/** The first `max` of some names as one text, and how many more there are. */
export function firstOf(names: readonly string[], max: number, separator = ', '): string {
  const more = names.length > max ? ` and ${names.length - max} more` : '';
  return names.slice(0, max).join(separator) + more;
}

/** Like {@link quote}, without the quotes and without secrets: for a sentence that another program wrote. */
export function oneLine(text: string): string {
  return quote(foreignText(text))
    .slice(1, -1)
    .replace(/\\(["\\])/g, '$1');
}

/**
 * A text in which each character that cannot be seen is shown as a JSON escape, such as `\u202e`.
 *
 * @param short - what a control character's escape of two digits begins with; without it, that has four as well
 */
export function escapeUnseen(text: string, short?: '\\x'): string {
  return text.replace(UNSEEN, (character) =>
    [...Array(character.length).keys()]
      .map((index) => {
        const code = character.charCodeAt(index);
        const isShort = short !== undefined && code < 0xa0;
        return `${isShort ? short : '\\u'}${code.toString(16).padStart(isShort ? 2 : 4, '0')}`;
      })
      .join(''),
  );
}
