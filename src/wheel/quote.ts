/** Text from filenames and wheels, made fit for one line of a log. */

const MOST_CHARACTERS = 200;

/** Characters that end a line, steer a terminal, or change the direction or place of what follows. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A text in double quotes, on one line, cut when it is long, with everything unseen as a JSON escape. */
export function quote(text: string): string {
  const isLong = text.length > MOST_CHARACTERS;
  return unseenAsEscapes(JSON.stringify(isLong ? `${text.slice(0, MOST_CHARACTERS)}…` : text));
}

/** Like {@link quote}, without the quotes: for a sentence that another program wrote. */
export function oneLine(text: string): string {
  return quote(text)
    .slice(1, -1)
    .replace(/\\(["\\])/g, '$1');
}

function unseenAsEscapes(text: string): string {
  return text.replace(UNSEEN, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
