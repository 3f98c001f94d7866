import { verify } from "node:crypto";
import { parseJsonObject } from "../../crypto/json-object.ts";
import { p256VerificationKey } from "../../crypto/verify-signature.ts";
import type { VerificationClaims } from "../../engine/keys/verification-tokens.ts";
import { fail } from "../../kernel/errors.ts";

/** What a client signs with the key in its verification token, to show that the token is its own. */
export interface ClientSignature {
  publicKey: string;
  message: string;
  /** r and s in hex. */
  signature: string;
}

/**
 * Holds a client's signature against its token and what it asks for. The message is compared by what it says, not by its bytes.
 *
 * @throws KeysteadError FIELD_MISSING or FIELD_INVALID naming the member
 */
export function checkClientSignature(
  signature: ClientSignature | undefined,
  token: VerificationClaims,
  login: { publicKey: string },
): void {
  const at = "parameters.clientSignature";
  const { message, publicKey: key, ...given } = signature ?? fail("FIELD_MISSING", { field: at });
  const refuse = (member: string, reason: string): never => fail("FIELD_INVALID", { field: `${at}.${member}`, reason });
  const publicKey = key.toLowerCase();
  if (publicKey !== token.public_key) refuse("publicKey", "is not the key in the verification token");
  if (!isSigned({ ...given, publicKey, message })) refuse("signature", "does not match the message");
  const said = parseJsonObject(Buffer.from(message), (reason) => refuse("message", reason));
  const expected = { login, tokenId: token.id, type: "USAGE_TYPE_LOGIN" };
  const named = (said.login as Record<string, unknown> | undefined)?.publicKey;
  const isThis =
    said.tokenId === expected.tokenId &&
    said.type === expected.type &&
    typeof named === "string" &&
    named.toLowerCase() === login.publicKey.toLowerCase();
  if (!isThis) refuse("message", `must say ${JSON.stringify(expected)}`);
}

function isSigned({ publicKey, message, signature }: ClientSignature): boolean {
  try {
    return verify("sha256", Buffer.from(message), p256VerificationKey(publicKey), Buffer.from(signature, "hex"));
  } catch {
    // No point of the curve.
    return false;
  }
}
