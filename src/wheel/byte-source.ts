/** Bytes that can be read at any position: an open file, or an object in the store. */
export interface ByteSource {
  /**
   * Reads as `FileHandle.read` of Node does.
   *
   * @param position - bytes from the beginning
   * @returns fewer bytes than `length` only at the end
   */
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
}
