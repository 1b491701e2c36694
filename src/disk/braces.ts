/** Braces in patterns. */

/** Beyond this many paths, the rest is dropped. */
export const MAX_ALTERNATIVES = 1_000;

/**
 * Expands braces as Bash does: `{a,b}`, which may be nested, and `{1..3}`; other braces are part of a name.
 *
 * @param hasEscapes - whether `\` takes a brace's meaning away
 * @returns one text for each alternative, but at most one more than {@link MAX_ALTERNATIVES}
 */
export function expandBraces(text: string, hasEscapes: boolean): string[] {
  let done: string[] = [''];
  let rest = text;
  for (let found = firstBraces(rest, hasEscapes); found; found = firstBraces(rest, hasEscapes)) {
    const { before, choices, after } = found;
    const ends = choices.flatMap((choice) => expandBraces(choice, hasEscapes));
    done = done
      .flatMap((start) => ends.map((end) => `${start}${before}${end}`))
      .slice(0, MAX_ALTERNATIVES + 1);
    rest = after;
  }
  return done.map((start) => start + rest);
}

function firstBraces(
  text: string,
  hasEscapes: boolean,
): { before: string; choices: string[]; after: string } | undefined {
  for (let open = text.indexOf('{'); open !== -1; open = text.indexOf('{', open + 1)) {
    if (hasEscapes && isEscaped(text, open)) continue;
    const commas: number[] = [];
    let depth = 0;
    for (let index = open; index < text.length; index += 1) {
      const character = text[index];
      if (hasEscapes && character === '\\') index += 1;
      else if (character === '{') depth += 1;
      else if (character === '}') depth -= 1;
      else if (character === ',' && depth === 1) commas.push(index);
      if (depth > 0) continue;
      const inner = text.slice(open + 1, index);
      const choices = commas.length > 0 ? splitAt(text, [open, ...commas, index]) : expandRange(inner);
      if (choices !== undefined) {
        return { before: text.slice(0, open), choices, after: text.slice(index + 1) };
      }
      break;
    }
  }
  return undefined;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - backslashes - 1] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

function splitAt(text: string, marks: readonly number[]): string[] {
  return marks.slice(1).map((mark, index) => text.slice(marks[index]! + 1, mark));
}

function expandRange(range: string): string[] | undefined {
  const [, first, last] = /^([0-9]{1,6})\.\.([0-9]{1,6})$/.exec(range) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const [from, to] = [Number(first), Number(last)];
  const count = Math.min(Math.abs(to - from) + 1, MAX_ALTERNATIVES + 1);
  return Array.from({ length: count }, (_, index) => String(from <= to ? from + index : from - index));
}
