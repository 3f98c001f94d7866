/** The bytes with each one of them in turn changed, removed, or with another one before it; and with one more at the end. */
export function* byteMutations(bytes: Uint8Array): Generator<Buffer> {
  for (let at = 0; at <= bytes.length; at++) {
    const [before, byte, after] = [bytes.subarray(0, at), bytes.subarray(at, at + 1), bytes.subarray(at + 1)];
    const changed = [0x01, 0x80, 0xff].map((mask) => byte.map((each) => each ^ mask));
    const added = [0x00, 0x7f, 0x80, 0xc0, 0xff].map((extra) => Buffer.from([extra, ...byte]));
    for (const middle of [...changed, ...added, Buffer.alloc(0)]) yield Buffer.concat([before, middle, after]);
  }
}
