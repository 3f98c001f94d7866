/** Programs of Solana put together by hand: instructions of its virtual machine (SBPF version 0), and the ELF file that loaders take. */

type Register = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10;

interface Line {
  opcode: number;
  to?: number;
  from?: number;
  offset?: number;
  immediate?: number | bigint;
  /** Where a jump goes. */
  label?: string;
  /** What is called. */
  syscall?: string;
}

/** Writes instructions in their order; jumps name labels. */
export class Assembly {
  readonly #lines: Line[] = [];
  readonly #labels = new Map<string, number>();
  #slots = 0;

  #add(line: Line, slots = 1): this {
    this.#lines.push(line);
    this.#slots += slots;
    return this;
  }

  label(name: string): this {
    this.#labels.set(name, this.#slots);
    return this;
  }

  move = (to: Register, from: Register): this => this.#add({ opcode: 0xbf, to, from });
  set = (to: Register, immediate: bigint): this => this.#add({ opcode: 0x18, to, immediate }, 2);
  add = (to: Register, immediate: number): this => this.#add({ opcode: 0x07, to, immediate });
  addFrom = (to: Register, from: Register): this => this.#add({ opcode: 0x0f, to, from });
  subtract = (to: Register, from: Register): this => this.#add({ opcode: 0x1f, to, from });
  multiply = (to: Register, immediate: number): this => this.#add({ opcode: 0x27, to, immediate });
  divide = (to: Register, immediate: number): this => this.#add({ opcode: 0x37, to, immediate });
  mask = (to: Register, immediate: number): this => this.#add({ opcode: 0x57, to, immediate });
  /** Eight bytes of memory, or one. */
  load = (to: Register, from: Register, offset: number): this => this.#add({ opcode: 0x79, to, from, offset });
  loadByte = (to: Register, from: Register, offset: number): this => this.#add({ opcode: 0x71, to, from, offset });
  store = (to: Register, offset: number, from: Register): this => this.#add({ opcode: 0x7b, to, from, offset });
  storeByte = (to: Register, offset: number, from: Register): this => this.#add({ opcode: 0x73, to, from, offset });
  jump = (label: string): this => this.#add({ opcode: 0x05, label });
  jumpIf = (to: Register, immediate: number, label: string): this => this.#add({ opcode: 0x15, to, immediate, label });
  call = (syscall: string): this => this.#add({ opcode: 0x85, immediate: -1, syscall });
  exit = (): this => this.#add({ opcode: 0x95 });

  /** A program whose one function begins with the first instruction. */
  program(): Buffer {
    const text = Buffer.alloc(8 * this.#slots);
    const calls: { at: number; name: string }[] = [];
    let slot = 0;
    for (const { opcode, to = 0, from = 0, offset = 0, immediate = 0, label, syscall } of this.#lines) {
      const at = 8 * slot;
      const target = label === undefined ? undefined : this.#labels.get(label);
      if (label !== undefined && target === undefined) throw new Error(`there is no label ${label}`);
      text.writeUInt8(opcode, at);
      text.writeUInt8(to | (from << 4), at + 1);
      text.writeInt16LE(target === undefined ? offset : target - slot - 1, at + 2);
      text.writeInt32LE(Number(BigInt.asIntN(32, BigInt(immediate))), at + 4);
      if (opcode === 0x18) text.writeUInt32LE(Number(BigInt.asUintN(64, BigInt(immediate)) >> 32n), at + 12);
      if (syscall !== undefined) calls.push({ at, name: syscall });
      slot += opcode === 0x18 ? 2 : 1;
    }
    return elfOf(text, calls);
  }
}

const HEADER = 64;
const SECTION = 64;
const TYPE = { program: 1, strings: 3, dynamic: 6, relocations: 9, symbols: 11 };
const R_BPF_64_32 = 10;

