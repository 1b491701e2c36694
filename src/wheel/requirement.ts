/** Checks requirements (dependency specifiers specification, PEP 508) with the grammar of packaging's parser. */

/** The longest real requirements have a few hundred characters. */
const MAX_CHARACTERS = 16_384;
/** packaging's parser is bounded by Python's recursion limit, which it reaches earlier. */
const MAX_DEPTH = 100;

const RELEASE = 'v?(?:[0-9]+!)?[0-9]+(?:\\.[0-9]+)';
const PRE = '(?:[-_.]?(?:alpha|beta|preview|pre|a|b|c|rc)[-_.]?[0-9]*)?';
const POST = '(?:-[0-9]+|[-_.]?(?:post|rev|r)[-_.]?[0-9]*)?';
const DEV = '(?:[-_.]?dev[-_.]?[0-9]*)?';
const LOCAL = '(?:\\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?';
/** packaging's `Specifier`, with its look-behinds replaced by the operators. */
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
 * Whether packaging's `Requirement`, and therefore pip, can parse a text.
 *
 * @param text - without surrounding white space
 */
export function isRequirement(text: string): boolean {
  return text.length <= MAX_CHARACTERS && new Parser(text).isRequirement();
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isRequirement(): boolean {
    this.#accept('space');
    if (!this.#accept('identifier')) return false;
    this.#accept('space');
    if (this.#accept('[') && !this.#acceptExtras()) return false;
    this.#accept('space');
    return (this.#accept('@') ? this.#acceptUrl() : this.#acceptVersions()) && this.#at === this.#text.length;
  }

  /** Advances past the rule if it matches here. */
  #accept(rule: string): boolean {
    const pattern = (RULES as Readonly<Record<string, RegExp>>)[rule]!;
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #acceptExtras(): boolean {
    this.#accept('space');
    if (this.#accept('identifier')) {
      for (this.#accept('space'); this.#accept(','); this.#accept('space')) {
        this.#accept('space');
        if (!this.#accept('identifier')) return false;
      }
    }
    this.#accept('space');
    return this.#accept(']');
  }

  #acceptUrl(): boolean {
    this.#accept('space');
    if (!this.#accept('url')) return false;
    return !this.#accept('space') || this.#at === this.#text.length || this.#acceptMarker();
  }

  #acceptVersions(): boolean {
    const isEnclosed = this.#accept('(');
    this.#accept('space');
    while (this.#accept('specifier')) {
      if (/^(?:\.\*|\+[a-z0-9])/.test(this.#text.slice(this.#at, this.#at + 2))) return false;
      this.#accept('space');
      if (!this.#accept(',')) break;
      this.#accept('space');
    }
    this.#accept('space');
    if (isEnclosed && !this.#accept(')')) return false;
    this.#accept('space');
    return this.#at === this.#text.length || this.#acceptMarker();
  }

  #acceptMarker(): boolean {
    return this.#accept(';') && this.#acceptExpression(0);
  }

  #acceptExpression(depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    do {
      if (!this.#acceptAtom(depth)) return false;
    } while (this.#accept('logical'));
    return true;
  }

  #acceptAtom(depth: number): boolean {
    this.#accept('space');
    const isAccepted = this.#accept('(')
      ? this.#acceptExpression(depth + 1) && this.#accept(')')
      : this.#acceptVariable() && this.#acceptComparison() && this.#acceptVariable();
    this.#accept('space');
    return isAccepted;
  }

  #acceptVariable(): boolean {
    this.#accept('space');
    const isAccepted = this.#accept('variable') || this.#accept('text');
    this.#accept('space');
    return isAccepted;
  }

  #acceptComparison(): boolean {
    return this.#accept('in') || this.#accept('notIn') || this.#accept('operator');
  }
}
