/** Creates source distributions for the tests. */
import { gzipSync } from 'node:zlib';
import { type TarEntry, tarBytes } from './raw-tar.ts';

/**
 * The bytes of an sdist with this filename, whose PKG-INFO matches it.
 *
 * @param more - further entries
 */
export function sdistBytes(filename: string, more: readonly TarEntry[] = []): Buffer {
  const folder = filename.replace(/\.tar\.gz$/, '');
  const hyphen = folder.lastIndexOf('-');
  const [name, version] = [folder.slice(0, hyphen), folder.slice(hyphen + 1)];
  const metadata = `Metadata-Version: 2.2\nName: ${name}\nVersion: ${version}\nRequires-Python: >=3.9\n`;
  return gzipSync(
    tarBytes([
      { name: `${folder}/`, type: '5', mode: 0o755 },
      { name: `${folder}/PKG-INFO`, body: Buffer.from(metadata) },
      { name: `${folder}/pyproject.toml`, body: Buffer.from('[project]\n') },
      ...more,
    ]),
  );
}
