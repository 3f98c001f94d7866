import { fail, KeysteadError } from "../../kernel/errors.ts";
import { parseJson } from "../../kernel/json.ts";
import { MAX_PAYLOAD_LENGTH } from "../../kernel/limits.ts";

export type JsonObject = { readonly [key: string]: unknown };

/** Rejects a payload because of the value at `place`: `message.to[2].wallet`, or `it` for the whole payload. */
export type Refuse = (place: string, reason: string) => never;

/** The longest place that an error shows in full; of a longer one it shows the end. */
const MAX_PLACE_LENGTH = 256;

/** A function that rejects the request's `field` with FIELD_INVALID, as not being valid `kind`. */
export function refusalOf(field: string, kind: string): Refuse {
  return (place, reason) => {
    const shown = place.length > MAX_PLACE_LENGTH ? `…${place.slice(-MAX_PLACE_LENGTH)}` : place;
    fail("FIELD_INVALID", { field, reason: `is not valid ${kind}: ${shown} ${reason}` });
  };
}

/** The object in the JSON text of a payload, parsed as strictly as a request body (see `parseJson`). */
export function parsePayload(json: string, refuse: Refuse): JsonObject {
  if (json.length > MAX_PAYLOAD_LENGTH) refuse("it", `is longer than ${MAX_PAYLOAD_LENGTH} characters`);
  const value = parseJsonText(json, refuse);
  return isJsonObject(value) ? value : refuse("it", "must be a JSON object");
}

/** Any JSON value, parsed as strictly as a request body. The caller must limit its length. */
export function parseJsonText(json: string, refuse: Refuse): unknown {
  // Encoding would silently replace a lone surrogate with U+FFFD, so something else would be signed.
  if (!json.isWellFormed()) refuse("it", "holds a lone surrogate");
  try {
    return parseJson(Buffer.from(json));
  } catch (error) {
    if (!(error instanceof KeysteadError)) throw error;
    const [place = "it", ...reason] = error.message.replace(/^(?:bad|invalid) request body: /, "").split(" ");
    return refuse(place, reason.join(" "));
  }
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value of an own key, because a struct may have a member called `constructor`. */
export const ownValue = (object: JsonObject, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

const DECIMAL = /^(?:0|-?[1-9]\d{0,77})$/;
const HEXADECIMAL = /^0x[0-9a-fA-F]{1,64}$/;

/** An integer of at most 256 bits in JSON: a safe number, a decimal string, or a 0x hex string (unsigned). */
export function readInteger(value: unknown, place: string, refuse: Refuse): bigint {
  if (value === undefined) return refuse(place, "is missing");
  if (typeof value === "string" && (DECIMAL.test(value) || HEXADECIMAL.test(value))) return BigInt(value);
  if (typeof value !== "number") {
    return refuse(place, "must be an integer: a number, a decimal string or a 0x hex string");
  }
  if (!Number.isInteger(value)) return refuse(place, "must be a whole number");
  if (!Number.isSafeInteger(value)) {
    return refuse(place, "is a number above 2^53 that JSON cannot carry exactly; send it as a string");
  }
  return BigInt(value);
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** A 20-byte address in lowercase. A checksum in its case (EIP-55) is not verified. */
export function readAddress(value: unknown, place: string, refuse: Refuse): string {
  if (value === undefined) return refuse(place, "is missing");
  if (typeof value !== "string" || !ADDRESS.test(value)) {
    return refuse(place, "must be an address: 0x and 40 hex digits");
  }
  return value.toLowerCase();
}
