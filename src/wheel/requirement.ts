/** Whether a text is a requirement (dependency specifiers specification, PEP 508), as packaging reads one. */

/** Of real requirements the longest have some hundreds. */
const MAX_CHARACTERS = 16_384;
/** Python's own limit of recursion ends packaging's parser earlier. */
const MAX_DEPTH = 100;

const RELEASE = 'v?(?:[0-9]+!)?[0-9]+(?:\\.[0-9]+)';
const PRE = '(?:[-_.]?(?:alpha|beta|preview|pre|a|b|c|rc)[-_.]?[0-9]*)?';
const POST = '(?:-[0-9]+|[-_.]?(?:post|rev|r)[-_.]?[0-9]*)?';
const DEV = '(?:[-_.]?dev[-_.]?[0-9]*)?';
const LOCAL = '(?:\\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?';
/** packaging's `Specifier`, whose look-behinds are the operators here. */
const SPECIFIER = [
  '===\\s*[^\\s;)]*',
  `(?:==(?!=)|!=)\\s*${RELEASE}*(?:\\.\\*|${PRE}${POST}${DEV}${LOCAL})?`,
  `~=\\s*${RELEASE}+${PRE}${POST}${DEV}`,
  `(?:<=|>=|<|>)\\s*${RELEASE}*${PRE}${POST}${DEV}`,
].join('|');

/** packaging's `DEFAULT_RULES`. */
const RULES = {
  space: /[ \t]+/y,
  identifier: /[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?(?![\p{L}\p{N}_])/uy,
  specifier: new RegExp(SPECIFIER, 'iy'),
  url: /[^ \t]+/y,
  text: /'[^']*'|"[^"]*"/y,
  operator: /===|==|~=|!=|<=|>=|<|>/y,
  logical: /\b(?:or|and)\b/y,
  in: /\bin\b/y,
  notIn: /\bnot[ \t]+in\b/y,
  variable:
    /\b(?:python_version|python_full_version|os[._]name|sys[._]platform|platform_(?:release|system)|platform[._](?:version|machine|python_implementation)|python_implementation|implementation_(?:name|version)|extras?|dependency_groups)\b/y,
  ...Object.fromEntries([...'()[];,@'].map((sign) => [sign, new RegExp(`\\${sign}`, 'y')])),
} as const satisfies Readonly<Record<string, RegExp>>;

/**
 * Whether packaging's `Requirement`, and so pip, reads a text.
 *
 * @param text - without white space around it
 */
export function isRequirement(text: string): boolean {
  return text.length <= MAX_CHARACTERS && new Reader(text).isRequirement();
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isRequirement(): boolean {
    this.#takes('space');
    if (!this.#takes('identifier')) return false;
    this.#takes('space');
    if (this.#takes('[') && !this.#takesExtras()) return false;
    this.#takes('space');
    return (this.#takes('@') ? this.#takesUrl() : this.#takesVersions()) && this.#at === this.#text.length;
  }

  #takes(rule: string): boolean {
    const pattern = (RULES as Readonly<Record<string, RegExp>>)[rule]!;
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #takesExtras(): boolean {
    this.#takes('space');
    if (this.#takes('identifier')) {
      for (this.#takes('space'); this.#takes(','); this.#takes('space')) {
        this.#takes('space');
        if (!this.#takes('identifier')) return false;
      }
    }
    this.#takes('space');
    return this.#takes(']');
  }

  #takesUrl(): boolean {
    this.#takes('space');
    if (!this.#takes('url')) return false;
    return !this.#takes('space') || this.#at === this.#text.length || this.#takesMarker();
  }

  #takesVersions(): boolean {
    const isEnclosed = this.#takes('(');
    this.#takes('space');
    while (this.#takes('specifier')) {
      if (/^(?:\.\*|\+[a-z0-9])/.test(this.#text.slice(this.#at, this.#at + 2))) return false;
      this.#takes('space');
      if (!this.#takes(',')) break;
      this.#takes('space');
    }
    this.#takes('space');
    if (isEnclosed && !this.#takes(')')) return false;
    this.#takes('space');
    return this.#at === this.#text.length || this.#takesMarker();
  }

  #takesMarker(): boolean {
    return this.#takes(';') && this.#takesExpression(0);
  }

  #takesExpression(depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    do {
      if (!this.#takesAtom(depth)) return false;
    } while (this.#takes('logical'));
    return true;
  }

  #takesAtom(depth: number): boolean {
    this.#takes('space');
    const isTaken = this.#takes('(')
      ? this.#takesExpression(depth + 1) && this.#takes(')')
      : this.#takesVariable() && this.#takesComparison() && this.#takesVariable();
    this.#takes('space');
    return isTaken;
  }

  #takesVariable(): boolean {
    this.#takes('space');
    const isTaken = this.#takes('variable') || this.#takes('text');
    this.#takes('space');
    return isTaken;
  }

  #takesComparison(): boolean {
    return this.#takes('in') || this.#takes('notIn') || this.#takes('operator');
  }
}
