import { createHash } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { openBundle, sealBundle } from "../../src/crypto/bundles.ts";
import { generateReceiver } from "../../src/crypto/hpke.ts";
import type { HpkeMessage } from "../../src/signer/protocol.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** A key pair that a client makes for one export. */
export interface ExportTarget {
  targetPublicKey: string;
  privateKey: string;
  open(message: HpkeMessage): Buffer;
}

export function exportTarget(): ExportTarget {
  const { secret, publicKey } = generateReceiver();
  return {
    targetPublicKey: hex(publicKey),
    privateKey: hex(secret),
    open({ encappedPublic, ciphertext }) {
      const message = { encapped: Buffer.from(encappedPublic, "hex"), ciphertext: Buffer.from(ciphertext, "hex") };
      const plaintext = openBundle(secret, message);
      if (!plaintext) throw new Error("the export was not made for this target");
      return plaintext;
    },
  };
}

export function importBundleTo(targetPublicKey: string, plaintext: Uint8Array | string): HpkeMessage {
  const { encapped, ciphertext } = sealBundle(Buffer.from(targetPublicKey, "hex"), Buffer.from(plaintext));
  return { encappedPublic: hex(encapped), ciphertext: hex(ciphertext) };
}

/** What an envelope says; its signature is not looked at. */
export function envelopeData(
  envelope: string,
): { targetPublic: string; organizationId: string; userId: string } & HpkeMessage {
  const { data } = JSON.parse(envelope) as { data: string };
  return JSON.parse(Buffer.from(data, "hex").toString());
}

/** The message of a client that was offered an import key, as JSON. */
export const clientBundle = (envelope: string, plaintext: Uint8Array | string): string =>
  JSON.stringify(importBundleTo(envelopeData(envelope).targetPublic, plaintext));

/** Signs what clients check before they believe a bundle: an envelope with the data in hex, as the contract has it. */
export function envelopes(): { publicKey: string; sign(data: object): string } {
  const secret = p256.utils.randomSecretKey();
  const publicKey = hex(p256.getPublicKey(secret, false));
  return {
    publicKey,
    sign(data) {
      const bytes = Buffer.from(JSON.stringify(data));
      const digest = createHash("sha256").update(bytes).digest();
      const dataSignature = hex(p256.sign(digest, secret, { prehash: false, format: "der" }));
      return JSON.stringify({ version: "v1.0.0", data: hex(bytes), dataSignature, enclaveQuorumPublic: publicKey });
    },
  };
}
