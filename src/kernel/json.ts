import { fail } from "./errors.ts";
import { LARGE_JSON_BYTES, MAX_JSON_DEPTH, MAX_JSON_MEMBERS, MAX_JSON_NAMES, MAX_JSON_VALUES } from "./limits.ts";
import { nextTurn } from "./next-turn.ts";
import { pause } from "./turns.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** Characters checked before other requests are processed. */
const SLICE_LENGTH = 512 * 1024;

/**
 * Parses a JSON body (RFC 8259, UTF-8) more strictly than `JSON.parse`: no duplicate or `__proto__` keys, no NUL or lone surrogate in any
 * string, at most `MAX_JSON_DEPTH` levels, `MAX_JSON_VALUES` values, `MAX_JSON_NAMES` different names, and `MAX_JSON_MEMBERS` members of
 * one object. A body is signed and stored as bytes but decided on as values, so anything that two parsers could read differently is
 * refused.
 *
 * @throws KeysteadError BODY_INVALID or FIELD_INVALID
 */
export function parseJson(bytes: Uint8Array): unknown {
  const steps = parsing(bytes);
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** As `parseJson`, but other work runs between the steps of a large body. */
export async function parseJsonInTurns(bytes: Uint8Array): Promise<unknown> {
  const steps = parsing(bytes);
  let step = steps.next();
  while (!step.done) {
    if (bytes.length > LARGE_JSON_BYTES) await nextTurn();
    step = steps.next();
  }
  return step.value;
}

function* parsing(bytes: Uint8Array): Generator<undefined, unknown> {
  const text = textOf(bytes);
  // Before parsing, because that creates every value. A text of ordinary size is too short to contain too many.
  if (text.length > MAX_JSON_VALUES) yield* inSlices(new Counting(text));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    fail("BODY_INVALID", { reason: text.trim() === "" ? "it is empty; send a JSON object" : "it is not valid JSON" });
  }
  yield;
  yield* inSlices(new StructureCheck(text));
  // In valid UTF-8 JSON, only an escape can produce NUL or a lone surrogate.
  if (text.includes("\\u")) yield* checkStrings(value);
  return value;
}

function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return fail("BODY_INVALID", { reason: "it is not valid UTF-8" });
  }
}

/** A pass over a text from beginning to end. */
interface Walk {
  /** Continues to `end` or slightly further. False if the text is finished. */
  advance(end: number): boolean;
}

function* inSlices(walk: Walk): Generator<undefined, void> {
  for (let end = SLICE_LENGTH; walk.advance(end); end += SLICE_LENGTH) yield;
}

/** Counts brackets, separators and distinct names, in text that may turn out not to be JSON. */
class Counting implements Walk {
  readonly #text: string;
  #at = 0;
  #values = 0;
  /** The number of commas in each open list and object. */
  readonly #commas: number[] = [];
  readonly #names = new Set<string>();
  /** Start and end of the last string. It is a name if a colon follows. */
  #string = { start: 0, end: 0 };

  constructor(text: string) {
    this.#text = text;
  }

  advance(end: number): boolean {
    const text = this.#text;
    let i = this.#at;
    for (; i < text.length && i < end; i++) {
      const char = text.charCodeAt(i);
      if (char === QUOTE) {
        const end = endOfString(text, i);
        this.#string = { start: i, end };
        i = end;
      } else if (char === COLON) {
        this.#countName();
      } else if (char === COMMA || char === OPEN_OBJECT || char === OPEN_ARRAY) {
        this.#count(char);
      } else if (char === CLOSE_OBJECT || char === CLOSE_ARRAY) {
        const commas = this.#commas.pop() ?? 0;
        if (char === CLOSE_OBJECT && commas >= MAX_JSON_MEMBERS) refuseManyMembers();
      }
    }
    this.#at = i;
    return i < text.length;
  }

  #countName(): void {
    const { start, end } = this.#string;
    if (this.#names.add(this.#text.slice(start, end)).size > MAX_JSON_NAMES) {
      fail("BODY_INVALID", { reason: `it holds more than ${MAX_JSON_NAMES} names of members that differ` });
    }
  }

  #count(char: number): void {
    if (++this.#values > MAX_JSON_VALUES) {
      fail("BODY_INVALID", { reason: `it holds more than ${MAX_JSON_VALUES} values` });
    }
    if (char !== COMMA) this.#commas.push(0);
    else if (this.#commas.length > 0) this.#commas.push((this.#commas.pop() as number) + 1);
  }
}

/** Checks the depth and the keys of every object, in text that is known to be valid JSON. */
class StructureCheck implements Walk {
  readonly #text: string;
  #at = 0;
  readonly #keysOfOpen: (Set<string> | undefined)[] = [];
  #keyIsNext = false;

  constructor(text: string) {
    this.#text = text;
  }

