/** Formats sizes for the log, the summary, comments and index pages. */

/** A rounded size and the exact one: `1.4 MiB (1,468,006 bytes)`; below 1 KiB only the bytes. */
export function readableSize(bytes: number): string {
  return bytes < 1024 ? shortSize(bytes) : `${shortSize(bytes)} (${withSeparators(bytes)} bytes)`;
}

/** A rounded size: `1.4 MiB`, `312 bytes`. */
export function shortSize(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${Math.round(bytes)} bytes`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  // A value that would be rounded to 1024.0 is 1.0 of the next unit.
  const exponent = [1, 2, 3].find((power) => bytes / 1024 ** power < 1023.95) ?? 4;
  return `${(bytes / 1024 ** exponent).toFixed(1)} ${units[exponent - 1]}`;
}

/** Not `toLocaleString`, which loads the data of all languages. */
function withSeparators(integer: number): string {
  return String(integer).replace(/\B(?=(?:\d{3})+$)/g, ',');
}
