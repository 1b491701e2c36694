/** Types of decoders that bring none. */

interface ByteSource {
  readByte(): number;
}

interface ByteSink {
  writeByte(byte: number): void;
}

declare module 'seek-bzip' {
  const bzip: { decode(input: Uint8Array, output: ByteSink): void };
  export default bzip;
}

declare module 'js-lzma' {
  const lzma: {
    decompress(
      properties: ByteSource & { readonly size: number },
      input: ByteSource,
      output: ByteSink,
      size: number,
    ): void;
  };
  export default lzma;
}
