import { type Static, Type } from "typebox";
import { hashAuthorization, parseAuthorization } from "../../chains/evm/authorization.ts";
import { hashTypedData, parseTypedData } from "../../chains/evm/typed-data.ts";
import type { Curve } from "../../crypto/curves.ts";
import { OneOf } from "../../engine/fields.ts";
import { bytesFromHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_PAYLOAD_LENGTH, MAX_TYPED_DATA_LENGTH } from "../../kernel/limits.ts";
import type { SignerHash } from "../../signer/protocol.ts";

/** Decodes the payload of a request into the bytes to sign. */

export const PayloadEncoding = OneOf([
  "PAYLOAD_ENCODING_HEXADECIMAL",
  "PAYLOAD_ENCODING_TEXT_UTF8",
  "PAYLOAD_ENCODING_EIP712",
  "PAYLOAD_ENCODING_EIP7702_AUTHORIZATION",
]);
export const HashFunction = OneOf([
  "HASH_FUNCTION_NO_OP",
  "HASH_FUNCTION_SHA256",
  "HASH_FUNCTION_KECCAK256",
  "HASH_FUNCTION_NOT_APPLICABLE",
]);
export const Payload = Type.String({ maxLength: MAX_PAYLOAD_LENGTH });
export const SignWith = Type.String({ minLength: 1, maxLength: 1024 });

type Encoding = Static<typeof PayloadEncoding>;
type Hash = Static<typeof HashFunction>;

const DIGEST_BYTES = 32;
const signerHashes: Record<Hash, SignerHash> = {
  HASH_FUNCTION_NO_OP: "none",
  HASH_FUNCTION_SHA256: "sha256",
  HASH_FUNCTION_KECCAK256: "keccak256",
  HASH_FUNCTION_NOT_APPLICABLE: "none",
};

/**
 * The bytes of a payload before the hash function is applied: the decoded hex or text, or the 32-byte digest of the Ethereum
 * encodings, which allow no hash function besides their own.
 *
 * @param spend called before typed data is hashed, with the number of Keccak-256 blocks to come; it may throw
 * @throws KeysteadError FIELD_INVALID naming `field` or `parameters.hashFunction`
 */
export function decodePayload(
  encoding: Encoding,
  hashFunction: Hash,
  payload: string,
  field: string,
  spend: (blocks: number, field: string) => void,
): Uint8Array {
  switch (encoding) {
    case "PAYLOAD_ENCODING_TEXT_UTF8":
      return Buffer.from(payload);
    case "PAYLOAD_ENCODING_HEXADECIMAL":
      return (
        bytesFromHex(payload.replace(/^0x/i, "")) ??
        fail("FIELD_INVALID", { field, reason: "must be an even number of hex digits, with or without 0x" })
      );
    case "PAYLOAD_ENCODING_EIP712": {
      requireNoHash(encoding, hashFunction);
      if (payload.length > MAX_TYPED_DATA_LENGTH) {
        fail("FIELD_INVALID", { field, reason: `is longer than ${MAX_TYPED_DATA_LENGTH} characters` });
      }
      return hashTypedData(parseTypedData(payload, field), (blocks) => spend(blocks, field));
    }
    case "PAYLOAD_ENCODING_EIP7702_AUTHORIZATION":
      requireNoHash(encoding, hashFunction);
      return hashAuthorization(parseAuthorization(payload, field));
  }
}

function requireNoHash(encoding: Encoding, hashFunction: Hash): void {
  if (hashFunction === "HASH_FUNCTION_NO_OP") return;
  fail("FIELD_INVALID", {
    field: "parameters.hashFunction",
    reason: `must be HASH_FUNCTION_NO_OP for ${encoding}, which has its own hash`,
  });
}

/**
 * The hash that the signer applies for a key of this curve.
 *
 * @throws KeysteadError FIELD_INVALID
 */
export function hashFor(
  curve: Curve,
  hashFunction: Hash,
  payloads: readonly Uint8Array[],
  fieldOf: (index: number) => string,
): SignerHash {
  const forMessages = hashFunction === "HASH_FUNCTION_NOT_APPLICABLE";
  if ((curve === "CURVE_ED25519") !== forMessages) {
    const reason = forMessages
      ? `must not be HASH_FUNCTION_NOT_APPLICABLE for a key on ${curve}`
      : `must be HASH_FUNCTION_NOT_APPLICABLE for a key on ${curve}, which signs the message itself`;
    fail("FIELD_INVALID", { field: "parameters.hashFunction", reason });
  }
  if (hashFunction === "HASH_FUNCTION_NO_OP") {
    const index = payloads.findIndex(({ length }) => length !== DIGEST_BYTES);
    if (index >= 0) {
      const reason = `must be a digest of ${DIGEST_BYTES} bytes for HASH_FUNCTION_NO_OP, not ${payloads[index]?.length}`;
      fail("FIELD_INVALID", { field: fieldOf(index), reason });
    }
  }
  return signerHashes[hashFunction];
}
