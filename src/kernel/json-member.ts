/**
 * Finds one member of a JSON object in its bytes without parsing it. The server must know whom a request is for before it decides whether
 * to parse all of it. The time depends on the length alone, and skipped bytes are not copied.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/**
 * The string value of the object's first member `name`. If the strict parser accepts the text, it finds the same value.
 *
 * @returns undefined if there is no such member, or if decoding would be necessary: an escape in an earlier member's name or in the string
 *   itself, or bytes that are not a JSON object
 */
export function findStringMember(json: Uint8Array, name: string): string | undefined {
  let i = skipSpace(json, 0);
  if (json[i] !== OPEN_OBJECT) return undefined;
  do {
    const start = skipSpace(json, i + 1);
    const end = plainStringEnd(json, start);
    if (end < 0) return undefined;
    i = skipSpace(json, end + 1);
    if (json[i] !== COLON) return undefined;
    i = skipSpace(json, i + 1);
    if (isText(json, start + 1, end, name)) {
      const valueEnd = plainStringEnd(json, i);
      return valueEnd < 0 ? undefined : Buffer.from(json.subarray(i + 1, valueEnd)).toString("latin1");
    }
    i = skipSpace(json, skipValue(json, i));
  } while (json[i] === COMMA);
  return undefined;
}

function skipSpace(json: Uint8Array, start: number): number {
  let i = start;
  while (json[i] === 0x20 || json[i] === 0x0a || json[i] === 0x0d || json[i] === 0x09) i++;
  return i;
}

/** The position of the closing quote of the string that starts here. -1 if no string starts here, or if it contains an escape. */
function plainStringEnd(json: Uint8Array, start: number): number {
  if (json[start] !== QUOTE) return -1;
  for (let i = start + 1; i < json.length; i++) {
    if (json[i] === QUOTE) return i;
    if (json[i] === BACKSLASH) return -1;
  }
  return -1;
}

function isText(json: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let i = 0; i < text.length; i++) {
    if (json[start + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}

/** The first position after the value that starts here. Both kinds of brackets are treated as the same. */
function skipValue(json: Uint8Array, start: number): number {
  let depth = 0;
  for (let i = start; i < json.length; i++) {
    const byte = json[i];
    if (byte === QUOTE) {
      for (i++; i < json.length && json[i] !== QUOTE; i++) if (json[i] === BACKSLASH) i++;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (depth === 0) return i;
      depth--;
    } else if (byte === COMMA && depth === 0) {
      return i;
    }
  }
  return json.length;
}
