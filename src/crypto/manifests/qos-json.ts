import { fail } from "../../kernel/errors.ts";
import { canonicalJson, parseJson } from "../../kernel/json.ts";

/**
 * The JSON in which manifests are hashed: RFC 8785, except that integers are strings of their decimal digits, null members are omitted, and
 * numbers that are not integers are rejected.
 */

/** TypeScript does not know yet that revivers receive the source text of a number. */
type SourceReviver = (key: string, value: unknown, context: { source?: string }) => unknown;

const INTEGER = /^(?:0|-?[1-9][0-9]*)$/;

/**
 * Parses strictly: duplicate members are rejected, and integers of any size become strings of their digits.
 *
 * @throws KeysteadError BODY_INVALID or FIELD_INVALID
 */
export function parseQosJson(bytes: Uint8Array): unknown {
  parseJson(bytes);
  const reviver: SourceReviver = (key, value, { source = "" }) => {
    if (typeof value !== "number") return value;
    if (!INTEGER.test(source)) fail("FIELD_INVALID", { field: key, reason: "holds a number that is not an integer" });
    return source;
  };
  return JSON.parse(Buffer.from(bytes).toString(), reviver as (key: string, value: unknown) => unknown);
}

/** The canonical JSON of a result of `parseQosJson`. */
export const qosJson = (value: unknown): string => canonicalJson(withoutNulls(value));

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, child]) => child !== null && child !== undefined);
  return Object.fromEntries(members.map(([key, child]) => [key, withoutNulls(child)]));
}
