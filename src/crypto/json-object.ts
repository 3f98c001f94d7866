import { KeysteadError } from "../kernel/errors.ts";
import { parseJson } from "../kernel/json.ts";

/** Throws the caller's own error with this reason. */
export type Refuse = (reason: string) => never;

/** Parses a JSON object as strictly as a request body; every error goes to `refuse`. */
export function parseJsonObject(bytes: Uint8Array, refuse: Refuse): Record<string, unknown> {
  const value = parseJsonOr(bytes, refuse);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse("it is not a JSON object");
  return value as Record<string, unknown>;
}

/** Parses any JSON value as strictly as a request body; on an error, `refuse` throws or returns a replacement value. */
export function parseJsonOr(bytes: Uint8Array, refuse: (reason: string) => unknown): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (!(error instanceof KeysteadError)) throw error;
    // The part before the first colon mentions a request body, which this is not.
    return refuse(error.message.slice(error.message.indexOf(": ") + 2).replaceAll("``", "the value"));
  }
}

/** The string `object[name]`; if the field is missing or has another type, calls `refuse`. */
export function stringField(object: Record<string, unknown>, name: string, refuse: Refuse): string {
  const value = Object.hasOwn(object, name) ? object[name] : undefined;
  if (value === undefined) return refuse(`\`${name}\` is missing`);
  return typeof value === "string" ? value : refuse(`\`${name}\` must be a string`);
}
