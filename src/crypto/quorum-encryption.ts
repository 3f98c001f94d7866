import { createDecipheriv, createECDH, createHmac } from "node:crypto";
import { wipe } from "../kernel/bytes.ts";
import { receiverPublicKey } from "./hpke.ts";

/**
 * The scheme in which clients encrypt OAuth 2.0 client secrets to a P-256 key of the service: ECDH, HMAC-SHA-512 and
 * AES-256-GCM in an envelope of Borsh. It is not HPKE, and nothing new uses it.
 */

const NONCE_BYTES = 12;
const POINT_BYTES = 65;
const LENGTH_BYTES = 4;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const KEY_MESSAGE = Buffer.from("qos_encryption_hmac_message");
const POINT_LENGTH = Uint8Array.of(POINT_BYTES);

/** Bytes of an envelope around so many bytes of plaintext. */
export const quorumEnvelopeBytes = (plaintextBytes: number): number =>
  NONCE_BYTES + POINT_BYTES + LENGTH_BYTES + plaintextBytes + TAG_BYTES;

/** The plaintext, or undefined if the envelope was not made for this key. The caller wipes it. */
export function openQuorumEnvelope(receiverSecret: Uint8Array, envelope: Uint8Array): Buffer | undefined {
  const bytes = Buffer.from(envelope);
  if (bytes.length < quorumEnvelopeBytes(0)) return undefined;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const sender = bytes.subarray(NONCE_BYTES, NONCE_BYTES + POINT_BYTES);
  const length = bytes.readUInt32LE(NONCE_BYTES + POINT_BYTES);
  const message = bytes.subarray(NONCE_BYTES + POINT_BYTES + LENGTH_BYTES);
  if (message.length !== length) return undefined;
  const receiver = receiverPublicKey(receiverSecret);
  const key = messageKey(receiverSecret, sender, receiver);
  if (!key) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  wipe(key);
  decipher.setAAD(Buffer.concat([sender, POINT_LENGTH, receiver, POINT_LENGTH]));
  decipher.setAuthTag(message.subarray(-TAG_BYTES));
  const plaintext = decipher.update(message.subarray(0, -TAG_BYTES));
  try {
    decipher.final();
    return plaintext;
  } catch {
    wipe(plaintext);
    return undefined;
  }
}

function messageKey(receiverSecret: Uint8Array, sender: Uint8Array, receiver: Uint8Array): Buffer | undefined {
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(receiverSecret);
  let shared: Buffer;
  try {
    shared = pair.computeSecret(sender);
  } catch {
    // Not a point of the curve.
    return undefined;
  }
  const secret = Buffer.concat([sender, receiver, shared]);
  const key = createHmac("sha512", secret).update(KEY_MESSAGE).digest();
  wipe(shared, secret, key.subarray(KEY_BYTES));
  return key.subarray(0, KEY_BYTES);
}
