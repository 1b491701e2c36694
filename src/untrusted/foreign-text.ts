/**
 * Texts that Node, the SDK, an engine, a proxy or another program wrote: without secrets, on one line, of bounded
 * length. What goes into an error, a warning or a log comes through here.
 */

/** A shorter secret is not looked for on its own: it would blot out half of a log. Inside a URL it goes all the same. */
const MIN_SECRET_CHARACTERS = 6;
/** How much of a text is read; a 1 MB error document says what it has to say at its beginning. */
const MAX_READ_CHARACTERS = 16 * 1024;
const MAX_CHARACTERS = 500;
const MAX_FRAMES = 50;
const HIDDEN = '***';

/** Every form of the secrets of this process, the longest first, so that none leaves the rest of a longer one. */
let known: readonly string[] = [];

/**
 * Removes these secrets from now on from every text that goes through this module: as they are, percent-encoded and
 * decoded. Short ones are passed over.
 */
export function hideSecrets(secrets: Iterable<string | undefined>): void {
  const forms = new Set(known);
  for (const secret of secrets) for (const form of formsOf(secret ?? '')) forms.add(form);
  known = [...forms].sort((a, b) => b.length - a.length);
}

/** The forms in which a secret may show in a text; none when it is too short. */
export function formsOf(secret: string): string[] {
  const raw = secret.trim();
  const decoded = decodeLeniently(raw);
  const encoded = [raw, decoded].flatMap((text) => [encodeLeniently(text), escapedForXml(text)]);
  const forms = [raw, decoded, ...encoded, ...encoded.map(lowerCaseEscapes)];
  return [...new Set(forms)].filter((form) => form.length >= MIN_SECRET_CHARACTERS);
}

/**
 * User name and password of a URL, together and the password alone, also of a URL that no parser takes: all between
 * `//` (or the beginning) and the last `@`. With them what a `Proxy-Authorization` header makes of them.
 */
export function credentialsIn(url: string): string[] {
  const userinfo = userinfoOf(url);
  if (userinfo === undefined) return [];
  const header = Buffer.from(decodeLeniently(userinfo)).toString('base64');
  return [userinfo, passwordIn(url) ?? '', header].filter((text) => text !== '');
}

/** The password of a URL, as it stands there; undefined when there is none. */
export function passwordIn(url: string): string | undefined {
  const userinfo = userinfoOf(url) ?? '';
  const colon = userinfo.indexOf(':');
  return colon === -1 ? undefined : userinfo.slice(colon + 1);
}

