import { verify } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Contact, contactAt, contactOf } from "../../authority/state.ts";
import { parseJsonObject } from "../../crypto/json-object.ts";
import { p256VerificationKey } from "../../crypto/verify-signature.ts";
import { fail } from "../../kernel/errors.ts";
import { withoutNulls } from "../validate.ts";
import { contactOfToken, type VerificationClaims } from "./verification-tokens.ts";

/** A signature by the key in a verification token, which proves that the token is the client's own. */
export interface ClientSignature {
  publicKey: string;
  message: string;
  /** r and s in hex. */
  signature: string;
}

/** What the client uses the token for, as in the signed message. */
export type Usage =
  | { type: "USAGE_TYPE_LOGIN"; login: { publicKey: string } }
  | { type: "USAGE_TYPE_SIGNUP"; signup: SignupUsage };

export interface SignupUsage {
  apiKeys: readonly unknown[];
  authenticators: readonly unknown[];
  oauthProviders: readonly unknown[];
  email?: string | undefined;
  phoneNumber?: string | undefined;
}

const AT = "parameters.clientSignature";

/**
 * Verifies a client's signature against its token and its request. The message is compared by content, not by bytes.
 *
 * @throws KeysteadError FIELD_MISSING or FIELD_INVALID naming the member
 */
export function checkClientSignature(
  signature: ClientSignature | undefined,
  token: VerificationClaims,
  usage: Usage,
): void {
  const { message, publicKey: key, ...given } = signature ?? fail("FIELD_MISSING", { field: AT });
  const refuse = (member: string, reason: string): never => fail("FIELD_INVALID", { field: `${AT}.${member}`, reason });
  const publicKey = key.toLowerCase();
  if (publicKey !== token.public_key) refuse("publicKey", "is not the key in the verification token");
  if (!isSigned({ ...given, publicKey, message })) refuse("signature", "does not match the message");
  const parsed = parseJsonObject(Buffer.from(message), (reason) =>
    refuse("message", `must be JSON with the token's usage: ${reason}`),
  );
  const said = withoutNulls(parsed) as Record<string, unknown>;
  const { type } = usage;
  if (said.tokenId !== token.id || said.type !== type) {
    refuse("message", `must say ${JSON.stringify({ tokenId: token.id, type })}`);
  }
  const other =
    type === "USAGE_TYPE_LOGIN"
      ? otherLogin(said, usage.login)
      : otherSignup(said, usage.signup, contactOfToken(token));
  if (other !== undefined) refuse("message", other);
}

/** How the message differs from the request; undefined if it does not. */
type Difference = string | undefined;

function otherLogin({ login }: Record<string, unknown>, { publicKey }: { publicKey: string }): Difference {
  const named = (login as Record<string, unknown> | undefined)?.publicKey;
  if (typeof named === "string" && named.toLowerCase() === publicKey.toLowerCase()) return undefined;
  return `must say ${JSON.stringify({ login: { publicKey } })}`;
}

/** Older clients call it `signup`. */
function otherSignup(
  { signup, signupV2 = signup }: Record<string, unknown>,
  asked: SignupUsage,
  shown: Contact,
): Difference {
  if (typeof signupV2 !== "object") return "must have the member `signupV2`, an object";
  const said = signupV2 as Record<string, unknown>;
  const wanted = withoutNulls(asked) as Record<string, unknown>;
  const differing =
    ["apiKeys", "authenticators", "oauthProviders"].find(
      (member) => !isDeepStrictEqual(said[member] ?? [], wanted[member]),
    ) ??
    (["email", "phoneNumber"] as const).find((member) => !isSameContact(member, said[member], wanted[member], shown));
  return differing && `has another \`${differing}\` than the user who shows the token`;
}

const contactTypes = { email: "EMAIL", phoneNumber: "PHONE_NUMBER" } as const;

/** A contact that the token proves may be omitted from the message. */
function isSameContact(member: keyof typeof contactTypes, said: unknown, wanted: unknown, shown: Contact): boolean {
  if (said !== undefined || typeof wanted !== "string") return said === wanted;
  return contactAt(contactOf(contactTypes[member], wanted)) === contactAt(shown);
}

function isSigned({ publicKey, message, signature }: ClientSignature): boolean {
  try {
    return verify("sha256", Buffer.from(message), p256VerificationKey(publicKey), Buffer.from(signature, "hex"));
  } catch {
    // Not a point of the curve.
    return false;
  }
}
