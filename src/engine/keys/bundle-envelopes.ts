import { type TString, Type } from "typebox";
import { encodeEcdsaDer } from "../../crypto/ecdsa-der.ts";
import { HPKE_TAG_BYTES, parseP256Point } from "../../crypto/hpke.ts";
import { parseJsonObject, stringField } from "../../crypto/json-object.ts";
import { bytesFromHex, toHex } from "../../kernel/bytes.ts";
import { WEEK_MS } from "../../kernel/durations.ts";
import { fail } from "../../kernel/errors.ts";
import type { HpkeMessage } from "../../signer/protocol.ts";
import { bundleText, type Statement } from "../../signer/statements.ts";
import type { Reader } from "../../storage/engine.ts";
import {
  currentServiceKey,
  publishedPoints,
  type ServiceKeyKind,
  type ServiceSigner,
  signStatements,
  uncompressedPoint,
} from "./service-keys.ts";

/**
 * The envelopes of encrypted bundles. An outgoing bundle has a signed envelope that clients verify; an incoming one is the JSON of a message
 * that a client encrypted. Only the signer sees the plaintext.
 */

const VERSION = "v1.0.0";

/** The key that envelopes are signed with. */
export const bundleKey: ServiceKeyKind = {
  purpose: "bundle",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: WEEK_MS,
  publish: bundleVerificationKeys,
};

type BundleStatement = Extract<Statement, { says: "export" | "target" }>;

/**
 * Signs an envelope for each of the data, in their order. The signature is ECDSA on P-256 over the SHA-256 of the data's bytes, in DER.
 * `enclaveQuorumPublic` is the key's uncompressed point, which clients compare with the one that they trust.
 */
export async function signEnvelopes(
  signer: ServiceSigner,
  statements: readonly BundleStatement[],
  kind: ServiceKeyKind = bundleKey,
): Promise<string[]> {
  const key = await currentServiceKey(signer.read, kind);
  const signatures = await signStatements(signer, key, statements);
  const enclaveQuorumPublic = uncompressedPoint(key.publicKey);
  return statements.map((statement, index) =>
    JSON.stringify({
      version: VERSION,
      data: toHex(Buffer.from(bundleText(statement))),
      dataSignature: toHex(encodeEcdsaDer(signatures[index] as Buffer)),
      enclaveQuorumPublic,
    }),
  );
}

/** Encrypted messages, each in its envelope. */
export const sealedEnvelopes = (
  signer: ServiceSigner,
  organizationId: string,
  messages: readonly HpkeMessage[],
): Promise<string[]> =>
  signEnvelopes(
    signer,
    messages.map((message) => ({ says: "export", ...message, organizationId })),
  );

/** The envelope of one message. */
export async function sealedEnvelope(
  signer: ServiceSigner,
  organizationId: string,
  message: HpkeMessage,
): Promise<string> {
  const [envelope] = await sealedEnvelopes(signer, organizationId, [message]);
  return envelope as string;
}

/** A key that verifies envelopes, in the two forms that clients expect. */
interface BundleVerificationKey {
  keyId: string;
  /** The uncompressed point, as `dangerouslyOverrideSignerPublicKey` takes it. */
  publicKey: string;
  /**
   * The concatenation of an encryption key and a verification key: 130 bytes, as `QuorumPublicKey` takes them. Clients only use the second.
   * Nothing is ever encrypted to a key of the whole installation, so the first is the same point.
   */
  quorumPublicKey: string;
}

/** The current key first. */
async function bundleVerificationKeys(read: Reader, now: number): Promise<BundleVerificationKey[]> {
  const keys = await publishedPoints(read, bundleKey, now);
  return keys.map((key) => ({ ...key, quorumPublicKey: key.publicKey + key.publicKey }));
}

/** Room for the ephemeral point, member names and white space. */
const AROUND_CIPHERTEXT = 512;
const ciphertextDigits = (maxBytes: number): number => 2 * (maxBytes + HPKE_TAG_BYTES);

/** A field with a client's encrypted message, of at most `maxBytes` bytes of plaintext. */
export const EncryptedBundle = (maxBytes: number): TString =>
  Type.String({ minLength: 1, maxLength: ciphertextDigits(maxBytes) + AROUND_CIPHERTEXT });

/** @throws KeysteadError FIELD_INVALID naming the field and the problem */
export function parseEncryptedBundle(text: string, field: string, maxBytes: number): HpkeMessage {
  const refuse = (reason: string): never =>
    fail("FIELD_INVALID", {
      field,
      reason: `must be the JSON of an encrypted bundle, {"encappedPublic": hex, "ciphertext": hex}: ${reason}`,
    });
  const bundle = parseJsonObject(Buffer.from(text), refuse);
  const encapped = parseP256Point(stringField(bundle, "encappedPublic", refuse));
  const ciphertext = bytesFromHex(stringField(bundle, "ciphertext", refuse));
  if (Object.keys(bundle).length > 2) refuse("it has other members besides these two");
  if (!encapped) return refuse("`encappedPublic` must be a point of P-256 in hex");
  if (!ciphertext) return refuse("`ciphertext` must be an even number of hex digits");
  const length = ciphertext.length - HPKE_TAG_BYTES;
  if (length < 0) refuse(`\`ciphertext\` is shorter than the ${HPKE_TAG_BYTES} bytes of its tag`);
  if (length > maxBytes)
    refuse(`\`ciphertext\` holds ${length} bytes of plaintext, but at most ${maxBytes} are accepted`);
  return { encappedPublic: toHex(encapped), ciphertext: toHex(ciphertext) };
}

/** The key to which an export is encrypted, or an import was encrypted. */
export const TargetPublicKey = Type.String({
  pattern: "^(04[0-9a-fA-F]{128}|0[23][0-9a-fA-F]{64})$",
  description: "a P-256 public key in hex: 65 bytes uncompressed, or 33 bytes compressed",
});

/**
 * The uncompressed point in lowercase hex.
 *
 * @throws KeysteadError FIELD_INVALID if it is not a point of the curve
 */
export function parseTargetPublicKey(hex: string, field: string): string {
  const point = parseP256Point(hex);
  return point ? toHex(point) : fail("FIELD_INVALID", { field, reason: "must be a point of the curve P-256" });
}

/** The parsed `targetPublicKey` of an intent. */
export const targetOf = ({ targetPublicKey }: { targetPublicKey: string }): string =>
  parseTargetPublicKey(targetPublicKey, "parameters.targetPublicKey");