function userinfoOf(url: string): string | undefined {
  const end = url.lastIndexOf('@');
  return end === -1 ? undefined : url.slice(0, end).replace(/^\s*(?:[a-z][a-z0-9+.-]*:)?\/\//i, '');
}

/**
 * A text without secrets: those that {@link hideSecrets} was told, user names and passwords in URLs (malformed ones
 * included), query strings of URLs, signatures, and tokens that show by their form. It keeps its length and lines.
 */
export function withoutSecrets(text: string): string {
  return withoutPatterns(withoutKnown(text));
}

/**
 * Makes a foreign text fit for a sentence: without secrets, white space collapsed, cut when it is long.
 *
 * @param text - anything that was thrown or said; undefined is the empty text
 * @param maxCharacters - of the result
 */
export function foreignText(text: unknown, maxCharacters = MAX_CHARACTERS): string {
  const whole = typeof text === 'string' ? text : text === undefined || text === null ? '' : String(text);
  // Secrets go before the cut, which could leave the beginning of one.
  const line = withoutKnown(withoutKnown(whole).replace(/\s+/g, ' ').trim());
  const clean = withoutPatterns(firstWords(line, MAX_READ_CHARACTERS));
  return clean.slice(0, maxCharacters);
}

/** {@link foreignText} of what was thrown. */
export function wordsOf(error: unknown, maxCharacters = MAX_CHARACTERS): string {
  const message = (error as { readonly message?: unknown } | undefined)?.message;
  return foreignText(message ?? error, maxCharacters);
}

/** The frames of a stack trace, one a line, for whoever looks for a defect; the message is not among them. */
export function stackOf(error: unknown): string[] {
  const { name, stack } = (error ?? {}) as Partial<Error>;
  const frames = String(stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
  return [String(name ?? typeof error), ...frames.slice(0, MAX_FRAMES)].map((line) => foreignText(line));
}

/** An address for a sentence: scheme, host, port and path; undefined when it cannot be read as a URL. */
export function plainAddress(url: string): string | undefined {
  const read = URL.parse(url);
  if (read === null) return undefined;
  return `${read.protocol}//${read.host}${read.pathname.replace(/\/$/, '')}`;
}

function withoutKnown(text: string): string {
  let clean = text;
  for (const secret of known) clean = clean.replaceAll(secret, HIDDEN);
  return clean;
}

/** URLs of buckets hold keys, which may hold anything. */
const URL_START = String.raw`\b(?!s3:)[a-z][a-z0-9+.-]{0,20}:\/\/`;
/** A port and what may follow it; anything else behind a host and a colon is a password. */
const PORT = String.raw`\d{1,5}(?![\w%@])`;

/** What shows by its form that it is secret, and what stands in its place. Each pattern takes linear time. */
const PATTERNS: readonly [pattern: RegExp, replacement: string][] = [
  [new RegExp(`(${URL_START})[^\\s/:@]{0,256}(?::\\S{0,1000})?@`, 'gi'), `$1${HIDDEN}@`],
  // Blanks in a password, which end no URL that was pasted by hand.
  [
    new RegExp(`(${URL_START})[^\\s/:@[\\]]{1,256}:(?!${PORT})[^@\\n]{0,300}@\\S{0,300}@?`, 'gi'),
    `$1${HIDDEN}@${HIDDEN}`,
  ],
  // The end is missing, and the password is not.
  [new RegExp(`(${URL_START}[^\\s/:@[\\]]{1,256}):(?!${PORT})\\S{1,1000}`, 'gi'), `$1:${HIDDEN}`],
  [/(https?:\/\/[^\s"'<>?]{1,2000})\?[^\s"'<>]+/gi, `$1?${HIDDEN}`],
  [/\b((?:proxy-)?authorization)["']?\s{0,3}[:=]\s{0,3}[^\r\n]{0,2000}/gi, `$1: ${HIDDEN}`],
  [/\b(AWS4-HMAC-SHA256|AWS4-ECDSA-P256-SHA256)\s{1,3}Credential=[^\r\n]{0,2000}/gi, `$1 ${HIDDEN}`],
  [
    /\b(x-amz-(?:signature|credential|security-token|s3session-token)|(?:aws_?)?(?:session_?|security_?|access_?)token|(?:aws_?)?secret_?access_?key|client_?secret)(["']?\s{0,3}[=:]\s{0,3}["']?|>)[^\s"'<>&,;]{6,}/gi,
    `$1$2${HIDDEN}`,
  ],
  [/\b(signature|sig|password)=[^\s"'<>&,;]+/gi, `$1=${HIDDEN}`],
  [/\b(Bearer|Basic)\s{1,3}(?=[^\s]{0,200}[0-9A-Z+/=])[A-Za-z0-9+/_.~-]{12,}=*/g, `$1 ${HIDDEN}`],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,})/g, HIDDEN],
  // A JSON Web Token (RFC 7519), such as the one that GitHub gives a job for its cloud provider.
  [/\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?/g, HIDDEN],
];

function withoutPatterns(text: string): string {
  let clean = text;
  for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
  return clean;
}

/** Ends between two words, since a secret that was cut in two may show no more by its form. */
function firstWords(line: string, maxCharacters: number): string {
  if (line.length <= maxCharacters) return line;
  const cut = line.slice(0, maxCharacters);
  const blank = cut.lastIndexOf(' ');
  return blank === -1 ? cut : cut.slice(0, blank);
}

/** What cannot be decoded stays as it is. */
function decodeLeniently(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

function encodeLeniently(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function escapedForXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => XML[character]!);
}

const XML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function lowerCaseEscapes(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase());
}
