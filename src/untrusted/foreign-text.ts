/**
 * Cleans text from Node, the SDK, an engine, a proxy or another program before it goes into an error, a warning or the
 * log: removes secrets, puts it on one line and limits its length.
 */

/** Replacing shorter secrets would garble the log. Inside a URL they are removed by its form. */
const MIN_SECRET_CHARACTERS = 6;
/** How much of a text is examined; even a 1 MB error document has its message near the beginning. */
const MAX_READ_CHARACTERS = 16 * 1024;
const MAX_CHARACTERS = 500;
const MAX_FRAMES = 50;
const HIDDEN = '***';

/** All forms of the known secrets, longest first, so that a short one does not leave the rest of a longer one. */
let known: readonly string[] = [];

/**
 * Registers secrets, which this module then removes from every text: as they are, percent-encoded, decoded and escaped
 * for XML. Secrets of fewer than six characters are ignored.
 */
export function hideSecrets(secrets: Iterable<string | undefined>): void {
  const forms = new Set(known);
  for (const secret of secrets) for (const form of formsOf(secret ?? '')) forms.add(form);
  known = [...forms].sort((a, b) => b.length - a.length);
}

/** The forms in which a secret may appear in a text; empty if it is too short. */
export function formsOf(secret: string): string[] {
  const raw = secret.trim();
  const decoded = decodeLeniently(raw);
  const encoded = [raw, decoded].flatMap((text) => [encodeLeniently(text), escapedForXml(text)]);
  const forms = [raw, decoded, ...encoded, ...encoded.map(lowerCaseEscapes)];
  return [...new Set(forms)].filter((form) => form.length >= MIN_SECRET_CHARACTERS);
}

/**
 * The credentials in a URL: `user:password`, the password alone, and their Base64 form in a `Proxy-Authorization`
 * header. Everything between `//` (or the beginning) and the last `@` counts, so this works for malformed URLs too.
 */
export function credentialsIn(url: string): string[] {
  const userinfo = userinfoOf(url);
  if (userinfo === undefined) return [];
  const header = Buffer.from(decodeLeniently(userinfo)).toString('base64');
  return [userinfo, passwordIn(url) ?? '', header].filter((text) => text !== '');
}

/** The password in a URL, as written; undefined if there is none. */
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
 * Removes secrets from a text: those registered with {@link hideSecrets}, user names and passwords in URLs (even
 * malformed ones), query strings of URLs, signatures, and tokens with a recognisable form. The text is not cut, and
 * keeps its line breaks.
 */
export function withoutSecrets(text: string): string {
  return withoutPatterns(withoutKnown(text));
}

/**
 * Prepares text from outside for use in a sentence: removes secrets, collapses white space and cuts long text.
 *
 * @param text - a string, or any thrown value; undefined and null become the empty string
 * @param maxCharacters - the maximum length of the result
 */
export function foreignText(text: unknown, maxCharacters = MAX_CHARACTERS): string {
  const whole = typeof text === 'string' ? text : text === undefined || text === null ? '' : String(text);
  // Before the cut, which could leave the beginning of a secret.
  const line = withoutKnown(withoutKnown(whole).replace(/\s+/g, ' ').trim());
  const clean = withoutPatterns(firstWords(line, MAX_READ_CHARACTERS));
  return clean.slice(0, maxCharacters);
}

/** The message of a thrown value, as {@link foreignText}. */
export function messageOf(error: unknown, maxCharacters = MAX_CHARACTERS): string {
  const message = (error as { readonly message?: unknown } | undefined)?.message;
  return foreignText(message ?? error, maxCharacters);
}

/** The name of an error and the frames of its stack trace, one a line, without the message. For bug reports. */
export function stackOf(error: unknown): string[] {
  const { name, stack } = (error ?? {}) as Partial<Error>;
  const frames = String(stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
  return [String(name ?? typeof error), ...frames.slice(0, MAX_FRAMES)].map((line) => foreignText(line));
}

/** A URL reduced to scheme, host, port and path, for use in a sentence; undefined if it cannot be parsed. */
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

/** Not `s3://`: keys may contain anything, also an `@`. */
const URL_START = String.raw`\b(?!s3:)[a-z][a-z0-9+.-]{0,20}:\/\/`;
/** A port. Anything else after a host and a colon is a password. */
const PORT = String.raw`\d{1,5}(?![\w%@])`;

/** Secrets with a recognisable form, and their replacements. Each pattern takes linear time. */
const PATTERNS: readonly [pattern: RegExp, replacement: string][] = [
  [new RegExp(`(${URL_START})[^\\s/:@]{0,256}(?::\\S{0,1000})?@`, 'gi'), `$1${HIDDEN}@`],
  // A password with spaces, which a URL written by hand may contain.
  [
    new RegExp(`(${URL_START})[^\\s/:@[\\]]{1,256}:(?!${PORT})[^@\\n]{0,300}@\\S{0,300}@?`, 'gi'),
    `$1${HIDDEN}@${HIDDEN}`,
  ],
  // A URL that was cut off after the password.
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

/** Cuts between two words, since half of a secret may not have a recognisable form any more. */
function firstWords(line: string, maxCharacters: number): string {
  if (line.length <= maxCharacters) return line;
  const cut = line.slice(0, maxCharacters);
  const space = cut.lastIndexOf(' ');
  return space === -1 ? cut : cut.slice(0, space);
}

/** Leaves invalid escapes as they are. */
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
