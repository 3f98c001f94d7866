import { openBundle, sealBundle } from "../../crypto/bundles.ts";
import { HPKE_TAG_BYTES, parseP256Point } from "../../crypto/hpke.ts";
import { bytesFromHex, toHex } from "../../kernel/bytes.ts";
import type { HpkeMessage, ImportProblem } from "../protocol.ts";
import { withSecret } from "./organization.ts";
import { SigningRefused } from "./refused.ts";

/** Encrypts an export to the requester's P-256 key. */
export function sealExport(targetPublicKey: string, plaintext: Uint8Array): HpkeMessage {
  const target = parseP256Point(targetPublicKey);
  if (!target) throw new SigningRefused("the target public key is not a point of P-256");
  const { encapped, ciphertext } = sealBundle(target, plaintext);
  return { encappedPublic: toHex(encapped), ciphertext: toHex(ciphertext) };
}

/** A key that a bundle may be encrypted to. `open` returns its secret, which is wiped here. */
export interface ImportKey {
  importId: string;
  open(): Uint8Array;
}

/**
 * Opens a bundle with the first matching key and passes the plaintext to `take`, which returns the problem with it or the result. The
 * plaintext is always wiped.
 *
 * @param maxBytes the maximum length of the plaintext; a longer one is not decrypted
 */
export function openImport<Taken extends object>(
  keys: readonly ImportKey[],
  bundle: HpkeMessage,
  maxBytes: number,
  take: (plaintext: Uint8Array) => Taken | ImportProblem,
): ({ importId: string } & Taken) | { problem: ImportProblem } {
  if (bundle.ciphertext.length > 2 * (maxBytes + HPKE_TAG_BYTES)) return { problem: "tooLarge" };
  const encapped = parseP256Point(bundle.encappedPublic);
  const ciphertext = bytesFromHex(bundle.ciphertext);
  if (!encapped || !ciphertext) return { problem: "undecryptable" };
  for (const { importId, open } of keys) {
    const plaintext = withSecret(open(), (secret) => openBundle(secret, { encapped, ciphertext }));
    if (!plaintext) continue;
    const taken = withSecret(plaintext, take);
    return typeof taken === "string" ? { problem: taken } : { importId, ...taken };
  }
  return { problem: "undecryptable" };
}
