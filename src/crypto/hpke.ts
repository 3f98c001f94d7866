import { createCipheriv, createDecipheriv, createECDH, createHmac, ECDH } from "node:crypto";
import { wipe } from "../kernel/bytes.ts";

/**
 * HPKE (RFC 9180) in base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM, for one message per key. Points are
 * uncompressed, 65 bytes.
 */

const VERSION = Buffer.from("HPKE-v1");
const KEM_SUITE = Buffer.from("KEM\x00\x10", "latin1");
const SUITE = Buffer.from("HPKE\x00\x10\x00\x01\x00\x02", "latin1");
const BASE_MODE = Uint8Array.of(0);
const EMPTY = new Uint8Array();
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const SHARED_SECRET_BYTES = 32;
export const HPKE_TAG_BYTES = 16;

/** One message: the sender's point, and the ciphertext with its tag at the end. */
export interface SealedMessage {
  encapped: Uint8Array;
  ciphertext: Uint8Array;
}

/** A fresh P-256 key pair to receive messages with. The caller wipes the secret. */
export function generateReceiver(): { secret: Buffer; publicKey: Buffer } {
  const pair = createECDH("prime256v1");
  const publicKey = pair.generateKeys();
  return { secret: fixedLength(pair.getPrivateKey()), publicKey };
}

const POINT = /^(?:04[0-9a-f]{128}|0[23][0-9a-f]{64})$/i;

/** The 65 bytes of a P-256 point in hex, compressed or not; undefined for anything else, and for points off the curve. */
export function parseP256Point(hex: string): Buffer | undefined {
  if (!POINT.test(hex)) return undefined;
  try {
    return ECDH.convertKey(hex, "prime256v1", "hex", undefined, "uncompressed") as Buffer;
  } catch {
    return undefined;
  }
}

/** Encrypts to the 65 bytes of `receiver`; `aadOf` derives the associated data from the sender's point. */
export function sealMessage(
  receiver: Uint8Array,
  plaintext: Uint8Array,
  info: Uint8Array,
  aadOf: (encapped: Uint8Array) => Uint8Array,
  ephemeralSecret?: Uint8Array,
): SealedMessage {
  const sender = createECDH("prime256v1");
  if (ephemeralSecret) sender.setPrivateKey(ephemeralSecret);
  else sender.generateKeys();
  const encapped = sender.getPublicKey();
  const keys = scheduleKeys(sender.computeSecret(receiver), encapped, receiver, info);
  try {
    const cipher = createCipheriv("aes-256-gcm", keys.key, keys.nonce);
    cipher.setAAD(aadOf(encapped));
    return { encapped, ciphertext: Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]) };
  } finally {
    wipe(keys.key, keys.nonce);
  }
}

/** The plaintext, or undefined if the message was not made for this key, this `info` and this `aad`. The caller wipes it. */
export function openMessage(
  receiverSecret: Uint8Array,
  { encapped, ciphertext }: SealedMessage,
  info: Uint8Array,
  aad: Uint8Array,
): Buffer | undefined {
  const length = ciphertext.length - HPKE_TAG_BYTES;
  if (length < 0) return undefined;
  const keys = receiverKeys(receiverSecret, encapped, info);
  if (!keys) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", keys.key, keys.nonce, { authTagLength: HPKE_TAG_BYTES });
  wipe(keys.key, keys.nonce);
  decipher.setAAD(aad);
  decipher.setAuthTag(ciphertext.subarray(length));
  const plaintext = decipher.update(ciphertext.subarray(0, length));
  try {
    decipher.final();
    return plaintext;
  } catch {
    wipe(plaintext);
    return undefined;
  }
}

/** The 65 bytes of the public key of a receiver's secret. */
export function receiverPublicKey(secret: Uint8Array): Buffer {
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(secret);
  return pair.getPublicKey();
}

interface MessageKeys {
  key: Buffer;
  nonce: Buffer;
}

function receiverKeys(secret: Uint8Array, encapped: Uint8Array, info: Uint8Array): MessageKeys | undefined {
  const receiver = createECDH("prime256v1");
  receiver.setPrivateKey(secret);
  let shared: Buffer;
  try {
    shared = receiver.computeSecret(encapped);
  } catch {
    // Not a point of the curve.
    return undefined;
  }
  return scheduleKeys(shared, encapped, receiver.getPublicKey(), info);
}

/** RFC 9180, sections 4.1 (ExtractAndExpand) and 5.1 (KeySchedule, without a pre-shared key); wipes `dh`. */
function scheduleKeys(dh: Buffer, encapped: Uint8Array, receiver: Uint8Array, info: Uint8Array): MessageKeys {
  const extracted = extract(KEM_SUITE, EMPTY, "eae_prk", dh);
  const shared = expand(
    KEM_SUITE,
    extracted,
    "shared_secret",
    Buffer.concat([encapped, receiver]),
    SHARED_SECRET_BYTES,
  );
  const context = Buffer.concat([
    BASE_MODE,
    extract(SUITE, EMPTY, "psk_id_hash", EMPTY),
    extract(SUITE, EMPTY, "info_hash", info),
  ]);
  const secret = extract(SUITE, shared, "secret", EMPTY);
  const key = expand(SUITE, secret, "key", context, KEY_BYTES);
  const nonce = expand(SUITE, secret, "base_nonce", context, NONCE_BYTES);
  wipe(dh, extracted, shared, secret);
  return { key, nonce };
}

/** LabeledExtract of RFC 9180, section 4. */
function extract(suite: Uint8Array, salt: Uint8Array, label: string, input: Uint8Array): Buffer {
  return createHmac("sha256", salt).update(VERSION).update(suite).update(label).update(input).digest();
}

/** LabeledExpand of RFC 9180, section 4, for one block of HKDF: at most 32 bytes. */
function expand(suite: Uint8Array, secret: Uint8Array, label: string, info: Uint8Array, length: number): Buffer {
  const block = createHmac("sha256", secret)
    .update(Uint8Array.of(0, length))
    .update(VERSION)
    .update(suite)
    .update(label)
    .update(info)
    .update(Uint8Array.of(1))
    .digest();
  return block.subarray(0, length);
}

/** OpenSSL omits leading zeros of a secret. */
function fixedLength(secret: Buffer): Buffer {
  if (secret.length === KEY_BYTES) return secret;
  const whole = Buffer.alloc(KEY_BYTES);
  secret.copy(whole, KEY_BYTES - secret.length);
  wipe(secret);
  return whole;
}
