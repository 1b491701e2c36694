/** Escapes text for shell commands. */

/**
 * Percent-encodes characters that have a meaning for a shell, with quotes or without, or are not allowed in a URL
 * (RFC 3986, section 2). They can come from the inputs `public-url` and `endpoint-url`, and from the environment.
 */
export function shellSafe(url: string): string {
  return url
    .toWellFormed()
    .replace(/[^A-Za-z0-9\-._~:/?#[\]@+,=%]/gu, (character) =>
      [...Buffer.from(character)]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
        .join(''),
    );
}

/** Quotes a pinned requirement (PEP 508) if needed: a shell would expand the `!` of a version's epoch. */
export function quoted(requirement: string): string {
  return requirement.includes('!') ? `'${requirement}'` : requirement;
}
