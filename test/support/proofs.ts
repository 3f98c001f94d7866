import assert from "node:assert/strict";
import { createHash, createPublicKey, verify } from "node:crypto";
import type { Json } from "./client.ts";

/** A P-256 key from the hex of its uncompressed point. */
function publicKeyOf(point: string): ReturnType<typeof createPublicKey> {
  const bytes = Buffer.from(point, "hex");
  assert.equal(bytes.length, 65);
  const [x, y] = [bytes.subarray(1, 33), bytes.subarray(33)].map((part) => part.toString("base64url")) as [
    string,
    string,
  ];
  return createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
}

/** Whether r and s in hex are a signature over the SHA-256 of the text by the key of this uncompressed point. */
export const isSignedBy = (point: string, text: string, signature: string): boolean =>
  verify(
    "sha256",
    Buffer.from(text),
    { key: publicKeyOf(point), dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "hex"),
  );

/** The last 65 of the 130 bytes are the signing key. */
export const signingKeyOf = ({ publicKey }: Json): string => publicKey.slice(130);

/** Checks an app proof by hand; resolves to its payload. */
export function openProof(proof: Json): Json {
  assert.equal(proof.scheme, "SIGNATURE_SCHEME_EPHEMERAL_KEY_P256");
  assert.match(proof.publicKey, /^(04[0-9a-f]{128}){2}$/);
  assert.match(proof.signature, /^[0-9a-f]{128}$/);
  assert.ok(isSignedBy(signingKeyOf(proof), proof.proofPayload, proof.signature));
  return JSON.parse(proof.proofPayload);
}

export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex");

export const fromBase64 = (text: string): string => Buffer.from(text, "base64").toString();
