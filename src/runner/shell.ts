/** Makes what goes into a command fit for a shell. */

/**
 * Percent-encodes what a shell would read as more than text between double quotes, and what a URL may not hold
 * (RFC 3986, section 2). The base of `public-url` is the user's own text.
 */
export function shellSafe(url: string): string {
  return url
    .toWellFormed()
    .replace(/[^A-Za-z0-9\-._~:/?#[\]@&'()*+,;=%]/gu, (character) =>
      encodeURIComponent(character).replaceAll('!', '%21'),
    );
}

/** A pinned requirement (PEP 508): a shell reads the `!` of a version's epoch as one of its own. */
export function quoted(requirement: string): string {
  return requirement.includes('!') ? `'${requirement}'` : requirement;
}
