/** Reads bytes from the first to the last. */
export type ByteReader = {
  /** The next `length` bytes, without copying them. */
  take(length: number): Buffer;
  /** How many bytes are left. */
  left(): number;
};

/** `refuseEnd` is called if more bytes are requested than are left; it must throw. */
export function byteReader(bytes: Uint8Array, refuseEnd: () => never): ByteReader {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const left = () => buffer.length - at;
  const take = (length: number): Buffer => {
    if (length > left()) return refuseEnd();
    at += length;
    return buffer.subarray(at - length, at);
  };
  return { take, left };
}
