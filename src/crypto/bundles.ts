import { openMessage, receiverPublicKey, type SealedMessage, sealMessage } from "./hpke.ts";

/**
 * The plaintext of imports and exports, encrypted as the clients do: HPKE with the words of the wire as `info`, and both
 * public keys, uncompressed, as associated data.
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
