import { bytesFromAnyBase64, bytesFromHex } from "../kernel/bytes.ts";
import { fail } from "../kernel/errors.ts";
import { MAX_STAMP_BYTES } from "../kernel/limits.ts";
import { P256_ORDER, parseEcdsaDer } from "./ecdsa-der.ts";
import { parseJsonObject, stringField } from "./json-object.ts";
import { parsePublicKey } from "./public-keys.ts";
import { verifySignature } from "./verify-signature.ts";

/** Stamps by a key that is not registered: a token next to the signature says whose key it is. */

/** The kinds of token, as named in the header. */
export const attestedSchemes = [
  "STAMP_ATTESTED_SCHEME_P256_VERIFICATION_TOKEN",
  "STAMP_ATTESTED_SCHEME_P256_OIDC",
] as const;
export type AttestedScheme = (typeof attestedSchemes)[number];

/** A well-formed stamp; neither its signature nor its token has been verified yet. */
export interface AttestedStamp {
  scheme: AttestedScheme;
  /** The token, as it was sent. */
  attestation: string;
  /** P-256, compressed, in lowercase hex. */
  publicKey: string;
  /** The same, exactly as it was sent, because tokens of OIDC issuers are bound to that spelling. */
  publicKeyAsSent: string;
  /** Strict DER. */
  signature: Buffer;
}

/**
 * Reads an `X-Stamp-Attested` header: the JSON object {publicKeyAttestation, scheme, publicKey, signature}, sent unencoded or in base64 or
 * base64url. Other fields are ignored.
 *
 * @throws KeysteadError ATTESTED_STAMP_MALFORMED
 */
export function decodeAttestedStamp(header: string): AttestedStamp {
  if (header.length > MAX_STAMP_BYTES) return refuse(`it is larger than ${MAX_STAMP_BYTES} bytes`);
  const isPlain = header.trimStart().startsWith("{");
  const json = isPlain ? Buffer.from(header) : bytesFromAnyBase64(header);
  if (!json) return refuse("it is neither a JSON object nor base64 of one");
  const fields = parseJsonObject(json, refuse);
  const attestation = stringField(fields, "publicKeyAttestation", refuse);
  const sent = stringField(fields, "scheme", refuse);
  const scheme = attestedSchemes.find((known) => known === sent);
  if (!scheme) return refuse(`\`scheme\` must be one of ${attestedSchemes.join(", ")}`);
  const publicKeyAsSent = stringField(fields, "publicKey", refuse);
  if (!parsePublicKey("API_KEY_CURVE_P256", publicKeyAsSent)) {
    return refuse("`publicKey` must be the hex of a compressed P-256 point (33 bytes)");
  }
  const signature = bytesFromHex(stringField(fields, "signature", refuse));
  if (!signature || !parseEcdsaDer(signature, P256_ORDER)) {
    return refuse("`signature` must be the hex of an ECDSA signature in strict DER");
  }
  return { scheme, attestation, publicKey: publicKeyAsSent.toLowerCase(), publicKeyAsSent, signature };
}

function refuse(reason: string): never {
  fail("ATTESTED_STAMP_MALFORMED", { reason });
}

/** Whether the stamp's key signed exactly these bytes. Says nothing about whose key it is. */
export async function verifyAttestedStamp(
  { publicKey, signature }: Pick<AttestedStamp, "publicKey" | "signature">,
  body: Uint8Array,
): Promise<boolean> {
  const key = parsePublicKey("API_KEY_CURVE_P256", publicKey);
  return key !== undefined && verifySignature("sha256", body, key, signature);
}
