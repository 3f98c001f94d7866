/** Parses tar archives (POSIX ustar with pax and GNU long names), as far as necessary to find one file in a stream. */

const BLOCK = 512;

export interface TarEntry {
  /** Without a leading `/` or `./`. */
  name: string;
  kind: "file" | "link" | "symlink" | "other";
  /** The target of a link. */
  target: string;
  size: number;
}

/** The kind of a header that describes the next entry. */
type Extended = "pax" | "name" | "target" | "other";

/** The maximum bytes of extended headers that are read. Real ones have a few hundred. */
const MAX_EXTENDED_BYTES = 64 * 1024;

/** The archive is invalid, or its entries are ambiguous. */
export class TarProblem extends Error {}

/** Reads an archive. `wants` selects entries, whose content is passed to `take`. */
export class TarReader {
  readonly #wants: (entry: TarEntry) => boolean;
  readonly #take: (entry: TarEntry, content: Buffer) => void;
  #header = Buffer.alloc(0);
  #entry: TarEntry | undefined;
  /** A buffer of the entry's size. */
  #kept: Buffer | undefined;
  #left = 0;
  #padding = 0;
  #extended: Extended | undefined;
  #next: { name?: string; target?: string; size?: number } = {};

  constructor(wants: (entry: TarEntry) => boolean, take: (entry: TarEntry, content: Buffer) => void) {
    this.#wants = wants;
    this.#take = take;
  }

  /** @throws TarProblem */
  write(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left > 0) rest = this.#content(rest);
      else if (this.#padding > 0) rest = this.#skip(rest);
      else rest = this.#headerPart(rest);
    }
  }

  #content(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, this.#left);
    if (this.#kept) part.copy(this.#kept, this.#kept.length - this.#left);
    this.#left -= part.length;
    if (this.#left === 0) this.#ended();
    return bytes.subarray(part.length);
  }

  #skip(bytes: Buffer): Buffer {
    const length = Math.min(this.#padding, bytes.length);
    this.#padding -= length;
    return bytes.subarray(length);
  }

  #headerPart(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, BLOCK - this.#header.length);
    this.#header = Buffer.concat([this.#header, part]);
    if (this.#header.length === BLOCK) {
      const header = this.#header;
      this.#header = Buffer.alloc(0);
      if (header.some((byte) => byte !== 0)) this.#begin(header);
    }
    return bytes.subarray(part.length);
  }

  #begin(header: Buffer): void {
    checkSum(header);
    const type = String.fromCharCode(header[156] as number);
    const size = this.#next.size ?? numberIn(header.subarray(124, 136));
    this.#left = size;
    this.#padding = (BLOCK - (size % BLOCK)) % BLOCK;
    this.#extended = EXTENDED[type];
    this.#kept = undefined;
    if (this.#extended) {
      if (size > MAX_EXTENDED_BYTES) throw new TarProblem("an extended header in it is too long");
      this.#kept = Buffer.alloc(size);
    } else {
      const prefix = header.toString("latin1", 257, 262) === "ustar" ? textIn(header.subarray(345, 500)) : "";
      const short = textIn(header.subarray(0, 100));
      const name = this.#next.name ?? (prefix ? `${prefix}/${short}` : short);
      const target = this.#next.target ?? textIn(header.subarray(157, 257));
      this.#next = {};
      this.#entry = { name: normalPath(name), kind: KINDS[type] ?? "other", target, size };
      if (this.#wants(this.#entry)) this.#kept = Buffer.allocUnsafe(size);
    }
    if (size === 0) this.#ended();
  }

  #ended(): void {
    const content = this.#kept;
    this.#kept = undefined;
    if (this.#extended) this.#extend(this.#extended, content ?? Buffer.alloc(0));
    else if (content && this.#entry) this.#take(this.#entry, content);
    this.#extended = undefined;
  }

  #extend(kind: Extended, content: Buffer): void {
    if (kind === "name") this.#next.name = textIn(content);
    else if (kind === "target") this.#next.target = textIn(content);
    else if (kind === "pax") Object.assign(this.#next, paxRecords(content));
  }
}

const KINDS: Record<string, TarEntry["kind"]> = { "0": "file", "\0": "file", "7": "file", "1": "link", "2": "symlink" };
const EXTENDED: Record<string, Extended> = { x: "pax", L: "name", K: "target", g: "other" };

function checkSum(header: Buffer): void {
  const told = numberIn(header.subarray(148, 156));
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0);
  if (sum !== told) throw new TarProblem("it is not a tar archive");
}

const textIn = (field: Buffer): string => {
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? field.length : end);
};

/** Octal digits, or a binary number if the first bit is set. */
function numberIn(field: Buffer): number {
  if (((field[0] as number) & 0x80) !== 0) return Number(field.readBigUInt64BE(field.length - 8));
  const text = textIn(field).trim();
  if (!/^[0-7]*$/.test(text)) throw new TarProblem("it is not a tar archive");
  return text === "" ? 0 : Number.parseInt(text, 8);
}

/** Parses records of the form `length key=value\n`. */
function paxRecords(content: Buffer): { name?: string; target?: string; size?: number } {
  const records: { name?: string; target?: string; size?: number } = {};
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.toString("latin1", at, space));
    if (space < 0 || !Number.isInteger(length) || length <= space - at || at + length > content.length) {
      throw new TarProblem("an extended header in it is malformed");
    }
    const [key, ...value] = content.toString("utf8", space + 1, at + length - 1).split("=");
    const text = value.join("=");
    if (key === "path") records.name = text;
    else if (key === "linkpath") records.target = text;
    else if (key === "size" && /^[0-9]{1,15}$/.test(text)) records.size = Number(text);
    at += length;
  }
  return records;
}

/** Removes leading `/` and `./`, and steps above the root. */
export function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}
