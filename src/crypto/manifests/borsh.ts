/** Borsh, as far as manifests need it: little-endian integers, 32-bit lengths, members in a fixed order. */
export class BorshWriter {
  readonly #parts: Buffer[] = [];

  u8(value: number): this {
    this.#parts.push(Buffer.of(value));
    return this;
  }

  u16(value: number): this {
    const bytes = Buffer.alloc(2);
    bytes.writeUInt16LE(value);
    this.#parts.push(bytes);
    return this;
  }

  u32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    this.#parts.push(bytes);
    return this;
  }

  bool(value: boolean): this {
    return this.u8(Number(value));
  }

  /** Without a length: an array of fixed size. */
  fixed(bytes: Uint8Array): this {
    this.#parts.push(Buffer.from(bytes));
    return this;
  }

  bytes(bytes: Uint8Array): this {
    return this.u32(bytes.length).fixed(bytes);
  }

  text(text: string): this {
    return this.bytes(Buffer.from(text));
  }

  list<T>(items: readonly T[], write: (item: T) => void): this {
    this.u32(items.length);
    for (const item of items) write(item);
    return this;
  }

  optional<T>(value: T | undefined, write: (value: T) => void): this {
    this.u8(value === undefined ? 0 : 1);
    if (value !== undefined) write(value);
    return this;
  }

  written(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
