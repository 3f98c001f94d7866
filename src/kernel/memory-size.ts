/**
 * The size of a value's parts in V8 with 64-bit pointers: a header, and a word for each reference. Collections reserve about a third in
 * addition.
 */
const WORD = 8;
const OBJECT_BYTES = 3 * WORD;
const ARRAY_BYTES = 6 * WORD;
const ENTRY_BYTES = 5 * WORD;
const STRING_BYTES = 3 * WORD;

/**
 * The approximate memory of plain data, in bytes: objects, arrays, maps, strings and numbers. An object counts only once, even if it is
 * referenced more often. A string counts each time, with a byte for each character.
 */
export function memorySizeOf(value: unknown): number {
  const seen = new Set<object>();
  const open: unknown[] = [value];
  let bytes = 0;
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part === "string") bytes += STRING_BYTES + part.length;
    if (typeof part === "bigint") bytes += OBJECT_BYTES;
    if (typeof part !== "object" || part === null || seen.has(part)) continue;
    seen.add(part);
    const { own, parts } = takenApart(part);
    bytes += own;
    for (const each of parts) if (typeof each !== "number" && typeof each !== "boolean") open.push(each);
  }
  return bytes;
}

function takenApart(object: object): { own: number; parts: readonly unknown[] } {
  if (Array.isArray(object)) return { own: ARRAY_BYTES + object.length * WORD, parts: object };
  if (object instanceof Map) {
    return { own: ARRAY_BYTES + object.size * ENTRY_BYTES, parts: [...object.keys(), ...object.values()] };
  }
  const parts = Object.values(object);
  return { own: OBJECT_BYTES + parts.length * WORD, parts };
}
