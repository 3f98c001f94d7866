import fc from "fast-check";

/** Has `read` read what is well-formed but for a byte, which must not throw. */
export function readWithOtherBytes(read: (hex: string) => unknown, wellFormed: string): void {
  fc.assert(
    fc.property(fc.nat(wellFormed.length / 2 - 1), fc.nat(255), (at, byte) => {
      const bytes = Buffer.from(wellFormed, "hex");
      bytes[at] = byte;
      read(bytes.toString("hex"));
    }),
  );
}
