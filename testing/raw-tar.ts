/** Writes tar archives with arbitrary names, types and link targets, including those that no tool would write. */

/** An entry of POSIX's ustar format (pax(1), "ustar Interchange Format"). */
export interface TarEntry {
  readonly name: string;
  /** `0` a file, `1` a hard link, `2` a symbolic link, `3` a character device, `5` a folder, `6` a named pipe. */
  readonly type?: '0' | '1' | '2' | '3' | '5' | '6';
  /** The target of a link. */
  readonly target?: string;
  readonly body?: Uint8Array;
  readonly mode?: number;
}

/** The bytes of an archive with these entries. */
export function tarBytes(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const body = Buffer.from(entry.body ?? []);
    const padding = Buffer.alloc((512 - (body.length % 512)) % 512);
    return [header(entry, body.length), body, padding];
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

function header({ name, type = '0', target = '', mode = 0o644 }: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(512);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  block.write(name, 0, 100);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  block.write(target, 157, 100);
  block.write('ustar\0', 257);
  block.write('00', 263);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