  advance(end: number): boolean {
    const text = this.#text;
    let i = this.#at;
    for (; i < text.length && i < end; i++) {
      const char = text.charCodeAt(i);
      if (char === QUOTE) {
        const close = endOfString(text, i);
        if (this.#keyIsNext) checkKey(text.slice(i + 1, close), this.#keysOfOpen.at(-1) as Set<string>);
        this.#keyIsNext = false;
        i = close;
      } else if (char === OPEN_OBJECT || char === OPEN_ARRAY) {
        this.#keyIsNext = char === OPEN_OBJECT;
        if (this.#keysOfOpen.push(this.#keyIsNext ? new Set() : undefined) > MAX_JSON_DEPTH) {
          fail("BODY_INVALID", { reason: `it is nested deeper than ${MAX_JSON_DEPTH} levels` });
        }
      } else if (char === CLOSE_OBJECT || char === CLOSE_ARRAY) {
        this.#keysOfOpen.pop();
        this.#keyIsNext = false;
      } else if (char === COMMA) {
        this.#keyIsNext = this.#keysOfOpen.at(-1) !== undefined;
      }
    }
    this.#at = i;
    return i < text.length;
  }
}

function checkKey(raw: string, seen: Set<string>): void {
  const key = raw.includes("\\") ? unescaped(raw) : raw;
  if (key === "__proto__") fail("FIELD_INVALID", { field: "__proto__", reason: "is not an allowed key" });
  if (seen.has(key)) fail("FIELD_INVALID", { field: printable(key), reason: "occurs twice in one object" });
  if (seen.add(key).size > MAX_JSON_MEMBERS) refuseManyMembers();
}

function refuseManyMembers(): never {
  fail("BODY_INVALID", { reason: `an object in it has more than ${MAX_JSON_MEMBERS} members` });
}

const ESCAPES: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** A string's characters between its quotes, unescaped. The parser is slow for many short strings, and replacing is slow for a long one. */
const unescaped = (raw: string): string =>
  raw.length > MANY_CHARACTERS ? (JSON.parse(`"${raw}"`) as string) : replaceEscapes(raw);

const MANY_CHARACTERS = 1024;

const replaceEscapes = (raw: string): string =>
  raw.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, hex: string | undefined, letter: string) =>
    hex === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );

/** The end of the string that starts here: its closing quote, or the end of the text if it is not JSON. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  // Only a backslash right before a quote can escape it.
  if (quote > 0 && text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  let i = start + 1;
  for (; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) return i;
    if (char === BACKSLASH) i++;
  }
  return i;
}

/** Values whose strings are checked before other requests are processed. */
const SLICE_VALUES = 20_000;

/** A value among its siblings. Its path is built only for an error. */
interface Place {
  key: string;
  parent: Place | undefined;
}

function* checkStrings(value: unknown): Generator<undefined, void> {
  const open: { value: unknown; place: Place | undefined }[] = [{ value, place: undefined }];
  for (let looked = 1; open.length > 0; looked++) {
    if (looked % SLICE_VALUES === 0) yield;
    const { value, place } = open.pop() as (typeof open)[0];
    if (typeof value === "string") {
      checkString(value, place);
    } else if (typeof value === "object" && value !== null) {
      for (const key of Object.keys(value).reverse()) {
        const child = { key, parent: place };
        checkString(key, child);
        open.push({ value: value[key as never], place: child });
      }
    }
  }
}

function checkString(text: string, place: Place | undefined): void {
  if (text.includes("\0")) fail("FIELD_INVALID", { field: pathTo(place), reason: "holds a NUL character" });
  if (!text.isWellFormed()) fail("FIELD_INVALID", { field: pathTo(place), reason: "holds a lone surrogate" });
}

function pathTo(place: Place | undefined): string {
  const steps: string[] = [];
  for (let at = place; at; at = at.parent) steps.push(printable(at.key));
  return steps.reverse().join(".");
}

/**
 * Whether a value from `JSON.parse` has at most `MAX_JSON_DEPTH` levels. `JSON.stringify` and a reviver use the stack, which thousands of
 * levels exceed; `JSON.parse` alone does not.
 */
export function isShallow(value: unknown, levels = MAX_JSON_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((part) => isShallow(part, levels - 1));
}

/** Text from a client, made safe for an error message. */
export function printable(text: string): string {
  const shown = text.length > 64 ? `${text.slice(0, 64)}…` : text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced here
  return shown.toWellFormed().replace(/[\u0000-\u001f\u007f]/g, "?");
}

/**
 * Returns the same as `JSON.stringify`, but other work runs between the pieces: the members of objects and entries of lists down to this
 * many levels. The value must not contain a `toJSON`.
 */
export async function stringifyInTurns(value: unknown, levels: number): Promise<string> {
  await pause();
  if (levels === 0 || typeof value !== "object" || value === null) return JSON.stringify(value);
  const texts: string[] = [];
  if (Array.isArray(value)) {
    for (const entry of value) texts.push(await stringifyInTurns(entry, levels - 1));
    return `[${texts.join(",")}]`;
  }
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) texts.push(`${JSON.stringify(name)}:${await stringifyInTurns(member, levels - 1)}`);
  }
  return `{${texts.join(",")}}`;
}

/**
 * The canonical JSON of a value, for hashing (RFC 8785): members sorted by the UTF-16 units of their names, no spaces, numbers and strings
 * as ECMAScript writes them. Undefined members are omitted.
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
