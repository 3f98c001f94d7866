/** Building blocks of DER, for certificates that no tool makes. */

export function der(tag: number, content: Buffer): Buffer {
  const length = content.length;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  return Buffer.concat([
    length < 0x100 ? Buffer.of(tag, 0x81, length) : Buffer.of(tag, 0x82, length >> 8, length & 0xff),
    content,
  ]);
}

export const sequence = (...parts: Buffer[]) => der(0x30, Buffer.concat(parts));
export const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
export const octets = (content: Buffer) => der(0x04, content);
export const utf8 = (text: string) => der(0x0c, Buffer.from(text));
export const printable = (text: string) => der(0x13, Buffer.from(text));
export const utcTime = (text: string) => der(0x17, Buffer.from(text));
export const attribute = (type: string, value: Buffer) => der(0x31, sequence(oid(type), value));
export const name = (...attributes: Buffer[]) => sequence(...attributes);