/** Sections lie in the file where they lie in memory. */
function elfOf(text: Buffer, calls: readonly { at: number; name: string }[]): Buffer {
  const names = [...new Set(calls.map(({ name }) => name))];
  const strings = stringTable(names);
  const sectionNames = stringTable([".text", ".dynamic", ".dynsym", ".dynstr", ".rel.dyn", ".shstrtab"]);
  const textAt = HEADER;
  const dynamicAt = textAt + text.length;
  const symbolsAt = dynamicAt + 16 * 5;
  const symbols = Buffer.alloc(24 * (1 + names.length));
  for (const [index, name] of names.entries()) {
    symbols.writeUInt32LE(strings.at(name), 24 * (index + 1));
    symbols.writeUInt8(0x10, 24 * (index + 1) + 4);
  }
  const stringsAt = symbolsAt + symbols.length;
  const relocationsAt = Math.ceil((stringsAt + strings.bytes.length) / 8) * 8;
  const relocations = Buffer.alloc(16 * calls.length);
  for (const [index, { at, name }] of calls.entries()) {
    relocations.writeBigUInt64LE(BigInt(textAt + at), 16 * index);
    relocations.writeUInt32LE(R_BPF_64_32, 16 * index + 8);
    relocations.writeUInt32LE(names.indexOf(name) + 1, 16 * index + 12);
  }
  const dynamic = Buffer.alloc(16 * 5);
  const entries = [
    [17, relocationsAt],
    [18, relocations.length],
    [19, 16],
    [6, symbolsAt],
    [0, 0],
  ] as const;
  for (const [index, [tag, value]] of entries.entries()) {
    dynamic.writeBigUInt64LE(BigInt(tag), 16 * index);
    dynamic.writeBigUInt64LE(BigInt(value), 16 * index + 8);
  }
  const sectionNamesAt = relocationsAt + relocations.length;
  const sectionsAt = Math.ceil((sectionNamesAt + sectionNames.bytes.length) / 8) * 8;
  const sections = [
    { name: "", type: 0, at: 0, size: 0 },
    { name: ".text", type: TYPE.program, at: textAt, size: text.length, flags: 6 },
    { name: ".dynamic", type: TYPE.dynamic, at: dynamicAt, size: dynamic.length, flags: 2, link: 4, entry: 16 },
    { name: ".dynsym", type: TYPE.symbols, at: symbolsAt, size: symbols.length, flags: 2, link: 4, entry: 24 },
    { name: ".dynstr", type: TYPE.strings, at: stringsAt, size: strings.bytes.length, flags: 2 },
    {
      name: ".rel.dyn",
      type: TYPE.relocations,
      at: relocationsAt,
      size: relocations.length,
      flags: 2,
      link: 3,
      entry: 16,
    },
    { name: ".shstrtab", type: TYPE.strings, at: sectionNamesAt, size: sectionNames.bytes.length },
  ];
  const file = Buffer.alloc(sectionsAt + SECTION * sections.length);
  file.set(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]));
  file.writeUInt16LE(3, 16);
  file.writeUInt16LE(247, 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(textAt), 24);
  file.writeBigUInt64LE(BigInt(HEADER), 32);
  file.writeBigUInt64LE(BigInt(sectionsAt), 40);
  file.writeUInt16LE(HEADER, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(0, 56);
  file.writeUInt16LE(SECTION, 58);
  file.writeUInt16LE(sections.length, 60);
  file.writeUInt16LE(sections.length - 1, 62);
  file.set(text, textAt);
  file.set(dynamic, dynamicAt);
  file.set(symbols, symbolsAt);
  file.set(strings.bytes, stringsAt);
  file.set(relocations, relocationsAt);
  file.set(sectionNames.bytes, sectionNamesAt);
  for (const [index, { name, type, at, size, flags = 0, link = 0, entry = 0 }] of sections.entries()) {
    const start = sectionsAt + SECTION * index;
    file.writeUInt32LE(sectionNames.at(name), start);
    file.writeUInt32LE(type, start + 4);
    file.writeBigUInt64LE(BigInt(flags), start + 8);
    file.writeBigUInt64LE(BigInt((flags & 2) === 0 ? 0 : at), start + 16);
    file.writeBigUInt64LE(BigInt(at), start + 24);
    file.writeBigUInt64LE(BigInt(size), start + 32);
    file.writeUInt32LE(link, start + 40);
    file.writeBigUInt64LE(type === 0 ? 0n : 8n, start + 48);
    file.writeBigUInt64LE(BigInt(entry), start + 56);
  }
  return file;
}

function stringTable(names: readonly string[]): { bytes: Buffer; at(name: string): number } {
  const bytes = Buffer.from(`\0${names.map((name) => `${name}\0`).join("")}`);
  return { bytes, at: (name) => (name === "" ? 0 : bytes.indexOf(`\0${name}\0`) + 1) };
}
