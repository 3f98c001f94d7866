import { fail } from "./errors.ts";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from "./limits.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/**
 * Parses a JSON body (RFC 8259, UTF-8) more strictly than `JSON.parse`: no duplicate or `__proto__` keys, at most
 * `MAX_JSON_DEPTH` levels and `MAX_JSON_VALUES` values, no NUL and no lone surrogate in any string. What two parsers could read in two ways is refused,
 * because the body is signed and stored as bytes and decided on as values.
 *
 * @throws KeysteadError BODY_INVALID or FIELD_INVALID
 */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    fail("BODY_INVALID", { reason: "it is not valid UTF-8" });
  }
  refuseManyValues(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    fail("BODY_INVALID", { reason: text.trim() === "" ? "it is empty; send a JSON object" : "it is not valid JSON" });
  }
  checkStructure(text);
  // Escapes are the only way to write NUL or half a surrogate pair in valid UTF-8 JSON.
  if (text.includes("\\u")) checkStrings(value, "");
  return value;
}

/**
 * Before parsing, which makes every value. What opens and what parts values is counted, in text that may yet turn out not to be
 * JSON; a body of ordinary size is short enough to be passed over.
 */
function refuseManyValues(text: string): void {
  if (text.length <= MAX_JSON_VALUES) return;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      i = endOfString(text, i);
      if (i < 0) return;
    } else if (char === COMMA || char === OPEN_OBJECT || char === OPEN_ARRAY) {
      if (++values > MAX_JSON_VALUES) fail("BODY_INVALID", { reason: `it holds more than ${MAX_JSON_VALUES} values` });
    }
  }
}

/** Walks the text once: depth, and the keys of every object. `text` is known to be valid JSON. */
function checkStructure(text: string): void {
  const keysOfOpen: (Set<string> | undefined)[] = [];
  let keyIsNext = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = endOfString(text, i);
      if (keyIsNext) {
        checkKey(text, i, end, keysOfOpen.at(-1) as Set<string>);
        keyIsNext = false;
      }
      i = end;
    } else if (char === OPEN_OBJECT || char === OPEN_ARRAY) {
      keyIsNext = char === OPEN_OBJECT;
      if (keysOfOpen.push(keyIsNext ? new Set() : undefined) > MAX_JSON_DEPTH) {
        fail("BODY_INVALID", { reason: `it is nested deeper than ${MAX_JSON_DEPTH} levels` });
      }
    } else if (char === CLOSE_OBJECT || char === CLOSE_ARRAY) {
      keysOfOpen.pop();
      keyIsNext = false;
    } else if (char === COMMA) {
      keyIsNext = keysOfOpen.at(-1) !== undefined;
    }
  }
}

function checkKey(text: string, start: number, end: number, seen: Set<string>): void {
  const raw = text.slice(start + 1, end);
  const key = raw.includes("\\") ? (JSON.parse(text.slice(start, end + 1)) as string) : raw;
  if (key === "__proto__") fail("FIELD_INVALID", { field: "__proto__", reason: "is not an allowed key" });
  if (seen.has(key)) fail("FIELD_INVALID", { field: printable(key), reason: "is there twice in one object" });
  seen.add(key);
}

/** Where the string that starts here ends; -1 if nowhere. */
function endOfString(text: string, start: number): number {
  let end = start;
  for (;;) {
    end = text.indexOf('"', end + 1);
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}

function checkStrings(value: unknown, path: string): void {
  if (typeof value === "string") {
    if (value.includes("\0")) fail("FIELD_INVALID", { field: path, reason: "holds a NUL character" });
    if (!value.isWellFormed()) fail("FIELD_INVALID", { field: path, reason: "holds a lone surrogate" });
  } else if (typeof value === "object" && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      const childPath = path === "" ? printable(key) : `${path}.${printable(key)}`;
      checkStrings(key, childPath);
      checkStrings(child, childPath);
    }
  }
}

/** A client's own words, made fit to stand in an error text. */
export function printable(text: string): string {
  const shown = text.length > 64 ? `${text.slice(0, 64)}…` : text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced here
  return shown.toWellFormed().replace(/[\u0000-\u001f\u007f]/g, "?");
}

/**
 * One spelling of a JSON value, to hash (RFC 8785): members sorted by the UTF-16 units of their names, no spaces, numbers
 * and strings as ECMAScript writes them. Members that are undefined are left out.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, child]) => child !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, child]) => `${JSON.stringify(key)}:${canonicalJson(child)}`);
  return `{${members.join(",")}}`;
}
