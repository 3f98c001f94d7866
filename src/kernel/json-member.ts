/**
 * Looks for one member of a JSON object in its bytes, without parsing it: what a request is for must be known before it is known
 * whether all of it is worth reading. Time goes by the length alone, and nothing is kept of what is passed over.
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
 * The string that the first member `name` of the object holds. It is what the strict parser finds there too, or that one refuses
 * the text.
 *
 * @returns undefined where there is none, and where it cannot be said without decoding: an escape in a member's name before it
 *   or in the string itself, or bytes that are no JSON object
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

/** Where the string that starts here has its closing quote; -1 if none starts here, or one with an escape. */
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

/** The first byte after the value that starts here, brackets of either kind taken for one another. */
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
