import { createLocalJWKSet, type JWK } from "jose";
import { MAX_ISSUER_KEYS } from "../../kernel/limits.ts";

/** An issuer's keys for verifying tokens. */
export interface KeySet {
  /** Whether the key set may contain the key for tokens that name this key, or none. */
  mayHave(kid: string | undefined): boolean;
  resolve: ReturnType<typeof createLocalJWKSet>;
}

/** The members of each type of public key. */
const membersOf: Record<string, readonly string[]> = { RSA: ["n", "e"], EC: ["crv", "x", "y"], OKP: ["crv", "x"] };
/** Members that describe the key. */
const described = ["kty", "kid", "alg", "use"];

/** Base64url digits of 8,192 bits, the largest modulus in use. A larger one would be slow to verify with. */
const LONGEST_MEMBER = 1366;
/** Base64url digits of 64 bits. With an exponent as long as its modulus, verifying with an RSA key takes fifty times as long. */
const LONGEST_EXPONENT = 11;

/** The keys of a JWK Set (RFC 7517) that can verify. Secret and malformed keys are skipped. Undefined if the document is not a JWK Set. */
export function keySetOf(document: { keys?: unknown }): KeySet | undefined {
  const { keys } = document;
  if (!Array.isArray(keys) || keys.length > MAX_ISSUER_KEYS) return undefined;
  const usable = keys.flatMap((key) => verificationKeyOf(key) ?? []);
  const named = new Set(usable.map(({ kid }) => kid));
  return {
    mayHave: (kid) => (kid === undefined ? usable.length > 0 : named.has(kid)),
    resolve: createLocalJWKSet({ keys: usable }),
  };
}

function verificationKeyOf(key: unknown): JWK | undefined {
  if (typeof key !== "object" || key === null) return undefined;
  const given = key as Record<string, unknown>;
  const members =
    typeof given.kty === "string" && Object.hasOwn(membersOf, given.kty) ? membersOf[given.kty] : undefined;
  if (!members || (given.use !== undefined && given.use !== "sig")) return undefined;
  const isText = (value: unknown) => typeof value === "string" && value.length <= LONGEST_MEMBER;
  if (!members.every((name) => isText(given[name]))) return undefined;
  const kept = [...described, ...members].filter((name) => given[name] !== undefined);
  if (!kept.every((name) => isText(given[name]))) return undefined;
  if (given.kty === "RSA" && (given.e as string).length > LONGEST_EXPONENT) return undefined;
  return Object.fromEntries(kept.map((name) => [name, given[name]])) as JWK;
}
