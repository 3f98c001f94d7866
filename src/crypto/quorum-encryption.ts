import { createCipheriv, createDecipheriv, createECDH, createHmac, type ECDH, randomBytes } from "node:crypto";
import { wipe } from "../kernel/bytes.ts";
import { receiverPublicKey } from "./hpke.ts";

/**
 * The encryption scheme of QuorumOS: ECDH, HMAC-SHA-512 and AES-256-GCM in a Borsh envelope. It is not HPKE. Clients use it to encrypt
 * OAuth 2.0 client secrets and pull secrets to a P-256 key of the service, and shares of quorum keys are encrypted with it.
 */

const NONCE_BYTES = 12;
const POINT_BYTES = 65;
const LENGTH_BYTES = 4;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const KEY_MESSAGE = Buffer.from("qos_encryption_hmac_message");
const POINT_LENGTH = Uint8Array.of(POINT_BYTES);

/** The size of an envelope for a plaintext of this many bytes. */
export const quorumEnvelopeBytes = (plaintextBytes: number): number =>
  NONCE_BYTES + POINT_BYTES + LENGTH_BYTES + plaintextBytes + TAG_BYTES;

/** Encrypts to the 65 bytes of `receiver`, a point of P-256. */
export function sealQuorumEnvelope(receiver: Uint8Array, plaintext: Uint8Array): Buffer {
  const pair = createECDH("prime256v1");
  const sender = pair.generateKeys();
  const key = messageKey(pair, { sender, receiver, other: receiver });
  if (!key) throw new Error("the key to encrypt to is not a point of P-256");
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  wipe(key);
  cipher.setAAD(associatedData(sender, receiver));
  const message = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(message.length);
  return Buffer.concat([nonce, sender, length, message]);
}

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
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(receiverSecret);
  const key = messageKey(pair, { sender, receiver, other: sender });
  if (!key) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  wipe(key);
  decipher.setAAD(associatedData(sender, receiver));
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

const associatedData = (sender: Uint8Array, receiver: Uint8Array): Buffer =>
  Buffer.concat([sender, POINT_LENGTH, receiver, POINT_LENGTH]);

/** The key that each of the two parties derives with the point of the `other`. */
function messageKey(
  own: ECDH,
  { sender, receiver, other }: { sender: Uint8Array; receiver: Uint8Array; other: Uint8Array },
): Buffer | undefined {
  let shared: Buffer;
  try {
    shared = own.computeSecret(other);
  } catch {
    // Not a point of the curve.
    return undefined;
  }
  const secret = Buffer.concat([sender, receiver, shared]);
  const key = createHmac("sha512", secret).update(KEY_MESSAGE).digest();
  wipe(shared, secret, key.subarray(KEY_BYTES));
  return key.subarray(0, KEY_BYTES);
}
