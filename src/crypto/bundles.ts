import { ECDH } from "node:crypto";
import { base58check, openBase58check } from "./addresses/base58check.ts";
import {
  HPKE_TAG_BYTES,
  openMessage,
  parseP256Point,
  receiverPublicKey,
  type SealedMessage,
  sealMessage,
} from "./hpke.ts";

/**
 * The plaintext of imports and exports, encrypted as clients do it: HPKE with this fixed `info`, and both public keys, uncompressed, as
 * associated data.
 */
const INFO = Buffer.from("turnkey_hpke");

/** Encrypts to the 65 bytes of a target key. */
export function sealBundle(target: Uint8Array, plaintext: Uint8Array): SealedMessage {
  return sealMessage(target, plaintext, INFO, (encapped) => Buffer.concat([encapped, target]));
}

/** The plaintext of a bundle, or undefined if it was not made for this key. The caller wipes it. */
export function openBundle(targetSecret: Uint8Array, message: SealedMessage): Buffer | undefined {
  const aad = Buffer.concat([message.encapped, receiverPublicKey(targetSecret)]);
  return openMessage(targetSecret, message, INFO, aad);
}

/**
 * A message in the form that the published `decryptCredentialBundle` opens: base58check of the sender's compressed point and the
 * ciphertext.
 */
export function credentialBundle({ encapped, ciphertext }: SealedMessage): string {
  const point = ECDH.convertKey(encapped, "prime256v1", undefined, undefined, "compressed") as Buffer;
  return base58check(point[0] as number, Buffer.concat([point.subarray(1), ciphertext]));
}

const POINT_BYTES = 33;
const CHECKSUM_BYTES = 4;
/** Base58 characters per byte, rounded up. */
const BASE58_EXPANSION = 1.37;

/** The maximum length of such a text for a plaintext of this many bytes. */
export const credentialBundleLength = (plaintextBytes: number): number =>
  Math.ceil((POINT_BYTES + plaintextBytes + HPKE_TAG_BYTES + CHECKSUM_BYTES) * BASE58_EXPANSION);

/** The message in a text of that form; undefined for any other text. */
export function parseCredentialBundle(text: string): SealedMessage | undefined {
  const bytes = openBase58check(text);
  if (bytes === undefined || bytes.length < POINT_BYTES + HPKE_TAG_BYTES) return undefined;
  const encapped = parseP256Point(Buffer.from(bytes.subarray(0, POINT_BYTES)).toString("hex"));
  return encapped && { encapped, ciphertext: bytes.subarray(POINT_BYTES) };
}
