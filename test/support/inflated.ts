import { newId } from "../../src/kernel/ids.ts";
import { MAX_JSON_VALUES } from "../../src/kernel/limits.ts";
import { generateApiKey, type Json } from "./client.ts";
import type { FieldSchema } from "./mutations.ts";

/**
 * A valid request made as large as its schema lets it be. Not all that comes of it is valid, as some entries of lists have to be there
 * or to differ: it is for those who ask what a request costs, whatever becomes of it.
 */

/** Whether the entries that are added are others than the first, or the same. */
export type Copies = "others" | "same";

/** A body of a request is smaller than this, with everything around what is made here. */
const MAX_BYTES = 3_500_000;
const MAX_VALUES = MAX_JSON_VALUES - 5000;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const COMPRESSED_KEY = /^0[23][0-9a-f]{64}$/;

/** @returns the value itself where nothing of it can grow */
export function inflated(schema: FieldSchema, value: Json, copies: Copies, room = { bytes: MAX_BYTES }): Json {
  if (Array.isArray(value) && schema.items) {
    const [first] = value;
    const { items, maxItems = 1000 } = schema;
    if (first === undefined || value.length >= maxItems) return value;
    // What is inside a list leaves room for others beside it.
    const entry = inflated(items, first, copies, { bytes: room.bytes / 8 });
    const fits = Math.floor(Math.min(room.bytes / (sizeOf(entry) + 1), MAX_VALUES / valuesIn(entry)));
    const count = Math.max(value.length, Math.min(maxItems, fits));
    const added = Array.from({ length: count - 1 }, (_, index) =>
      copies === "same" ? entry : another(entry, index + 1),
    );
    return [entry, ...added];
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value);
    const grown = members.map(([name, member]) => {
      const of = schema.properties?.[name];
      return [
        name,
        of
          ? inflated(of, member, copies, {
              bytes:
                room.bytes /
                (Array.isArray(member) ? 1.2 : 1.05) /
                (members.filter(([, each]) => Array.isArray(each)).length || 1),
            })
          : member,
      ];
    });
    return Object.fromEntries(grown);
  }
  if (typeof value === "string" && schema.maxLength !== undefined && !schema.pattern && !schema.enum) {
    return value.padEnd(Math.min(schema.maxLength, Math.floor(room.bytes / 4)), value.at(-1) ?? "0");
  }
  return value;
}

const sizeOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value));

function valuesIn(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  return 1 + Object.values(value).reduce<number>((sum, each) => sum + valuesIn(each), 0);
}

/** Of the same form, with other identifiers, names and keys. */
function another(value: Json, index: number, name = ""): Json {
  if (Array.isArray(value)) return value.map((each, at) => another(each, index * 1000 + at, name));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, another(member, index, key)]));
  }
  if (typeof value !== "string") return value;
  if (UUID.test(value)) return newId();
  if (COMPRESSED_KEY.test(value)) return generateApiKey().publicKey;
  if (/name$|label|alias|notes/i.test(name)) return `${value.slice(0, 200)} ${index}`;
  if (/^path$/.test(name)) return value.replace(/[0-9]+('?)$/, `${index}$1`);
  if (/email/i.test(name)) return `${index}${value}`;
  if (/^([0-9a-f]{2})+$/.test(value)) {
    const digits = index.toString(16).padStart(8, "0");
    return value.length > digits.length ? value.slice(0, -digits.length) + digits : value;
  }
  return value;
}
